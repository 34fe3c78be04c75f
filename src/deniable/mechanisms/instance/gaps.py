"""Inverse sensitivity of order statistics, on grids of any size: a gap between records, then a value in it."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.instance.base import Answer, clamped_records
from deniable.mechanisms.instance.inverse_sensitivity import InverseSensitivity
from deniable.noise import race, races, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.privacy import Relation


@dataclass(frozen=True, kw_only=True)
class InverseByGaps(InverseSensitivity):
    """Inverse sensitivity of an order statistic, whose exact input is the records.

    len is constant between records, so a gap is chosen by an exact race, with its length as weight, and then a value in
    it.
    """

    relation: ClassVar[Relation]  # for which it is proved

    @property
    def _proved(self) -> frozenset[Relation]:
        return frozenset({self.relation})

    @abstractmethod
    def _lengths(self, fewer: NDArray[np.int64], upto: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """len of values with that many records below them, and up to them, of `count` in all."""

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Answer:
        """One value of {lower, ..., upper}."""
        start, length, weight = self._gaps(exact)
        gap = race.exponential_mechanism(-length, rate=self.rate, weights=weight, bits=bits)
        inside = int(uniform.below(int(weight[gap]), bits=bits))
        return Answer(int(start[gap]) + inside, bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        start, length, weight = self._gaps(exact)
        shape = (runs, start.size)
        scores, weights = np.broadcast_to(-length, shape), np.broadcast_to(weight, shape)
        gap = races.exponential_mechanism(scores, rate=self.rate, weights=weights, bits=bits)
        return start[gap] + uniform.sample(weight[gap], bits=bits)

    def _gaps(self, exact: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Runs of values with equal len: where they start, their len, and how many values they hold.

        Smoothing counts the records below t - smoothing, and up to t + smoothing. The one number grows after a record,
        the other one at a record.
        """
        records = clamped_records(exact, self.lower, self.upper, relation=self.relation)
        wide = min(self.smoothing, self.upper - self.lower)
        turns = np.sort(np.concatenate([[self.lower], records + (wide + 1), records - wide]), kind="stable")
        turns = turns[(turns >= self.lower) & (turns <= self.upper)]
        start = turns[np.diff(turns, prepend=self.lower - 1) > 0]
        fewer = np.searchsorted(records, start - wide, side="left")
        upto = np.searchsorted(records, start + wide, side="right")
        return start, self._lengths(fewer, upto, records.size), np.diff(start, append=self.upper + 1)
