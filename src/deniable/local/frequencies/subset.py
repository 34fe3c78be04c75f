"""Reports of a set of values that mostly holds the own one."""

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

_PEOPLE_AT_ONCE = 1 << 12  # who are encoded: it bounds memory


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(FrequencyProtocol):
    """Report a set of w values, uniform among those that hold the own value or not.

    w is about k / (e^epsilon + 1). It has the least variance of all protocols here, and the longest reports.

    Args:
        values, epsilon: as in `FrequencyProtocol`.

    Guarantee: a set has probability r / C or 1 / C, with C = r binom(k - 1, w - 1) + binom(k - 1, w), for the
        likelihood ratio r.
    Source: Ye, Barg (2018), arXiv:1702.00610; Wang et al. (2016), arXiv:1607.08025.

    >>> from deniable.local import SubsetSelection
    >>> SubsetSelection(values=10, epsilon=1).chosen
    3
    """

    kind: ClassVar[str] = "subset"

    @property
    def chosen(self) -> int:
        """Number of values in a set, w."""
        return max(1, round(self.size / (self.likelihood_ratio + 1)))

    @property
    def p(self) -> Fraction:
        """Probability that a set holds the value of its sender."""
        held = self.chosen * self.likelihood_ratio
        return held / (held + self.size - self.chosen)

    @property
    def q(self) -> Fraction:
        """Probability that a set holds a given other value."""
        rest = Fraction(1, self.size - 1)
        return rest * ((self.chosen - 1) * self.p + self.chosen * (1 - self.p))

    @property
    def width(self) -> int:
        """Number of bytes of a report."""
        return row_width(self.size)

    def _draw(self, indices: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Draw sets, as bits of values."""
        starts = range(0, max(len(indices), 1), _PEOPLE_AT_ONCE)
        return np.concatenate([self._sets(indices[start : start + _PEOPLE_AT_ONCE], bits) for start in starts])

    def _sets(self, own: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Draw a set of w values, with or without the own.

        Floyd's algorithm, for all people at once.
        """
        held = bernoulli.sample(p=self.p, size=own.shape, bits=bits)
        chosen = np.zeros((len(own), self.size - 1), dtype=bool)  # of the others
        row = np.arange(len(own))
        for last in range(self.size - 1 - self.chosen, self.size - 1):
            drawing = row if last >= self.size - self.chosen else row[~held]  # one value less where the own is held
            drawn = uniform.below(last + 1, size=drawing.size, bits=bits)
            chosen[drawing, np.where(chosen[drawing, drawn], last, drawn)] = True
        sets = np.zeros((len(own), self.size), dtype=bool)
        others = np.arange(self.size - 1)
        sets[row[:, np.newaxis], others + (others >= own[:, np.newaxis])] = chosen
        sets[row, own] = held
        return np.packbits(sets, axis=1, bitorder="little")

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether a client can have sent each report."""
        full = np.bitwise_count(reports).sum(axis=1, dtype=np.int64) == self.chosen
        return np.asarray(full & (reports[:, -1] <= last_bits(self.size)))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the number of sets that hold each value."""
        return column_sums(reports, self.size)
