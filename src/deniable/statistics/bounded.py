"""Base of statistics of one bounded column."""

from dataclasses import dataclass
from functools import cached_property

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.rows import numbers
from deniable.statistics.bounds import Bounding, resolve
from deniable.statistics.shares import UNIT, rows_that_count
from deniable.statistics.statistic import BoundsLike, Statistic


@dataclass(frozen=True, kw_only=True)
class Bounded(Statistic):
    """Base of statistics of one column of numbers that are clamped to bounds.

    Args:
        bounds: a pair (lower, upper) of public numbers; or "auto", which spends a quarter of the price on finding them.
    """

    bounds: BoundsLike

    @cached_property
    def _resolved(self) -> tuple[Bounding, Price]:
        return resolve(self.bounds, self.price, relation=self.relation, rows=self.rows)

    @property
    def bounding(self) -> Bounding:
        """Bounds of the values, public or found privately."""
        return self._resolved[0]

    @property
    def rest(self) -> Price:
        """Price that is left after the bounds are found."""
        return self._resolved[1]

    @property
    def size_is_public(self) -> bool:
        """Whether the number of rows that count is public.

        Under replace every unit has one.
        """
        return self.relation is Relation.REPLACE and self.rows == 1


@dataclass(frozen=True, kw_only=True)
class BoundedSums(Bounded):
    """Base of statistics of the noisy sums of one bounded column."""

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the sums, in steps: see docs/theory/statistics/moments.md."""
        return of_spread_sum(
            lower=0, upper=UNIT, total_rows=self.rows, relation=self.relation, cells=1 if self.size_is_public else None
        )

    @cached_property
    def mechanism(self) -> AdditiveNoise:
        """Noise on the sums."""
        return self.rest.noise(self.sensitivity)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        answer = self.rest.stated(self.mechanism.privacy_loss(self.sensitivity))
        return self.price.stated(self.bounding.with_loss([answer]))

    @property
    def spread(self) -> float:
        """Standard deviation of the noise on one sum, in rows."""
        return self.mechanism.standard_deviation() / UNIT

    def _bounded(self, values: object, units: object, bits: Bits) -> tuple[Floats, tuple[float, float]]:
        """Return the rows that count, and their public ends."""
        column = rows_that_count(numbers(values), units, rows=self.rows, relation=self.relation, bits=bits)
        return column, self.bounding.ends(column, bits=bits)
