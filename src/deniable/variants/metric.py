"""Metric privacy: metrics, losses of epsilon times distance, and measurement."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.balls import ball, certified, exp_below
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, exact_rational, nonnegative_rational, positive_integer, shown
from deniable.privacy import PrivacyLoss, PrivacyUnit, PureLoss

Point: TypeAlias = tuple[Fraction, ...]
Laws: TypeAlias = Sequence[Sequence[Fraction | int]]

_NORMS = ("discrete", "hamming", "l1", "l2", "linf")
_ROOT_DENOMINATOR = 2**64  # of square roots, which are rounded down


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Distance between points of any number of coordinates.

    Args:
        norm: "l1", "l2" or "linf" of the difference; "hamming" for the number of differing coordinates; "discrete" for
            1 between any two, which makes metric privacy local differential privacy.
        unit: of length, such as "m"; metrics of different units are different.

    >>> from deniable.variants import Metric
    >>> float(Metric(norm="l2", unit="m").distance((0, 0), (3, 4)))
    5.0
    """

    norm: str = "l2"
    unit: str = ""

    def __post_init__(self) -> None:
        if self.norm not in _NORMS:
            raise InvalidParameterError(f"norm must be one of {', '.join(_NORMS)}, got {self.norm!r}")
        if not isinstance(self.unit, str):
            raise InvalidParameterError(f"unit must be text such as 'm', got {shown(self.unit)}")

    def distance(self, first: Iterable[Real], second: Iterable[Real]) -> Fraction:
        """Return the distance between two points.

        For l2 it is a rational at most 2^-64 below the distance, which is the side that needs more noise.

        Args:
            first, second: tuples of numbers, as long as each other.
        """
        one = point(first)
        other = point(second)
        if len(one) != len(other):
            raise InvalidParameterError(
                f"points must have the same number of coordinates, got {len(one)} and {len(other)}"
            )
        gaps = [abs(a - b) for a, b in zip(one, other, strict=True)]
        if self.norm == "l2":
            return Fraction(
                math.isqrt(math.floor(sum(gap * gap for gap in gaps) * _ROOT_DENOMINATOR**2)), _ROOT_DENOMINATOR
            )
        differing = sum(gap != 0 for gap in gaps)
        if self.norm in ("hamming", "discrete"):
            return Fraction(differing if self.norm == "hamming" else min(differing, 1))
        return sum(gaps, Fraction(0)) if self.norm == "l1" else max(gaps, default=Fraction(0))

    def table(self, points: Sequence[Point], others: Sequence[Point]) -> NDArray[np.float64]:
        """Return all distances as floats, shape (points, others); for utility alone.

        Args:
            points, others: tuples of numbers.
        """
        return np.array([[float(self.distance(x, y)) for y in others] for x in points])


def point(coordinates: Iterable[Real]) -> Point:
    """Return a point with exact coordinates."""
    if isinstance(coordinates, str) or not isinstance(coordinates, Iterable):
        raise InvalidParameterError(f"a point must be a tuple of coordinates such as (3, 4), got {shown(coordinates)}")
    return tuple(exact_rational("coordinate", one) for one in coordinates)


def finite(name: str, values: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """Return public finite numbers of a shape, in which None stands for any length."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.full((), np.nan)
    fits = len(numbers.shape) == len(shape) and all(
        side in (None, length) for side, length in zip(shape, numbers.shape, strict=True)
    )
    if not fits or not np.isfinite(numbers).all():
        sides = " x ".join("any" if side is None else str(side) for side in shape)
        raise InvalidParameterError(f"{name} must be finite numbers of shape {sides}. Drop rows with other entries.")
    return numbers


@dataclass(frozen=True, init=False)
class MetricLoss:
    """Loss of a mechanism with metric privacy: epsilon times the distance of secrets.

    Losses of the same metric add.

    Args:
        epsilon: per unit of distance, >= 0.
        metric: between secrets.

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
        read_fields(self, epsilon=nonnegative_rational("epsilon", epsilon), metric=metric)

    def __add__(self, other: "MetricLoss") -> "MetricLoss":
        if not isinstance(other, MetricLoss) or other.metric != self.metric:
            raise UnprovedError("losses of different metrics do not add. Convert each with within(radius) first.")
        return replace(self, epsilon=self.epsilon + other.epsilon)

    def __mul__(self, count: int) -> "MetricLoss":
        return replace(self, epsilon=self.epsilon * positive_integer("count", count))

    @property
    def privacy_unit(self) -> PrivacyUnit:
        """Unit of a ledger of such losses: locations moved by up to one unit of distance."""
        metric = self.metric
        return PrivacyUnit(noun=f"journey with places moved by up to 1 {metric.unit or 'unit'} ({metric.norm})")

    @property
    def charged(self) -> PrivacyLoss:
        """Loss charged to a ledger for `privacy_unit`: locations one unit apart."""
        return self.within(radius="1/2")

    def within(self, *, radius: Real) -> PrivacyLoss:
        """Return the ordinary loss for a secret known to lie in a ball.

        It is epsilon times 2 radius.

        Args:
            radius: of the ball, in the unit of distance.
        """
        return PureLoss(self.epsilon * 2 * nonnegative_rational("radius", radius))


def measured_epsilon(laws: Laws, points: Sequence[Iterable[Real]], metric: Metric) -> Interval:
    """Measure the least epsilon per unit of distance of finite distributions.

    Args:
        laws: one row for each point: weights of the outputs, exact and >= 0, all rows with the same total.
        points: one for each row, tuples of numbers.
        metric: between points.

    Returns: an `Interval` that holds it; infinite if an output rules a point out.

    >>> from deniable.variants import Metric, measured_epsilon
    >>> round(measured_epsilon([[3, 1], [1, 3]], [(0,), (2,)], Metric()).upper, 4)  # ln(3) / 2
    0.5493
    """
    if len(laws) != len(points) or len({(len(law), sum(law)) for law in laws}) != 1 or min(map(min, laws)) < 0:
        raise InvalidParameterError(
            "laws must hold one row of weights >= 0 for each point, all of one length and one total"
        )
    best = Interval(0.0, 0.0)
    for i, j in permutations(range(len(laws)), 2):
        both = list(zip(laws[i], laws[j], strict=True))
        distance = metric.distance(points[i], points[j])
        if not distance:
            raise InvalidParameterError("points must be distinct")
        if any(p and not q for p, q in both):
            return INFINITE
        ratio = max(Fraction(p) / q for p, q in both if q)
        epsilon = certified(lambda r=ratio, d=distance: ball(r).log() / ball(d), within=NONNEGATIVE)  # type: ignore[misc]
        best = Interval(max(best.lower, epsilon.lower), max(best.upper, epsilon.upper))
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
    """Return the allowed ratios of probabilities, as rationals rounded down.

    They are just below e^(epsilon d(x, x')), or e^40 where that is less.
    """
    return [[_ratio(min(epsilon * metric.distance(x, y), Fraction(40))) for y in points] for x in points]


@lru_cache(maxsize=4096)
def _ratio(exponent: Fraction) -> Fraction:
    return exp_below(exponent, 48)
