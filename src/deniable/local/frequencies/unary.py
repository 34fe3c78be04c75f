"""Report a bit for every value."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.local.codes import column_sums, last_bits, row_width, rows_of_coins
from deniable.local.protocol import FrequencyProtocol, fine_above, odds_below
from deniable.noise import bernoulli
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers

_BLOCK = 1 << 14  # people who are encoded at once


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(FrequencyProtocol):
    """Report a row of bits, of which the own value's is likelier to be 1.

    The bit of the own value is 1 with probability `true`, each other one with probability `false`; all coins differ.

    Args:
        symmetric: whether a 1 is kept as often as a 0 (basic RAPPOR); else a 1 is kept half of the time, which has the
            least variance for rare values (OUE).

    Guarantee: two values differ in two bits, so the ratio is true (1 - false) / ((1 - true) false), at most odds.
    Source: Wang, Blocki, Li, Jha (2017), "Locally differentially private protocols for frequency estimation";
        Erlingsson, Pihur, Korolova (2014), arXiv:1407.6981.

    >>> from deniable.local import UnaryEncoding
    >>> protocol = UnaryEncoding(values=100, epsilon=1)
    >>> protocol.encode([3, 99]).shape
    (2, 13)
    """

    kind: ClassVar[str] = "unary"

    symmetric: bool = False

    @property
    def true(self) -> Fraction:
        return 1 - self.false if self.symmetric else Fraction(1, 2)

    @cached_property
    def false(self) -> Fraction:
        return fine_above(1 / (1 + (odds_below(self.epsilon / 2) if self.symmetric else self.odds)))

    @property
    def width(self) -> int:
        return row_width(self.size)

    def _draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        reports = np.empty((len(places), self.width), dtype=np.uint8)
        for start in range(0, len(places), _BLOCK):
            own = places[start : start + _BLOCK]
            rows = rows_of_coins(p=self.false, people=len(own), columns=self.size, bits=bits)
            kept = bernoulli.sample(p=self.true, size=own.shape, bits=bits).astype(np.uint8)
            shift, row = (own % 8).astype(np.uint8), np.arange(len(own))
            rows[row, own // 8] &= ~(np.uint8(1) << shift)
            rows[row, own // 8] |= kept << shift
            reports[start : start + _BLOCK] = rows
        return reports

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray(reports[:, -1] <= last_bits(self.size))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        return column_sums(reports, self.size)
