"""Privacy that fades with distance: a metric, a loss "epsilon times distance", and its check by enumeration."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import ball, certified, exp_below
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, exact_rational, nonnegative_rational, positive_integer, shown
from deniable.privacy import PrivacyLoss, PrivacyUnit, PureLoss

Point: TypeAlias = tuple[Fraction, ...]
Laws: TypeAlias = Sequence[Sequence[Fraction | int]]

_NORMS = ("discrete", "hamming", "l1", "l2", "linf")
_FINE = 2**64


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A distance between points of any number of coordinates.

    Args:
        norm: "l1", "l2" or "linf" of the difference; "hamming" for how many coordinates differ; "discrete" for 1
            between any two, which makes metric privacy local differential privacy.
        unit: such as "m"; metrics of other units are other metrics.
    """

    norm: str = "l2"
    unit: str = ""

    def __post_init__(self) -> None:
        if self.norm not in _NORMS:
            raise InvalidParameterError(f"norm must be one of {', '.join(_NORMS)}, got {self.norm!r}")
        if not isinstance(self.unit, str):
            raise InvalidParameterError(f"unit must be text such as 'm', got {shown(self.unit)}")

    def distance(self, first: Iterable[Real], second: Iterable[Real]) -> Fraction:
        """The distance; for l2 a rational at most 2^-64 below it, which is the side that asks for more privacy."""
        one, other = point(first), point(second)
        if len(one) != len(other):
            raise InvalidParameterError(f"points must have as many coordinates, got {len(one)} and {len(other)}")
        gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
        if self.norm == "l2":
            return Fraction(math.isqrt(math.floor(sum(gap * gap for gap in gaps) * _FINE**2)), _FINE)
        differing = sum(gap != 0 for gap in gaps)
        if self.norm in ("hamming", "discrete"):
            return Fraction(differing if self.norm == "hamming" else min(differing, 1))
        return sum(gaps, Fraction(0)) if self.norm == "l1" else max(gaps, default=Fraction(0))

    def table(self, points: Sequence[Point], others: Sequence[Point]) -> NDArray[np.float64]:
        """All distances as floats, for utility alone; shape (points, others)."""
        return np.array([[float(self.distance(x, y)) for y in others] for x in points])


def point(coordinates: Iterable[Real]) -> Point:
    """A point with exact coordinates."""
    if isinstance(coordinates, str) or not isinstance(coordinates, Iterable):
        raise InvalidParameterError(f"a point must be a tuple of coordinates such as (3, 4), got {shown(coordinates)}")
    return tuple(exact_rational("coordinate", one) for one in coordinates)


def finite(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Public finite numbers of this shape, in which None stands for any length."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.full((), np.nan)
    fits = len(found.shape) == len(shape) and all(side in (None, n) for side, n in zip(shape, found.shape, strict=True))
    if not fits or not np.isfinite(found).all():
        sides = " x ".join("any" if side is None else str(side) for side in shape)
        raise InvalidParameterError(f"{name} must be finite numbers of shape {sides}. Drop rows that are none.")
    return found


@dataclass(frozen=True, init=False)
class MetricLoss:
    """What a mechanism with d_X-privacy reveals: at most epsilon (per unit, >= 0) times the distance of two secrets.

    Losses of the same metric add.

    Guarantee: K(x)(S) <= e^(epsilon d(x, x')) K(x')(S) for all secrets x, x' and events S.
    Source: Chatzikokolakis et al. (2013), "Broadening the scope of differential privacy using metrics".

    >>> from deniable.variants import Metric, MetricLoss
    >>> day = MetricLoss(epsilon="0.01", metric=Metric(unit="m")) * 24
    >>> day.within(radius=50).epsilon(delta=0).upper
    24.0
    """

    epsilon: Fraction
    metric: Metric

    def __init__(self, *, epsilon: Real, metric: Metric) -> None:
        if not isinstance(metric, Metric):
            raise InvalidParameterError(f"metric must be a Metric, got {shown(metric)}")
        object.__setattr__(self, "epsilon", nonnegative_rational("epsilon", epsilon))
        object.__setattr__(self, "metric", metric)

    def __add__(self, other: "MetricLoss") -> "MetricLoss":
        if not isinstance(other, MetricLoss) or other.metric != self.metric:
            raise UnprovedError("losses of different metrics do not add. Convert each with within(radius) first.")
        return replace(self, epsilon=self.epsilon + other.epsilon)

    def __mul__(self, count: int) -> "MetricLoss":
        return replace(self, epsilon=self.epsilon * positive_integer("count", count))

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """The unit of a ledger of such losses: every place moved by one unit of distance or less."""
        metric = self.metric
        return PrivacyUnit(noun=f"journey with places moved by up to 1 {metric.unit or 'unit'} ({metric.norm})")

    @property
    def booked(self) -> PrivacyLoss:
        """The loss that a ledger for `privacy_unit` is charged: places one unit of distance apart."""
        return self.within(radius="1/2")

    def within(self, *, radius: Real) -> PrivacyLoss:
        """Ordinary differential privacy for a secret known to lie in a ball of this radius: epsilon times 2 radius."""
        return PureLoss(self.epsilon * 2 * nonnegative_rational("radius", radius))


def measured_epsilon(laws: Laws, points: Sequence[Iterable[Real]], metric: Metric) -> Interval:
    """The smallest epsilon per unit of distance that the laws of these points satisfy, by enumeration.

    >>> from deniable.variants import Metric, measured_epsilon
    >>> round(measured_epsilon([[3, 1], [1, 3]], [(0,), (2,)], Metric()).upper, 4)  # ln(3) / 2
    0.5493
    """
    if len(laws) != len(points) or len({(len(law), sum(law)) for law in laws}) != 1 or min(map(min, laws)) < 0:
        raise InvalidParameterError("laws must be one row >= 0 a point, all of one length and one total")
    best = Interval(0.0, 0.0)
    for i, j in permutations(range(len(laws)), 2):
        both, distance = list(zip(laws[i], laws[j], strict=True)), metric.distance(points[i], points[j])
        if not distance:
            raise InvalidParameterError("points must be distinct")
        if any(p and not q for p, q in both):
            return INFINITE
        ratio = max(Fraction(p) / q for p, q in both if q)
        found = certified(lambda r=ratio, d=distance: ball(r).log() / ball(d), within=NONNEGATIVE)  # type: ignore[misc]
        best = Interval(max(best.lower, found.lower), max(best.upper, found.upper))
    return best


def satisfies(weights: NDArray[np.int64], limits: Sequence[Sequence[Fraction]]) -> bool:
    """Whether weights[i, z] <= limits[i][j] weights[j, z] for all i, j, z, exactly."""
    floats = weights.astype(np.float64)
    for i, row in enumerate(limits):
        bounds = np.array([float(limit) for limit in row])[:, None]
        close = np.argwhere(floats[i] > floats * bounds * (1 - 2.0**-40))
        if any(int(weights[i, z]) > row[j] * int(weights[j, z]) for j, z in close):
            return False
    return True


def ratios_below(points: Sequence[Point], metric: Metric, epsilon: Fraction) -> list[list[Fraction]]:
    """Rationals just below e^(epsilon d(x, x')), or e^40 where that is less: how far probabilities may differ."""
    return [[_ratio(min(epsilon * metric.distance(x, y), Fraction(40))) for y in points] for x in points]


@lru_cache(maxsize=4096)
def _ratio(exponent: Fraction) -> Fraction:
    return exp_below(exponent, 48)
