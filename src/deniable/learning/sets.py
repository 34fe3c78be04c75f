"""Feasible sets of parameters: balls, boxes and the simplex, with exact Euclidean projections.

All of them are convex, closed, bounded and public. Projections are deterministic functions of released parameters.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.vectors.clipped_sum import public_vector
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import positive_integer, positive_rational

__all__ = ["Box", "FeasibleSet", "L1Ball", "L2Ball", "Simplex"]


@dataclass(frozen=True, kw_only=True)
class FeasibleSet(metaclass=InWords):
    """A convex set in which parameters must lie."""

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    @abstractmethod
    def middle(self) -> Floats:
        """A point of the set at which descents start, shape (columns,)."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two points of the set."""

    @abstractmethod
    def farthest(self, point: ArrayLike) -> float:
        """The largest distance from a point, inside or outside, to a point of the set."""

    @abstractmethod
    def _project(self, point: Floats) -> Floats:
        """The nearest point of the set."""

    def project(self, point: ArrayLike) -> Floats:
        """The nearest point of the set in Euclidean distance, shape (columns,), to one of that shape, and finite."""
        return self._project(self._read(point))

    def contains(self, point: ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Whether a point, of shape (columns,) and finite, lies within `tolerance` of the set."""
        found = self._read(point)
        return bool(np.linalg.norm(found - self._project(found)) <= tolerance)

    def _read(self, point: ArrayLike) -> Floats:
        found = np.array(point, dtype=np.float64)
        if found.shape != self.middle.shape or not np.isfinite(found).all():
            raise InvalidParameterError(f"parameters must be {self.middle.size} finite numbers")
        return found


@dataclass(frozen=True, kw_only=True)
class _Ball(FeasibleSet):
    """Everything within `radius` of a centre, in some norm."""

    radius: Annotated[Fraction, positive_rational]
    columns: Annotated[int, positive_integer]
    centre: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "centre", public_vector("centre", self.centre, self.columns))

    @property
    def middle(self) -> Floats:
        return np.array(self.centre, dtype=np.float64)

    @property
    def diameter(self) -> float:
        return 2 * float(self.radius)


@dataclass(frozen=True, kw_only=True)
class L2Ball(_Ball):
    """Everything within a Euclidean distance of a centre.

    Args:
        radius, columns: greater than 0; the number of parameters.
        centre: a tuple of numbers; the origin if it is left out.

    >>> L2Ball(radius=1, columns=2).project([0, 4]).tolist()
    [0.0, 1.0]
    """

    def farthest(self, point: ArrayLike) -> float:
        return float(np.linalg.norm(self._read(point) - self.middle)) + float(self.radius)

    def _project(self, point: Floats) -> Floats:
        away = point - self.middle
        return self.middle + away * (float(self.radius) / max(float(np.linalg.norm(away)), float(self.radius)))


@dataclass(frozen=True, kw_only=True)
class L1Ball(_Ball):
    """Everything within a Manhattan distance of a centre; parameters as of `L2Ball`.

    Source: Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball", for the projection.

    >>> L1Ball(radius=1, columns=2).project([3, -1]).tolist()
    [1.0, 0.0]
    """

    def farthest(self, point: ArrayLike) -> float:
        """The distance is convex, so a vertex attains it: centre +- radius e_i, away from the point."""
        return _to_vertex(np.abs(self._read(point) - self.middle), -float(self.radius))

    def _project(self, point: Floats) -> Floats:
        away, radius = point - self.middle, float(self.radius)
        if np.abs(away).sum() <= radius:
            return point
        return np.asarray(self.middle + np.sign(away) * _on_simplex(np.abs(away), radius))


@dataclass(frozen=True, kw_only=True)
class Simplex(FeasibleSet):
    """Numbers of at least 0, as many as `columns`, that add up to `total`.

    Source: Held, Wolfe, Crowder (1974), "Validation of subgradient optimization", for the projection.

    >>> Simplex(columns=3).project([1.0, 0.5, -2.0]).tolist()
    [0.75, 0.25, 0.0]
    """

    columns: Annotated[int, positive_integer]
    total: Annotated[Fraction, positive_rational] = Fraction(1)

    @property
    def middle(self) -> Floats:
        return np.full(self.columns, float(self.total) / self.columns)

    @property
    def diameter(self) -> float:
        return math.sqrt(2) * float(self.total) if self.columns > 1 else 0.0

    def farthest(self, point: ArrayLike) -> float:
        """The distance is convex, so a vertex attains it."""
        return _to_vertex(self._read(point), float(self.total))

    def _project(self, point: Floats) -> Floats:
        return _on_simplex(point, float(self.total))


@dataclass(frozen=True, kw_only=True)
class Box(FeasibleSet):
    """Everything between two corners.

    Args:
        lower, upper: tuples of numbers, one for each parameter; upper is nowhere below.

    >>> Box.ball(radius=1, columns=2).project([3, 0.5]).tolist()
    [1.0, 0.5]
    """

    lower: tuple[Fraction, ...]
    upper: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not (isinstance(self.lower, tuple | list) and self.lower and self.upper):
            raise InvalidParameterError("lower and upper must be lists of one number for each parameter")
        for name in ("lower", "upper"):
            object.__setattr__(self, name, public_vector(name, getattr(self, name), len(self.lower)))
        if any(low > high for low, high in zip(self.lower, self.upper, strict=True)):
            raise InvalidParameterError("lower must be nowhere above upper. Swap them.")

    @classmethod
    def ball(cls, *, radius: Fraction | float, columns: int) -> "Box":
        """The ball of the largest coordinate around the origin: every parameter within `radius` of 0."""
        reach = (positive_rational("radius", radius),) * positive_integer("columns", columns)
        return cls(lower=tuple(-each for each in reach), upper=reach)

    @property
    def middle(self) -> Floats:
        return np.array([(low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True)], dtype=np.float64)

    @property
    def diameter(self) -> float:
        return float(np.linalg.norm(np.subtract(*self._corners)))

    def farthest(self, point: ArrayLike) -> float:
        (low, high), found = self._corners, self._read(point)
        return float(np.linalg.norm(np.maximum(np.abs(found - low), np.abs(found - high))))

    def _project(self, point: Floats) -> Floats:
        return np.clip(point, *self._corners)

    @property
    def _corners(self) -> tuple[Floats, Floats]:
        return np.array(self.lower, dtype=np.float64), np.array(self.upper, dtype=np.float64)


def _on_simplex(point: Floats, total: float) -> Floats:
    """The nearest point with entries of at least 0 that add up to `total`.

    It is max(point - t, 0) for one t. Among the k largest entries, which are the positive ones of the answer, t is the
    mean of them minus total / k; k is the largest for which the k-th entry exceeds that.
    """
    moved = point - point.max()  # so that sums lose nothing to a common part
    largest = np.sort(moved)[::-1]
    shifts = (np.cumsum(largest) - total) / np.arange(1, point.size + 1)
    found: Floats = np.maximum(moved - shifts[np.flatnonzero(largest > shifts)[-1]], 0.0)
    return found


def _to_vertex(point: Floats, length: float) -> float:
    """The largest distance from a point to a vertex length * e_i."""
    others = point @ point - point**2
    return float(np.sqrt((others + (point - length) ** 2).max()))
