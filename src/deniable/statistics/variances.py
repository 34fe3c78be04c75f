"""The variance and the standard deviation of a column."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import Any, ClassVar, Unpack

import numpy as np

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss
from deniable.release import Release
from deniable.release.columns import Measure, Noisy
from deniable.rows import Container
from deniable.statistics.average import Average, Sums
from deniable.statistics.bounded import BoundedSums
from deniable.statistics.call import asks
from deniable.statistics.shares import STEP, UNIT, shares
from deniable.statistics.statistic import Answer, BoundsLike, Options, release

_FOR_CENTRE = Fraction(1, 6)  # of the price, where the number of rows is private
_MOST_FOR_CENTRE = 1 / 3
_LEAST_FOR_CENTRE = Fraction(1, 1000)
_MIN_ROWS_FOR_CENTRE = 60  # times the scale of the noise: for fewer rows a centre is not worth its price
_NO_SPREAD = 1e-300  # rows; so little that all noise is 0
_COARSE = 2**16  # steps of a share that are one where it is squared: 2^16 of them are its most, and squared UNIT


@dataclass(frozen=True, kw_only=True)
class Variance(BoundedSums):
    """Mean squared distance of the clamped values from their mean: see `variance`.

    A part of the price buys a rough mean c, the rest the mean of (x - c)^2, which is at most the square of the distance
    from c to the farther bound. That exceeds the variance by the squared error of c, which is of second order. Where
    the number of rows is public and so small that c would be worth nothing, the variance itself gets the noise.
    """

    name: ClassVar[str] = "variance"

    def _check(self) -> None:
        self.bounding.check_square()

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        if self.size_is_public:  # and the parts of the price depend on it
            return self.price.bound().under(self.relation)
        parts = zip(self._prices(0), self._noises(0), strict=True)
        losses = [price.stated(noise.privacy_loss(self.sensitivity)) for price, noise in parts]
        return self.price.stated(self.bounding.with_loss(losses))

    def expected_error(self, size: int) -> float:
        return self._expected(size, Fraction(1, 3))

    def _expected(self, size: int, square: Fraction) -> float:
        """Return the error for rows at this mean squared distance from the middle.

        It is a share of the largest possible one.
        """
        if self._is_direct(size):
            return self.bounding.width() ** 2 * min(self.spread / max(size, 1), 1 / 4)
        centre, squared = (noise.standard_deviation() / UNIT / max(size, 1) for noise in self._noises(size))
        if not self.size_is_public:
            centre = centre * sqrt(1 / 2)
            squared = squared * sqrt(square**2 + (1 - square) ** 2)
        return self.bounding.width() ** 2 * min(sqrt((squared / 4) ** 2 + 5 * centre**4), 1 / 4)

    def _noises(self, size: int) -> tuple[AdditiveNoise, AdditiveNoise]:
        """Return the noise for the centre, and for the squares."""
        centre, square = self._prices(size)
        return centre.noise(self.sensitivity), square.noise(self.sensitivity)

    def _prices(self, size: int) -> tuple[Price, ...]:
        """Return the price of the centre, and that of the squares.

        Where the number of rows is public, the centre gets what makes the sum of its error's square and of the other
        error about the least.
        """
        part = _FOR_CENTRE
        if self.size_is_public:
            rows = self._rows_of_noise(size)
            part = max(Fraction(min(_MOST_FOR_CENTRE, 2.4 * rows**-0.4)).limit_denominator(1000), _LEAST_FOR_CENTRE)
        return self.rest.split(part, 1 - part)

    def _rows_of_noise(self, size: int) -> float:
        """Return the rows over the scale of the noise of one sum.

        For Laplace noise it is size times epsilon.
        """
        return max(size, 1) * sqrt(2) / max(self.spread, _NO_SPREAD)

    def _is_direct(self, size: int) -> bool:
        """Return whether the variance itself gets the noise, for lack of rows."""
        return self.size_is_public and self._rows_of_noise(size) < _MIN_ROWS_FOR_CENTRE

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, ends = self._bounded(values, units, bits)
        if self._is_direct(len(column)):
            return self._direct(column, ends, bits)
        noises = self._noises(len(column)) if self.size_is_public else self._noises(0)

        def average(blocks: Iterable[Floats], name: str, noise: AdditiveNoise) -> Average:
            return Average.of(blocks, name=name, mechanism=noise, size_is_public=self.size_is_public, bits=bits)

        rough = average(shares(column, [ends], relation=self.relation), "mean", noises[0])
        centre = rough.estimate()
        square = average(squares(shares(column, [ends], relation=self.relation), centre), "square", noises[1])
        scale = (ends[1] - ends[0]) ** 2
        measure = Measure(
            name=self.name,
            bases=(*rough.bases, *square.bases),
            evaluate=partial(self._of_sums, rough, square, centre, scale),
            denominators=() if self.size_is_public else (rough.size, square.size),
            lower=0,
            upper=float(self._final(scale / 4)),
        )
        return Answer(parts=(measure,), noisy=(*rough.columns, *square.columns), notes=self.bounding.notes(ends))

    def _direct(self, column: Floats, ends: tuple[float, float], bits: Bits) -> Answer:
        """The answer from the distances of all pairs of rows; their number is public."""
        size = len(column)
        scale = (ends[1] - ends[0]) ** 2
        exact = pair_distances(shares(column, [ends], relation=self.relation), size)
        noisy = self.mechanism.release([exact], bits=bits).value.astype(np.float64) / UNIT
        measure = Measure(
            name=self.name,
            bases=("pairs",),
            evaluate=partial(self._of_pairs, scale * max(size - 1, 0) / max(size, 1) ** 2),
            lower=0,
            upper=float(self._final(scale / 4)),
        )
        pairs = Noisy(name="pairs", values=noisy, law=self.mechanism.law(STEP))
        return Answer(parts=(measure,), noisy=(pairs,), notes=self.bounding.notes(ends))

    @classmethod
    def _of_pairs(cls, factor: float, sums: Sums) -> Any:
        """Return the statistic from the squared distances of pairs."""
        return cls._final(factor * sums["pairs"])

    @classmethod
    def _of_sums(cls, rough: Average, square: Average, centre: float, scale: float, sums: Sums) -> Any:
        """Return the statistic from sums of a rough mean and of squares around `centre`."""
        off = np.clip(rough.mean(sums), 0, 1) - centre
        radius = max(centre, 1 - centre)
        return cls._final(scale * (radius**2 * square.mean(sums) - off**2))

    @staticmethod
    def _final(variance: Any) -> Any:
        """Return the statistic from the variance."""
        return variance


@dataclass(frozen=True, kw_only=True)
class StandardDeviation(Variance):
    """Square root of the variance: see `standard_deviation`."""

    name: ClassVar[str] = "standard_deviation"

    def expected_error(self, size: int) -> float:
        squared = self._expected(size, Fraction(1, 9))
        deviation = self.bounding.width() / 6
        return min(squared / (2 * deviation), sqrt(squared))

    @staticmethod
    def _final(variance: Any) -> Any:
        return np.sqrt(np.maximum(variance, 0))


@asks(Variance)
def variance(values: Container, *, bounds: BoundsLike, **options: Unpack[Options]) -> Release:
    """Return the noisy variance of a column, each value clamped to the bounds.

    The variance is the mean squared distance of the rows from their mean.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: a rough mean and the mean of squared distances from it are released as `mean` does, one after the other;
        a row moves the variance of n rows by at most (n - 1) / n^2 of the squared width.
    Proof: docs/theory/statistics/moments.md.
    Error: expected_error is for values spread evenly between the bounds; up to 6 times that for others. With
        bounds="auto" it is a share of the squared width of the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.variance([21, 45, 33, 60] * 50, bounds=(0, 100), epsilon=1)
    """
    return release(Variance, values, {"bounds": bounds}, options)


@asks(StandardDeviation)
def standard_deviation(values: Container, *, bounds: BoundsLike, **options: Unpack[Options]) -> Release:
    """Return the noisy standard deviation of a column, with values clamped to bounds.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of `variance`; the root is post-processing.
    Proof: docs/theory/statistics/moments.md.
    Error: expected_error is for normal rows with the bounds three deviations from their mean. It is in proportion to
        1 / deviation for others: half as large for values spread evenly between the bounds. With bounds="auto" it is a
        share of their width.

    >>> import deniable as dn
    >>> answer = dn.statistics.standard_deviation([21, 45, 33, 60] * 50, bounds=(0, 100), epsilon=1)
    """
    return release(StandardDeviation, values, {"bounds": bounds}, options)


def squares(blocks: Iterable[Floats], centre: float) -> Iterator[Floats]:
    """Yield squared distances of shares from a centre in [0, 1].

    As shares of the largest one that is possible.

    Guarantee: integers in [0, UNIT]. Rounded subtraction is monotone, so no distance exceeds that of the farther end.
    """
    radius = max(centre, 1 - centre)
    for block in blocks:
        distance = (block / UNIT - centre) / radius
        yield np.rint(distance * distance * UNIT)


def pair_distances(blocks: Iterable[Floats], size: int) -> int:
    """Return the sum over all pairs of rows of (share - share)^2, over size - 1.

    In steps and rounded down.

    Guarantee: exact, and moved by at most UNIT if one of `size` rows is replaced: it is in size - 1 pairs.
    """
    first = second = 0
    for block in blocks:
        share = np.rint(block / _COARSE)  # at most 2^16, so sums of squares in a block are exact
        first += int(share.sum())
        second += int((share * share).sum())
    return (size * second - first**2) // max(size - 1, 1)
