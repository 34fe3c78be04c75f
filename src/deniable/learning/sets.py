"""Feasible sets of parameters, with Euclidean projections.

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
from deniable.numbers.simplex import onto_simplex

__all__ = ["Box", "FeasibleSet", "L1Ball", "L2Ball", "Simplex"]


@dataclass(frozen=True, kw_only=True)
class FeasibleSet(metaclass=InWords):
    """Base class of convex sets in which parameters must lie.

    >>> isinstance(L2Ball(radius=1, columns=2), FeasibleSet)
    True
    """

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    @abstractmethod
    def middle(self) -> Floats:
        """Point of the set at which descents start, shape (columns,)."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Largest distance between two points of the set."""

    @abstractmethod
    def max_distance(self, point: ArrayLike) -> float:
        """Return the largest distance from a point to a point of the set.

        The first point may be inside or outside.

        Args:
            point: shape (columns,).
        """

    @abstractmethod
    def _project(self, point: Floats) -> Floats:
        """Return the nearest point of the set."""

    def project(self, point: ArrayLike) -> Floats:
        """Return the nearest point of the set in Euclidean distance, shape (columns,).

        Args:
            point: finite, shape (columns,).
        """
        return self._project(self._read(point))

    def contains(self, point: ArrayLike, *, tolerance: float = 1e-9) -> bool:
        """Whether a point lies within `tolerance` of the set.

        Args:
            point: finite, shape (columns,).
            tolerance: the largest distance.
        """
        values = self._read(point)
        return bool(np.linalg.norm(values - self._project(values)) <= tolerance)

    def _read(self, point: ArrayLike) -> Floats:
        """Return a point as an array.

        Raises: InvalidParameterError unless it has the shape (columns,) and is finite.
        """
        values = np.array(point, dtype=np.float64)
        if values.shape != self.middle.shape or not np.isfinite(values).all():
            raise InvalidParameterError(f"parameters must be {self.middle.size} finite numbers")
        return values


@dataclass(frozen=True, kw_only=True)
class _Ball(FeasibleSet):
    """All points within `radius` of a centre, in some norm."""

    radius: Annotated[Fraction, positive_rational]
    columns: Annotated[int, positive_integer]
    centre: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, centre=public_vector("centre", self.centre, self.columns))

    @property
    def middle(self) -> Floats:
        """The centre."""
        return np.array(self.centre, dtype=np.float64)

    @property
    def diameter(self) -> float:
        """Twice the radius."""
        return 2 * float(self.radius)


@dataclass(frozen=True, kw_only=True)
class L2Ball(_Ball):
    """All points within a Euclidean distance of a centre.

    Args:
        radius: greater than 0.
        columns: the number of parameters.
        centre: a tuple of numbers; the origin by default.

    >>> L2Ball(radius=1, columns=2).project([0, 4]).tolist()
    [0.0, 1.0]
    """

    def max_distance(self, point: ArrayLike) -> float:
        """Return the distance to the centre plus the radius."""
        return float(np.linalg.norm(self._read(point) - self.middle)) + float(self.radius)

    def _project(self, point: Floats) -> Floats:
        """Scale the distance to the centre down to the radius."""
        away = point - self.middle
        return self.middle + away * (float(self.radius) / max(float(np.linalg.norm(away)), float(self.radius)))


@dataclass(frozen=True, kw_only=True)
class L1Ball(_Ball):
    """All points within a Manhattan distance of a centre.

    Args:
        radius, columns, centre: as in `L2Ball`.

    Source: Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball", for the projection.

    >>> L1Ball(radius=1, columns=2).project([3, -1]).tolist()
    [1.0, 0.0]
    """

    def max_distance(self, point: ArrayLike) -> float:
        """Return the largest distance to a vertex.

        Distance is convex, so centre +- radius e_i attains it.
        """
        return _to_vertex(np.abs(self._read(point) - self.middle), -float(self.radius))

    def _project(self, point: Floats) -> Floats:
        """Project the distances to the centre onto a simplex."""
        away = point - self.middle
        radius = float(self.radius)
        if np.abs(away).sum() <= radius:
            return point
        return np.asarray(self.middle + np.sign(away) * onto_simplex(np.abs(away), radius))


@dataclass(frozen=True, kw_only=True)
class Simplex(FeasibleSet):
    """Vectors of numbers that are at least 0 and add up to `total`.

    Args:
        columns: the number of parameters.
        total: greater than 0.

    Source: Held, Wolfe, Crowder (1974), "Validation of subgradient optimization", for the projection.

    >>> Simplex(columns=3).project([1.0, 0.5, -2.0]).tolist()
    [0.75, 0.25, 0.0]
    """

    columns: Annotated[int, positive_integer]
    total: Annotated[Fraction, positive_rational] = Fraction(1)

    @property
    def middle(self) -> Floats:
        """The vector of equal numbers."""
        return np.full(self.columns, float(self.total) / self.columns)

    @property
    def diameter(self) -> float:
        """Distance of two vertices."""
        return math.sqrt(2) * float(self.total) if self.columns > 1 else 0.0

    def max_distance(self, point: ArrayLike) -> float:
        """Return the largest distance to a vertex: distance is convex, so one attains it."""
        return _to_vertex(self._read(point), float(self.total))

    def _project(self, point: Floats) -> Floats:
        """Project onto the simplex."""
        return onto_simplex(point, float(self.total))


@dataclass(frozen=True, kw_only=True)
class Box(FeasibleSet):
    """All points between two corners.

    Args:
        bounds: a pair (lower, upper) of tuples of numbers, one for each parameter; no lower one is above the upper.

    >>> Box.ball(radius=1, columns=2).project([3, 0.5]).tolist()
    [1.0, 0.5]
    """

    bounds: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]

    def __post_init__(self) -> None:
        pair = isinstance(self.bounds, tuple | list) and len(self.bounds) == 2
        if not pair or not all(isinstance(corner, tuple | list) and corner for corner in self.bounds):
            raise InvalidParameterError(
                "bounds must be a pair (lower, upper) of lists of one number for each parameter"
            )
        lower = public_vector("lower", self.bounds[0], len(self.bounds[0]))
        upper = public_vector("upper", self.bounds[1], len(lower))
        if any(low > high for low, high in zip(lower, upper, strict=True)):
            raise InvalidParameterError("no lower bound may be above the upper one. Swap them.")
        read_fields(self, bounds=(lower, upper))

    @classmethod
    def ball(cls, *, radius: Fraction | float, columns: int) -> "Box":
        """Return the box of all parameters within `radius` of 0.

        Args:
            radius: greater than 0.
            columns: the number of parameters.
        """
        upper = (positive_rational("radius", radius),) * positive_integer("columns", columns)
        return cls(bounds=(tuple(-each for each in upper), upper))

    @property
    def middle(self) -> Floats:
        """Mean of the corners."""
        return np.array([(low + high) / 2 for low, high in zip(*self.bounds, strict=True)], dtype=np.float64)

    @property
    def diameter(self) -> float:
        """Distance of the corners."""
        return float(np.linalg.norm(np.subtract(*self._corners)))

    def max_distance(self, point: ArrayLike) -> float:
        """Return the distance to the corner on the far side in every coordinate."""
        low, high = self._corners
        values = self._read(point)
        return float(np.linalg.norm(np.maximum(np.abs(values - low), np.abs(values - high))))

    def _project(self, point: Floats) -> Floats:
        """Clamp every parameter."""
        return np.clip(point, *self._corners)

    @property
    def _corners(self) -> tuple[Floats, Floats]:
        """Lower and upper corner as floats."""
        lower, upper = self.bounds
        return np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)


def _to_vertex(point: Floats, length: float) -> float:
    """Return the largest distance from a point to a vertex length * e_i."""
    others = point @ point - point**2
    return float(np.sqrt((others + (point - length) ** 2).max()))
