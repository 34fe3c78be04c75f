"""The mean of a column."""

from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any, ClassVar, Unpack

from deniable.noise.bits import Bits
from deniable.release import Release
from deniable.release.columns import Measure
from deniable.rows import Container
from deniable.statistics.average import Average, Sums
from deniable.statistics.bounded import BoundedSums
from deniable.statistics.call import asks
from deniable.statistics.shares import shares
from deniable.statistics.statistic import Answer, BoundsLike, Options, release


@dataclass(frozen=True, kw_only=True)
class Mean(BoundedSums):
    """Mean of the values, each clamped to the bounds: see `mean`.

    With u the position of a value between its bounds, from 0 to 1, the sums of u and of 1 - u get noise. One row adds 1
    to the two together, so each may have the noise of a single count, and their sum is the number of rows. Where that
    number is public, the first sum is enough.
    """

    name: ClassVar[str] = "mean"

    def expected_error(self, size: int) -> float:
        parts = 1.0 if self.size_is_public else sqrt(1 / 2)
        return self.bounding.width() * min(parts * self.spread / max(size, 1), 1 / 2)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, ends = self._bounded(values, units, bits)
        average = Average.of(
            shares(column, [ends], relation=self.relation),
            name=self.name,
            mechanism=self.mechanism,
            size_is_public=self.size_is_public,
            bits=bits,
        )
        lower, upper = ends
        measure = Measure(
            name=self.name,
            bases=average.bases,
            evaluate=partial(_between, average, lower, upper),
            denominators=() if self.size_is_public else (average.size,),
            lower=lower,
            upper=upper,
        )
        return Answer(parts=(measure,), noisy=average.columns, notes=self.bounding.notes(ends))


@asks(Mean)
def mean(values: Container, *, bounds: BoundsLike, **options: Unpack[Options]) -> Release:
    """Return the noisy mean of a column, each value clamped to the bounds.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: one unit moves the two noisy sums behind it by at most `rows` in l1 and in l2 (add/remove; twice and
        sqrt 2 times that under replace). The noise is calibrated to that.
    Proof: docs/theory/statistics/moments.md.
    Error: expected_error is for values spread evenly between the bounds; up to sqrt 2 times that for others. With
        bounds="auto" it is a share of the width of the bounds.

    >>> import deniable as dn
    >>> answer = dn.statistics.mean([31, 45, 28], bounds=(0, 100), epsilon=1)
    """
    return release(Mean, values, {"bounds": bounds}, options)


def _between(average: Average, lower: float, upper: float, sums: Sums) -> Any:
    """The mean of values between these bounds, whose shares have these sums."""
    return lower + (upper - lower) * average.mean(sums)
