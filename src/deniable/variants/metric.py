"""Privacy that fades with distance: a metric, a loss "epsilon times distance", and its check by enumeration."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import ball, certified, certified_floor
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, exact_rational, nonnegative_rational, positive_integer, positive_rational
from deniable.privacy import PureLoss

Point: TypeAlias = tuple[Fraction, ...]

_NORMS = ("discrete", "hamming", "l1", "l2", "linf")
_FINE = 2**64
_FAR = 40  # epsilon times distance above which a ratio is held to e^40, which is stricter


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A distance between points of any number of coordinates.

    Args:
        norm: "l1", "l2" or "linf" of the difference, "hamming" for how many coordinates differ, "discrete" for 1
            between any two points, which makes metric privacy local differential privacy.
        unit: in which distances are measured, such as "m"; metrics of other units are other metrics.

    >>> from deniable.variants import Metric
    >>> Metric(norm="l2", unit="m").distance((0, 0), (3, 4))
    Fraction(5, 1)
    """

    norm: str = "l2"
    unit: str = ""

    def __post_init__(self) -> None:
        if self.norm not in _NORMS:
            raise InvalidParameterError(f"norm must be one of {', '.join(_NORMS)}, got {self.norm!r}")

    def distance(self, first: Iterable[Real], second: Iterable[Real]) -> Fraction:
        """The distance; for l2 a rational at most 2^-64 below it, which is the side that asks for more privacy."""
        return self.between(point(first), point(second))

    def between(self, first: Point, second: Point) -> Fraction:
        """The distance of two exact points."""
        if len(first) != len(second):
            raise InvalidParameterError(f"points must have as many coordinates, got {len(first)} and {len(second)}")
        gaps = [abs(a - b) for a, b in zip(first, second, strict=True)]
        match self.norm:
            case "l1":
                return sum(gaps, Fraction(0))
            case "linf":
                return max(gaps, default=Fraction(0))
            case "l2":
                return Fraction(math.isqrt(math.floor(sum(gap * gap for gap in gaps) * _FINE**2)), _FINE)
        differing = sum(gap != 0 for gap in gaps)
        return Fraction(differing if self.norm == "hamming" else min(differing, 1))

    def table(self, points: Sequence[Point], others: Sequence[Point]) -> NDArray[np.float64]:
        """All distances as floats, for utility alone; shape (points, others)."""
        gaps = np.abs(np.array(points, dtype=np.float64)[:, None] - np.array(others, dtype=np.float64)[None])
        if self.norm in ("hamming", "discrete"):
            differing = (gaps > 0).sum(axis=2)
            return np.asarray(differing if self.norm == "hamming" else np.minimum(differing, 1), dtype=np.float64)
        order = {"l1": 1, "l2": 2, "linf": np.inf}[self.norm]
        return np.asarray(np.linalg.norm(gaps, ord=order, axis=2))


def point(coordinates: Iterable[Real]) -> Point:
    """A point with exact coordinates."""
    return tuple(exact_rational("coordinate", one) for one in coordinates)


@dataclass(frozen=True, init=False)
class MetricLoss:
    """What a mechanism with d_X-privacy reveals: a loss of at most epsilon times the distance of two secrets.

    Losses of the same metric add; of other metrics they are refused.

    Args:
        epsilon: per unit of distance, >= 0. `MetricLoss.of_ratio` takes a ratio of beliefs within a radius instead.
        metric: between secrets.

    Guarantee: K(x)(S) <= e^(epsilon d(x, x')) K(x')(S) for all secrets x, x' and events S.
    Source: Chatzikokolakis, Andres, Bordenabe, Palamidessi (2013), "Broadening the scope of differential privacy using
        metrics"; Andres et al. (2013), arXiv:1212.1984, for places.

    >>> from deniable.variants import Metric, MetricLoss
    >>> day = MetricLoss(epsilon="0.01", metric=Metric(unit="m")) * 24
    >>> day.within(radius=50).epsilon(delta=0).upper
    24.0
    """

    epsilon: Fraction
    metric: Metric

    def __init__(self, *, epsilon: Real, metric: Metric) -> None:
        object.__setattr__(self, "epsilon", nonnegative_rational("epsilon", epsilon))
        object.__setattr__(self, "metric", metric)

    @classmethod
    def of_ratio(cls, *, ratio: Real, radius: Real, metric: Metric) -> "MetricLoss":
        """The loss that lets beliefs about two places `radius` apart change by at most this ratio (> 1)."""
        odds = exact_rational("ratio", ratio)
        if odds <= 1:
            raise InvalidParameterError(f"ratio must be > 1, got {ratio}")
        logarithm = Fraction(certified_floor(lambda: ball(odds).log() * 2**48), 2**48)
        return cls(epsilon=logarithm / positive_rational("radius", radius), metric=metric)

    def __add__(self, other: "MetricLoss") -> "MetricLoss":
        if not isinstance(other, MetricLoss) or other.metric != self.metric:
            raise UnprovedError("losses of different metrics do not add. Convert each with within(radius) first.")
        return replace(self, epsilon=self.epsilon + other.epsilon)

    def __mul__(self, count: int) -> "MetricLoss":
        return replace(self, epsilon=self.epsilon * positive_integer("count", count))

    def at(self, distance: Real) -> PureLoss:
        """The loss between two secrets at this distance."""
        return PureLoss(self.epsilon * nonnegative_rational("distance", distance))

    def within(self, *, radius: Real) -> PureLoss:
        """Ordinary differential privacy for a secret known to lie in a ball of this radius: epsilon times 2 radius."""
        return self.at(2 * nonnegative_rational("radius", radius))


def measured_epsilon(
    laws: Sequence[Sequence[Fraction | int]], points: Sequence[Iterable[Real]], metric: Metric
) -> Interval:
    """The smallest epsilon per unit of distance that finite laws satisfy, by enumeration.

    Args:
        laws: for each point the probabilities of all outputs, exact, or integer weights of one total.
        points: distinct secrets, as many.
        metric: between them.

    >>> from deniable.variants import Metric, measured_epsilon
    >>> round(measured_epsilon([[3, 1], [1, 3]], [(0,), (2,)], Metric()).upper, 4)  # ln(3) / 2
    0.5493
    """
    _check_laws(laws, points)
    best = Interval(0.0, 0.0)
    for i, first in enumerate(laws):
        for j, second in enumerate(laws):
            if i == j or any(p and not q for p, q in zip(first, second, strict=True)):
                if i != j:
                    return INFINITE
                continue
            ratio = max(Fraction(p) / q for p, q in zip(first, second, strict=True) if q)
            distance = metric.distance(points[i], points[j])
            if not distance:
                raise InvalidParameterError("points must be distinct")
            found = certified(lambda r=ratio, d=distance: ball(r).log() / ball(d), within=NONNEGATIVE)  # type: ignore[misc]
            best = Interval(max(best.lower, found.lower), max(best.upper, found.upper))
    return best


def satisfies(weights: NDArray[np.int64], limits: Sequence[Sequence[Fraction]]) -> bool:
    """Whether weights[i, z] <= limits[i][j] weights[j, z] for all i, j, z, exactly.

    Floats decide where they are 2^-40 away from equality, integers the rest.
    """
    floats = weights.astype(np.float64)
    for i, row in enumerate(limits):
        bounds = np.array([float(limit) for limit in row])[:, None]
        for j, z in np.argwhere(floats[i] > floats * bounds * (1 - 2.0**-40)):
            if int(weights[i, z]) > row[j] * int(weights[j, z]):
                return False
    return True


def ratios_below(points: Sequence[Point], metric: Metric, epsilon: Fraction) -> list[list[Fraction]]:
    """Rationals just below e^(epsilon d(x, x')): what probabilities may differ by, point by point."""
    known: dict[Fraction, Fraction] = {}

    def ratio(exponent: Fraction) -> Fraction:
        if exponent not in known:
            capped = min(exponent, Fraction(_FAR))
            known[exponent] = Fraction(certified_floor(lambda: ball(capped).exp() * 2**48), 2**48)
        return known[exponent]

    return [[ratio(epsilon * metric.between(x, y)) for y in points] for x in points]


def _check_laws(laws: Sequence[Sequence[Fraction | int]], points: Sequence[Iterable[Real]]) -> None:
    if len(laws) != len(points) or not laws or len({len(law) for law in laws}) != 1:
        raise InvalidParameterError("laws must be one row a point, all of one length")
    if len({sum(law) for law in laws}) != 1 or any(p < 0 for law in laws for p in law):
        raise InvalidParameterError("laws must be >= 0 and have one total")
