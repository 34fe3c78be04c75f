"""Reports of a cell of a hash function that the client draws."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.local.protocol import FrequencyProtocol
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number

_REPORTS_AT_ONCE = 1 << 13  # that are compared with one value, and stay in the cache
_MAX_CELLS = 256  # one byte of a report
_MAX_VALUES_32_BIT = 2**16  # values that 32-bit hash functions distinguish


@dataclass(frozen=True, kw_only=True)
class LocalHashing(FrequencyProtocol):
    """Report a random hash function, and the cell of the own value or another cell.

    Functions are ((a x + b) mod 2^w) / 2^(w/2), cut into `cells` runs: any two values are hashed independently. They
    are drawn by each person anew.

    Args:
        values, epsilon: as in `FrequencyProtocol`.
        cells: from 2 to 256; by default round(e^epsilon) + 1, which has the least variance for rare values (OLH).

    Guarantee: given the function, a cell has probability r / (r + cells - 1) or 1 / (r + cells - 1), for the likelihood
        ratio r.
    Source: Wang, Blocki, Li, Jha (2017); functions: Dietzfelbinger (1996), "Universal hashing and k-wise independent
        random variables via integer arithmetic without primes".

    >>> from deniable.local import LocalHashing
    >>> LocalHashing(values=1000, epsilon=1).width
    9
    """

    kind: ClassVar[str] = "hashing"

    cells: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        best = min(round(self.likelihood_ratio) + 1, _MAX_CELLS)
        read_fields(self, cells=whole_number("cells", self.cells or best, lower=2, upper=_MAX_CELLS))

    @property
    def p(self) -> Fraction:
        """Probability that a report has the cell of its sender's value."""
        return self.likelihood_ratio / (self.likelihood_ratio + self.cells - 1)

    @property
    def q(self) -> Fraction:
        """Probability that a report supports a given other value, about 1 / cells."""
        shares = [Fraction(int(length), 2**self._half) for length in np.diff(self._starts)]
        same = sum(share**2 for share in shares)
        return same * self.p + (1 - same) * (1 - self.p) / (self.cells - 1)

    @property
    def width(self) -> int:
        """Number of bytes of a report."""
        return self._half // 2 + 1

    @property
    def _half(self) -> int:
        """Half of the bits of a function's words, w / 2."""
        return 16 if self.size <= _MAX_VALUES_32_BIT else 32

    @property
    def _word(self) -> type[np.unsignedinteger]:
        """Type of a function's words."""
        return np.uint32 if self._half == 16 else np.uint64

    @property
    def _starts(self) -> Integers:
        """Beginnings of the runs, and the end of the last."""
        return np.array([-(-cell * 2**self._half // self.cells) for cell in range(self.cells + 1)])

    def _draw(self, indices: Integers, bits: Bits) -> NDArray[np.uint8]:
        """Draw a function, and report its cell of the value or another one."""
        parts = bits.words(len(indices) * self._half // 16).view(self._word).reshape(-1, 2)
        hashed = (parts[:, 0] * indices.astype(self._word) + parts[:, 1]) >> self._word(self._half)
        cells = np.searchsorted(self._starts[1:], hashed.astype(np.int64), side="right")
        lies = np.flatnonzero(bernoulli.sample(p=1 - self.p, size=indices.shape, bits=bits))
        cells[lies] = (cells[lies] + 1 + uniform.below(self.cells - 1, size=lies.size, bits=bits)) % self.cells
        reports = np.empty((len(indices), self.width), dtype=np.uint8)
        reports[:, :-1] = parts.astype(parts.dtype.newbyteorder("<"), copy=False).view(np.uint8)
        reports[:, -1] = cells
        return reports

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Return whether a client can have sent each report."""
        return np.asarray(reports[:, -1] < self.cells)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        """Count the reports whose function takes each value to the reported cell."""
        supports = np.zeros(self.size, dtype=np.int64)
        word = np.dtype(self._word).newbyteorder("<")
        begin = self._starts[:-1]
        length = np.diff(self._starts)
        for start in range(0, len(reports), _REPORTS_AT_ONCE):
            part = reports[start : start + _REPORTS_AT_ONCE]
            parts = np.ascontiguousarray(part[:, :-1]).view(word).astype(self._word)
            step = np.ascontiguousarray(parts[:, 0])
            cells = part[:, -1]
            offset = parts[:, 1] - (begin[cells].astype(self._word) << self._word(self._half))  # from the run's start
            limit = ((length[cells] << self._half) - 1).astype(self._word)
            for index in range(self.size):  # a x + b for x = 0, 1, ...
                supports[index] += np.count_nonzero(offset <= limit)
                offset += step
        return supports
