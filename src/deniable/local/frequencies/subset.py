"""Report a set of values that holds the own one, mostly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.local.codes import column_sums, last_bits, row_width
from deniable.local.protocol import FrequencyProtocol
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers

_BLOCK = 1 << 12  # people who are encoded at once


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(FrequencyProtocol):
    """Report a set of w values, evenly among those that hold the own value, or among those that do not.

    w is about k / (e^epsilon + 1). It has the least variance of all protocols here, and the longest reports.

    Guarantee: a set has probability odds / C or 1 / C, with C = odds C(k - 1, w - 1) + C(k - 1, w).
    Source: Ye, Barg (2018), arXiv:1702.00610; Wang et al. (2016), arXiv:1607.08025.

    >>> from deniable.local import SubsetSelection
    >>> SubsetSelection(values=10, epsilon=1).chosen
    3
    """

    kind: ClassVar[str] = "subset"

    @property
    def chosen(self) -> int:
        """w."""
        return max(1, round(self.size / (self.odds + 1)))

    @property
    def true(self) -> Fraction:
        held = self.chosen * self.odds
        return held / (held + self.size - self.chosen)

    @property
    def false(self) -> Fraction:
        rest = Fraction(1, self.size - 1)
        return rest * ((self.chosen - 1) * self.true + self.chosen * (1 - self.true))

    @property
    def width(self) -> int:
        return row_width(self.size)

    def _draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        return np.concatenate(
            [self._sets(places[start : start + _BLOCK], bits) for start in range(0, max(len(places), 1), _BLOCK)]
        )

    def _sets(self, own: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Floyd's way to draw a set of w - held others, for all people at once."""
        held = bernoulli.sample(p=self.true, size=own.shape, bits=bits)
        chosen = np.zeros((len(own), self.size - 1), dtype=bool)  # of the others
        row = np.arange(len(own))
        for last in range(self.size - 1 - self.chosen, self.size - 1):
            there = row if last >= self.size - self.chosen else row[~held]  # one turn less where the own is held
            drawn = uniform.below(last + 1, size=there.size, bits=bits)
            chosen[there, np.where(chosen[there, drawn], last, drawn)] = True
        sets = np.zeros((len(own), self.size), dtype=bool)
        others = np.arange(self.size - 1)
        sets[row[:, np.newaxis], others + (others >= own[:, np.newaxis])] = chosen
        sets[row, own] = held
        return np.packbits(sets, axis=1, bitorder="little")

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        full = np.bitwise_count(reports).sum(axis=1, dtype=np.int64) == self.chosen
        return np.asarray(full & (reports[:, -1] <= last_bits(self.size)))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        return column_sums(reports, self.size)
