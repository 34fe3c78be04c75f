"""Sum of a column."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isinf
from typing import ClassVar, Unpack

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.release.columns import Measure, Noisy
from deniable.rows import Container
from deniable.statistics.average import exact_sums
from deniable.statistics.bounded import BoundedSums
from deniable.statistics.call import asks
from deniable.statistics.shares import UNIT, shares
from deniable.statistics.statistic import Answer, BoundsLike, Options, release

_ROWS_PER_BLOCK = 2**15
_LARGEST = 2**37  # a block of whole numbers up to it has an exact sum
_SLACK = 1 + 2.0**-31  # rounding to steps cannot reach beyond UNIT


@dataclass(frozen=True, kw_only=True)
class Sum(BoundedSums):
    """Sum of the values, each clamped to the bounds: see `sum`."""

    name: ClassVar[str] = "sum"

    whole: bool = False

    def _check(self) -> None:
        if self.whole:
            ends = self.bounding.public
            if ends is None or not all(end.is_integer() and abs(end) <= _LARGEST for end in ends):
                raise InvalidParameterError(
                    f"whole=True needs bounds that are whole numbers of at most 2^37, got {self.bounds!r}"
                )

    @cached_property
    def sensitivity(self) -> Sensitivity:
        steps = int(self._sensitivity_of_row(self.bounding.public)) if self.whole and self.bounding.public else UNIT
        return of_spread_sum(lower=0, upper=steps, total_rows=self.rows, relation=self.relation, cells=1)

    def expected_error(self, size: int) -> float:
        step = self._step(self.bounding.public) if self.bounding.public else 1 / UNIT
        return self.mechanism.standard_deviation() * step

    def _sensitivity_of_row(self, ends: tuple[float, float]) -> float:
        """Return how far one row moves the sum."""
        lower, upper = ends
        if self.size_is_public:
            return upper - lower
        return max(upper, -lower, upper - lower if self.relation is Relation.REPLACE else 0.0)

    def _step(self, ends: tuple[float, float]) -> float:
        """Return the unit of the sums.

        Where the number of rows is private, it is a little more than the sensitivity over UNIT.
        """
        if self.whole:
            return 1.0
        return self._sensitivity_of_row(ends) * (1 if self.size_is_public else _SLACK) / UNIT

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, ends = self._bounded(values, units, bits)
        lower, upper = ends
        (noisy,) = self.mechanism.release([self._exact(column, ends)], bits=bits).value
        step = self._step(ends)
        if self.size_is_public:
            start, lowest, highest = len(column) * lower, len(column) * lower, len(column) * upper
        else:
            start = 0.0
            lowest = 0.0 if lower >= 0 else -inf
            highest = 0.0 if upper <= 0 else inf
        value = int(start) + int(noisy) if self.whole else start + float(noisy) * step
        return Answer(
            parts=(Measure(name=self.name, bases=(self.name,), lower=self._bound(lowest), upper=self._bound(highest)),),
            noisy=(Noisy(name=self.name, values=np.array([value]), law=self.mechanism.law(Fraction(step))),),
            notes=self.bounding.notes(ends),
        )

    def _bound(self, bound: float) -> float | None:
        if isinf(bound):
            return None
        return int(bound) if self.whole else bound

    def _exact(self, column: Floats, ends: tuple[float, float]) -> int:
        """Return the sum that gets noise, in steps.

        Of distances from the lower end where the number of rows is public.
        """
        if self.size_is_public and not self.whole:
            return exact_sums(shares(column, [ends], relation=self.relation), size_is_public=True)[1][0]
        missing = 0.0 if self.relation is Relation.ADD_REMOVE else ends[0] / 2 + ends[1] / 2
        total = _total(column, ends, step=self._step(ends), missing=missing)
        return total - len(column) * int(ends[0]) if self.size_is_public else total


@asks(Sum)
def sum(values: Container, *, bounds: BoundsLike, whole: bool = False, **options: Unpack[Options]) -> Release:
    """Return the noisy sum of a column, each value clamped to the bounds.

    Args:
        values: one column of private numbers.
        bounds: public (lower, upper), to which values are clamped; "auto" spends a quarter of the price on finding
            them.
        whole: whether values, bounds and the answer are whole numbers. Values are rounded to whole numbers, and where
            epsilon is large for what one row can move, the noise is often 0.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: under add/remove one unit moves the sum by at most rows * max(|lower|, |upper|); under replace by at most
        upper - lower, or by rows * max(|lower|, |upper|, upper - lower) if it may have several rows. If not whole,
        steps are such that this is rows * 2^32. Values are rounded to steps before they are added.
    Proof: docs/theory/statistics/moments.md.
    Source: Dwork, McSherry, Nissim, Smith (2006), "Calibrating noise to sensitivity in private data analysis".
    Error: expected_error with bounds="auto" is a share of what one row can move the sum.

    >>> import deniable as dn
    >>> answer = dn.statistics.sum([31, 45, 28], bounds=(0, 100), epsilon=1)
    """
    return release(Sum, values, {"bounds": bounds, "whole": whole}, options)


def _total(column: Floats, ends: tuple[float, float], *, step: float, missing: float) -> int:
    """Return the exact sum of the clamped values, each rounded to whole steps."""
    total = 0
    space = np.empty(_ROWS_PER_BLOCK)
    for start in range(0, len(column), _ROWS_PER_BLOCK):
        values = column[start : start + _ROWS_PER_BLOCK]
        block = np.clip(values, *ends, out=space[: len(values)])
        with np.errstate(invalid="ignore"):  # a signalling NaN
            steps = (block / step).round()
        part = float(steps.sum())
        if np.isnan(part):
            part = float(np.nan_to_num(steps, nan=round(missing / step)).sum())
        total += int(part)
    return total
