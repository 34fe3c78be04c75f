"""Base of mechanisms that choose public points by the ranks of secret records."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Mechanism, Released, drawable_rate
from deniable.mechanisms.ranks.errors import place_error
from deniable.mechanisms.ranks.points import Codes, Points
from deniable.mechanisms.ranks.records import RankWindow, SortedRecords
from deniable.mechanisms.ranks.sampler import PointSampler, window
from deniable.mechanisms.records import records_of
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.rationals import Real, exact_rational, positive_rational, readable, shown, yes_or_no
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation, Sensitivity

LARGEST_DENOMINATOR = 10**6


@dataclass(frozen=True, kw_only=True)
class RankMechanism(Mechanism):
    """Base of choices among public points by their ranks among secret records.

    The exact input is the records' codes of [0, points.size), in any order.

    Args:
        rate: how fast chances fall with the distance, per rank.
        points: among which it chooses; a number for points of equal weight.
    """

    rate: Annotated[Fraction, drawable_rate]
    points: Points

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, points=Points.of(self.points))

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real, **parameters: Any) -> Self:
        """Return the mechanism at the rate at which the loss has this epsilon.

        Args:
            sensitivity: of the number of records: of_count(rows=..., groups=1, cells=1, relation=...).
            parameters: the other fields of the mechanism.
        """
        unit = cls(rate=Fraction(1), **parameters)
        return replace(unit, rate=positive_rational("epsilon", epsilon) / unit._range(sensitivity))

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return self._loss(self.rate * self._range(sensitivity)).under(sensitivity.relation)

    def _range(self, sensitivity: Sensitivity) -> Fraction:
        """Return the length of the interval of losses at rate 1."""
        return 2 * records_of(sensitivity, proved=frozenset(Relation)) * self.rank_sensitivity(sensitivity.relation)

    @abstractmethod
    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one record moves a distance, in ranks.

        It is half of the interval that all changes lie in.
        """

    def _loss(self, epsilon: Fraction) -> PrivacyLoss:
        return ExponentialMechanismLoss(epsilon)


@dataclass(frozen=True, kw_only=True)
class OneQuantile(RankMechanism):
    """Base of choices of one point by its distance D in ranks from a target.

    A point with L records below it and E at or below it has the places from L to E, and D is the distance of the
    target from them. The first point counts as having any place below its highest, and the last any above its lowest.

    Args:
        interpolated: whether ranks are counted in parts between two records (`places`), so that a higher rate comes
            closer than the next record.
    """

    interpolated: Annotated[bool, yes_or_no] = False

    @abstractmethod
    def target(self, count: int) -> Fraction:
        """Return the rank aimed at among `count` records."""

    def looked_at(self, count: int) -> tuple[int, int]:
        """Return the first and last rank that a window of `count` records should know."""
        return window(self.target(count), rate=self.rate, size=self.points.size)

    def release(self, exact: ArrayLike | RankWindow, *, bits: Bits = SECURE) -> Released[int]:
        """Return the code of one point.

        Args:
            exact: secret; the records' codes, or a window of them that knows the ranks of `looked_at`.
            bits: leave it out, except in tests.
        """
        records = RankWindow.of(exact, self.points.size)
        return Released(int(self._draw(records, 1, bits)[0]), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        return self._draw(RankWindow.of(exact, self.points.size), runs, bits)

    def expected_error(self, size: int, *, truth: Fraction) -> float:
        """Return the root mean squared distance in ranks from `truth`.

        Records are taken to be spread evenly over the points.
        """
        return place_error(self.rate, float(self.target(size)), size, truth=float(truth))

    def _draw(self, records: RankWindow, runs: int, bits: Bits) -> Codes:
        """Return the codes of `runs` independent draws by the exponential mechanism."""
        target = self.target(records.total)
        points = self.points
        sampler = PointSampler(records, target=target, rate=self.rate, points=points, interpolated=self.interpolated)
        return sampler.draws(runs, bits)


@dataclass(frozen=True, kw_only=True)
class SeveralQuantiles(RankMechanism):
    """Base of choices of one point for each of several quantiles, in order.

    Args:
        quantiles: different ones of [0, 1], in order.
    """

    name: ClassVar[str]  # what a caller asks for it by

    quantiles: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        given = tuple(self.quantiles) if isinstance(self.quantiles, Iterable) else ()
        quantiles = tuple(read_quantile("quantiles", each) for each in given)
        if not quantiles or any(low >= high for low, high in pairwise(quantiles)):
            raise InvalidParameterError(f"quantiles must be numbers that increase, got {shown(self.quantiles)}")
        read_fields(self, quantiles=quantiles)

    @classmethod
    def rounds(cls, count: int) -> int:
        """Return the number of equal losses that add up to the loss of `count` quantiles."""
        return 1 if count else 0

    def release(self, exact: ArrayLike | SortedRecords, *, bits: Bits = SECURE) -> Released[tuple[int, ...]]:
        """Return the codes of the points, one per quantile, in order."""
        drawn = self._draw(SortedRecords.of(exact, self.points.size), 1, bits)[0]
        return Released(tuple(drawn.tolist()), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return the codes as digits of one number, the first quantile first.

        The base is the number of points.
        """
        drawn = self._draw(SortedRecords.of(exact, self.points.size), runs, bits)
        return drawn @ self.points.size ** np.arange(len(self.quantiles))[::-1]

    @abstractmethod
    def expected_errors(self, size: int) -> NDArray[np.float64]:
        """Return the root mean squared error of every quantile, in ranks.

        For about `size` records of different codes.
        """

    @property
    def is_quick(self) -> bool:
        """Whether a draw takes seconds where records differ: a public fact.

        No table takes more than 20 times as long.
        """
        return True

    def is_steady(self, size: int) -> bool:
        """Return whether the expected errors hold for `size` records or more.

        A public fact.
        """
        return size >= 0

    @abstractmethod
    def _draw(self, records: SortedRecords, runs: int, bits: Bits) -> Codes:
        """Return the codes of `runs` independent draws, shape (runs, quantiles)."""


def read_quantile(name: str, quantile: object) -> Fraction:
    """Return a number of [0, 1] with a denominator of at most 10^6.

    Raises: InvalidParameterError.
    """
    exact = exact_rational(name, quantile)
    if not 0 <= exact <= 1:
        raise InvalidParameterError(f"{name} must be in [0, 1], got {shown(quantile)}")
    return readable(exact.limit_denominator(LARGEST_DENOMINATOR))
