"""The share of the rows at or below each of some public values."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import floor
from typing import ClassVar, Unpack

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.counts.tree import LARGEST_COUNT, TreeOfCounts
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, exact_rational
from deniable.privacy import PrivacyLoss, Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import Container, numbers
from deniable.statistics.call import asks
from deniable.statistics.statistic import Answer, Options, Statistic, release
from deniable.statistics.units import bounded_rows

_DRAWS = 4000  # of the noise, for intervals
_HIGHEST = 0.99  # the level that so many draws can tell


@dataclass(frozen=True, kw_only=True)
class CumulativeDistribution(Statistic):
    """Share of the rows at or below each public value: see `cumulative_distribution`."""

    name: ClassVar[str] = "cumulative_distribution"

    at: Sequence[Real]

    def _check(self) -> None:
        if isinstance(self.at, str) or not isinstance(self.at, Sequence | np.ndarray) or not len(self.at):
            raise InvalidParameterError(f"at must be a list of values such as [0, 10, 100], got {self.at!r}")
        read_fields(self, at=tuple(float(exact_rational("at", value)) for value in self.at))
        if np.any(np.diff(self._edges) <= 0):
            raise InvalidParameterError("at must increase strictly. Sort the values and leave out equal ones.")
        if len(self.at) >= LARGEST_COUNT:
            raise InvalidParameterError(f"at must hold fewer than {LARGEST_COUNT} values, got {len(self.at)}")

    @property
    def _edges(self) -> Floats:
        return np.array(self.at, dtype=np.float64)

    @cached_property
    def counting(self) -> TreeOfCounts:
        """Tree of counts of the rows between the values."""
        return TreeOfCounts.best(self.sensitivity, self.price.noise, cells=len(self.at) + 1, shares=True)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """Sensitivity of the counts between the values."""
        return of_spread_sum(lower=0, upper=1, total_rows=self.rows, relation=self.relation, cells=len(self.at) + 1)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        return self.price.stated(self.counting.privacy_loss(self.sensitivity))

    def expected_error(self, size: int) -> float:
        """Return the root mean squared error of a share before it is made monotone.

        Where rows are spread evenly.

        Afterwards it is smaller, above all where many rows are equal or there are few.
        """
        return self.counting.standard_deviation(shares=True) / max(size, 1)

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        column = numbers(values)
        missing = np.isnan(column)
        dropped = missing if self.relation is Relation.ADD_REMOVE else np.zeros_like(missing)
        kept = bounded_rows(units, rows=self.rows, present=~dropped, bits=bits)
        column = np.where(missing[kept], self._edges[(len(self.at) - 1) // 2], column[kept])
        cells = np.searchsorted(self._edges, column, side="left")
        counts = np.bincount(cells, minlength=len(self.at) + 1).astype(np.int64)
        public = column.size if self.relation is Relation.REPLACE and units is None else None
        running = self.counting.running_sums(self.counting.release(counts, bits=bits).value, total=public)
        noise = self.counting.errors(_DRAWS, bits=bits, known=public is not None)
        monotone = self.counting.monotone(running) if running[-1] > 0 else running
        shares = _ratio(monotone[:-1], running[-1], 0.0)
        tops = running[:-1] - noise[:, :-1]
        totals = running[-1:] - noise[:, -1:]
        low, high = (np.sort(_ratio(tops, totals, unknown), axis=0) for unknown in (0.0, 1.0))
        share = Estimate(
            name="share",
            estimates=shares,
            ends=partial(_ends, shares, low, high),
            post_processing="made monotone, clamped to [0, 1]",
        )
        return Answer(parts=(Key(name="value", values=self.at, kind="double"), share))


@asks(CumulativeDistribution)
def cumulative_distribution(values: Container, at: Sequence[Real], **options: Unpack[Options]) -> Release:
    """Return the noisy share of the rows at or below each of some public values.

    The rows between the values are counted with noise, where there are many values through a tree of counts
    (`TreeOfCounts`); the shares are then made monotone and kept between 0 and 1, which brings them nearer to the
    truth.

    Args:
        values: one column of private numbers.
        at: the public values, strictly increasing; at most 1023 of them.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: that of the additive noise on the counts, each row lying in one count of every level.
    Proof: docs/theory/mechanisms/ranks.md.
    Source: Hay, Rastogi, Miklau, Suciu (2010), arXiv:0904.0942, for trees of counts with least squares.

    >>> import deniable as dn
    >>> answer = dn.statistics.cumulative_distribution([21, 45, 33, 60], at=[20, 40, 60], epsilon=1)
    """
    return release(CumulativeDistribution, values, {"at": at}, options)


def _ratio(part: Floats, total: Floats | float, unknown: float) -> Floats:
    """Return a share of the total, in [0, 1].

    `unknown` where the noise leaves no total above 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Floats = np.clip(np.where(np.asarray(total) > 0, part / total, unknown), 0.0, 1.0)
    return ratio


def _ends(shares: Floats, low: Floats, high: Floats, level: float) -> Bounds:
    """Return quantiles over draws of the noise, which include the share itself.

    As in `deniable.release.intervals`.
    """
    if level > _HIGHEST:
        return Bounds(np.zeros_like(shares), np.ones_like(shares))
    tail = max(floor((1 - level) / 2 * len(low)) - 1, 0)
    return Bounds(np.minimum(low[tail], shares), np.maximum(high[-1 - tail], shares))
