"""Inverse sensitivity of order statistics on grids of any size.

A gap between records is drawn, and then a value in it.
"""

import math
from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import Released, require_listed
from deniable.mechanisms.inverse.sensitivity import InverseSensitivity
from deniable.mechanisms.records import clamped_records
from deniable.noise import bernoulli, race, races, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers import balls
from deniable.privacy import Relation

if TYPE_CHECKING:
    from flint import arb

_FAINT = 40.0


@dataclass(frozen=True, kw_only=True)
class InverseByGaps(InverseSensitivity):
    """Base of inverse sensitivity of order statistics; the exact input is the records.

    len is constant between records, so a gap is chosen by an exact race, with its length as weight, and then a value in
    it.
    """

    relation: ClassVar[Relation]  # for which it is proved

    @property
    def _proved(self) -> frozenset[Relation]:
        return frozenset({self.relation})

    @abstractmethod
    def _lengths(self, fewer: NDArray[np.int64], upto: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return len of values with that many records below and up to them, of `count`."""

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[int]:
        """Return one value between the bounds, both included.

        Gaps that are many records away hardly matter: they run as two, each with the least len of its gaps, and a value
        t of them is taken with probability exp(-rate (len(t) - that)), else everything is drawn anew.
        """
        records = self._records(exact)
        start, length, weight = self._gaps(records, self._farthest_length(records.size))
        while True:
            gap = race.exponential_mechanism(-length, rate=self.rate, weights=weight, bits=bits)
            value = int(start[gap]) + int(uniform.below(int(weight[gap]), bits=bits))
            excess = int(self._lengths_at(records, np.array([value]))[0] - length[gap])
            if not excess or bernoulli.sample_enclosed(p=balls.exp_of_minus(self.rate * excess), bits=bits):
                return Released(value, bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return values of `runs` independent releases."""
        records = self._records(exact)
        start, length, weight = self._gaps(records, 2 * records.size + 1)
        shape = (runs, start.size)
        scores, weights = np.broadcast_to(-length, shape), np.broadcast_to(weight, shape)
        gap = races.exponential_mechanism(scores, rate=self.rate, weights=weights, bits=bits)
        return start[gap] + uniform.sample(weight[gap], bits=bits)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        require_listed(self.upper - self.lower + 1)
        return self._law_of(self._lengths_at(self._records(exact), np.arange(self.lower, self.upper + 1)))

    def _records(self, exact: ArrayLike) -> NDArray[np.int64]:
        return clamped_records(exact, self.lower, self.upper, relation=self.relation)

    def _farthest_length(self, count: int) -> int:
        """Return a len beyond which all values have the probability e^-40 at most.

        The least len is at most 1.
        """
        far = Fraction(math.log(self.upper - self.lower + 1) + _FAINT) / self.rate
        return min(math.ceil(far), 2 * count) + 1

    @property
    def _wide(self) -> int:
        return min(self.smoothing, self.upper - self.lower)

    def _lengths_at(self, records: NDArray[np.int64], values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return len of values.

        It counts the records below t - smoothing, and up to t + smoothing.
        """
        fewer = np.searchsorted(records, values - self._wide, side="left")
        upto = np.searchsorted(records, values + self._wide, side="right")
        return self._lengths(fewer, upto, records.size)

    def _gaps(
        self, records: NDArray[np.int64], max_length: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return runs of values with equal len: their start, len, and number of values.

        Values with a len above `max_length` are one run below the others and one above them, with max_length + 1 as
        their len.
        The first number of records grows after one of them, the second one at one.
        """
        first, last = self._close_values(records, max_length)
        wide = self._wide
        count = np.searchsorted(records, [first - self._wide - 1, last + self._wide + 1])
        distinct = _distinct(records[count[0] : count[1]])
        turns = np.sort(np.concatenate([[first], distinct + (wide + 1), distinct - wide]), kind="stable")
        start = _distinct(turns[(turns >= first) & (turns <= last)])
        length = self._lengths_at(records, start)
        sizes = np.diff(start, append=last + 1)
        far = np.array([first - self.lower, self.upper - last])
        beside = np.array([self.lower, last + 1])[far > 0]
        beyond = np.full((far > 0).sum(), max_length + 1)
        return np.append(start, beside), np.append(length, beyond), np.append(sizes, far[far > 0])

    def _close_values(self, records: NDArray[np.int64], max_length: int) -> tuple[int, int]:
        """Return the least and the largest value with len <= reach.

        len falls with the records up to t, and grows with those below t.
        """
        count = records.size
        everything = range(self.lower, self.upper + 1)
        none, every = np.array([0]), np.array([count])

        def low_enough(value: int) -> bool:
            upto = np.searchsorted(records, [value + self._wide], side="right")
            return bool(self._lengths(none, upto, count)[0] <= max_length)

        def too_high(value: int) -> bool:
            fewer = np.searchsorted(records, [value - self._wide], side="left")
            return bool(self._lengths(fewer, every, count)[0] > max_length)

        first = self.lower + bisect_left(everything, True, key=low_enough)
        return first, self.lower + bisect_left(everything, True, key=too_high) - 1


def _distinct(rising: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return sorted numbers without repetitions."""
    new = np.ones(rising.size, dtype=np.bool_)
    new[1:] = rising[1:] != rising[:-1]
    return rising[new]
