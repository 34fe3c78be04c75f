"""The sum of a column."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, isinf
from typing import ClassVar, Unpack

import numpy as np

from deniable.noise.bits import Bits
from deniable.privacy import Relation, Sensitivity, of_spread_sum
from deniable.release import Measure, Noisy, Release
from deniable.statistics.average import exact_sums
from deniable.statistics.bounded import Bounded
from deniable.statistics.data import Floats
from deniable.statistics.laws import Law
from deniable.statistics.shares import UNIT, shares
from deniable.statistics.statistic import Answer, Options, release

_BLOCK = 2**15
_SLACK = 1 + 2.0**-31  # rounding to steps cannot reach beyond UNIT


@dataclass(frozen=True, kw_only=True)
class Sum(Bounded):
    """The sum of the values, each clamped to the bounds.

    Guarantee: under add/remove one unit moves the sum by at most rows * max(|lower|, |upper|); under replace by at most
        upper - lower, or by rows * max(|lower|, |upper|, upper - lower) if it may have several rows. Steps are such
        that this is rows * 2^32, and values are rounded to steps before they are added: docs/theory/moments.md.
    Error: expected_error with bounds="auto" is a share of what one row can move the sum.
    """

    name: ClassVar[str] = "sum"

    @cached_property
    def sensitivity(self) -> Sensitivity:
        return of_spread_sum(lower=0, upper=UNIT, total_rows=self.rows, relation=self.relation, cells=1)

    def expected_error(self, size: int) -> float:
        return self.spread * (self._reach(self.bounding.public) if self.bounding.public else 1.0)

    def _reach(self, ends: tuple[float, float]) -> float:
        """How far one row moves the sum."""
        lower, upper = ends
        if self.size_is_public:
            return upper - lower
        return max(upper, -lower, upper - lower if self.relation is Relation.REPLACE else 0.0)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column, ends = self._bounded(values, units, bits)
        lower, upper = ends
        count, exact = self._sums(column, ends)
        (noisy,) = self.mechanism.release(exact, bits=bits).values
        step = self._step(ends)
        if self.size_is_public:
            start, least, most = count * lower, count * lower, count * upper
        else:
            start, least, most = 0.0, 0.0 if lower >= 0 else -inf, 0.0 if upper <= 0 else inf
        return Answer(
            parts=(Measure(name=self.name, bases=(self.name,), lower=_finite(least), upper=_finite(most)),),
            noisy=(
                Noisy(
                    name=self.name,
                    values=np.array([start + float(noisy) * step]),
                    law=Law(self.mechanism, Fraction(step)),
                ),
            ),
            notes=self.bounding.notes(ends),
        )

    def _sums(self, column: Floats, ends: tuple[float, float]) -> tuple[int, list[int]]:
        if self.size_is_public:
            return exact_sums(shares(column, [ends], relation=self.relation), size_is_public=True)
        missing = 0.0 if self.relation is Relation.ADD_REMOVE else ends[0] / 2 + ends[1] / 2
        return len(column), [_total(column, ends, step=self._step(ends), missing=missing)]

    def _step(self, ends: tuple[float, float]) -> float:
        """The unit of the sums: where the number of rows is private, a little more than the reach over UNIT."""
        return self._reach(ends) * (1 if self.size_is_public else _SLACK) / UNIT


def sum(values: object, *, bounds: object, **options: Unpack[Options]) -> Release:
    """The sum of the values: see `Sum`.

    >>> import deniable as dn
    >>> answer = dn.statistics.sum([31, 45, 28], bounds=(0, 100), epsilon=1)
    """
    return release(Sum, values, {"bounds": bounds}, options)


def _total(column: Floats, ends: tuple[float, float], *, step: float, missing: float) -> int:
    """The exact sum of the clamped values, each rounded to whole steps."""
    total, space = 0, np.empty(_BLOCK)
    for start in range(0, len(column), _BLOCK):
        values = column[start : start + _BLOCK]
        block = np.clip(values, *ends, out=space[: len(values)])
        found = (block / step).round()
        part = float(found.sum())
        if np.isnan(part):
            part = float(np.nan_to_num(found, nan=round(missing / step)).sum())
        total += int(part)
    return total


def _finite(bound: float) -> float | None:
    return None if isinf(bound) else bound
