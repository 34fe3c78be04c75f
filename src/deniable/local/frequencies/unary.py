"""Reports of one bit for every value."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.local.codes import column_sums, last_bits, row_width, rows_of_coins
from deniable.local.protocol import FrequencyProtocol, coin_above, likelihood_ratio_below
from deniable.noise import bernoulli
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers

_PEOPLE_AT_ONCE = 1 << 14  # who are encoded: it bounds memory


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(FrequencyProtocol):
    """Report one bit per value; the bit of the own value is more likely to be 1.

    It is 1 with probability `p`, each other bit with probability `q`, independently.

    Args:
        values, epsilon: as in `FrequencyProtocol`.
        symmetric: whether a 1 is kept as often as a 0 (basic RAPPOR); else a 1 is kept half of the time, which has the
            least variance for rare values (OUE).

    Guarantee: two values differ in two bits, so the likelihood ratio is p (1 - q) / ((1 - p) q), at most e^epsilon.
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
    def p(self) -> Fraction:
        """Probability of a 1 for the own value."""
        return 1 - self.q if self.symmetric else Fraction(1, 2)

    @cached_property
    def q(self) -> Fraction:
        """Probability of a 1 for another value."""
        return coin_above(
            1 / (1 + (likelihood_ratio_below(self.epsilon / 2) if self.symmetric else self.likelihood_ratio))
        )

    @property
    def width(self) -> int:
        """Number of bytes of a report."""
        return row_width(self.size)

    def _draw(self, indices: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Draw a row of coins for each person, and replace the own value's."""
        reports = np.empty((len(indices), self.width), dtype=np.uint8)
        for start in range(0, len(indices), _PEOPLE_AT_ONCE):
            own = indices[start : start + _PEOPLE_AT_ONCE]
            rows = rows_of_coins(p=self.q, people=len(own), columns=self.size, bits=bits)
            kept = bernoulli.sample(p=self.p, size=own.shape, bits=bits).astype(np.uint8)
            shift = (own % 8).astype(np.uint8)
            row = np.arange(len(own))
            rows[row, own // 8] &= ~(np.uint8(1) << shift)
            rows[row, own // 8] |= kept << shift
            reports[start : start + _PEOPLE_AT_ONCE] = rows
        return reports

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether a client can have sent each report."""
        return np.asarray(reports[:, -1] <= last_bits(self.size))

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Return the number of ones of each value."""
        return column_sums(reports, self.size)
