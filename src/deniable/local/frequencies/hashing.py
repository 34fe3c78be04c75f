"""Report a cell of a hash function that the client draws."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.local.protocol import FrequencyProtocol
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import whole_number

_BLOCK = 1 << 13  # reports that are compared with one value at once
_MOST_CELLS = 256
_SMALL = 2**16  # values that 32-bit hash functions tell apart


@dataclass(frozen=True, kw_only=True)
class LocalHashing(FrequencyProtocol):
    """Draw a hash function into few cells, and report it with the cell of the own value, or another cell.

    Functions are ((a x + b) mod 2^w) / 2^(w/2), cut into `cells` runs: any two values are hashed independently. They
    are drawn by each person anew.

    Args:
        cells: from 2 to 256; by default round(e^epsilon) + 1, which has the least variance for rare values (OLH).

    Guarantee: given the function, cells have probability odds / (odds + cells - 1) and 1 / (odds + cells - 1).
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
        usual = min(round(self.odds) + 1, _MOST_CELLS)
        object.__setattr__(self, "cells", whole_number("cells", self.cells or usual, lower=2, upper=_MOST_CELLS))

    @property
    def true(self) -> Fraction:
        return self.odds / (self.odds + self.cells - 1)

    @property
    def false(self) -> Fraction:
        """About 1 / cells; exactly, for runs that differ by one."""
        shares = [Fraction(int(length), 2**self._half) for length in np.diff(self._starts)]
        same = sum(share**2 for share in shares)
        return same * self.true + (1 - same) * (1 - self.true) / (self.cells - 1)

    @property
    def width(self) -> int:
        return self._half // 2 + 1

    @property
    def _half(self) -> int:
        """w / 2."""
        return 16 if self.size <= _SMALL else 32

    @property
    def _word(self) -> type[np.unsignedinteger]:
        return np.uint32 if self._half == 16 else np.uint64

    @property
    def _starts(self) -> Integers:
        """Where the runs begin, and the end of the last."""
        return np.array([-(-cell * 2**self._half // self.cells) for cell in range(self.cells + 1)])

    def _draw(self, places: Integers, bits: Bits) -> NDArray[np.uint8]:
        parts = bits.words(len(places) * self._half // 16).view(self._word).reshape(-1, 2)
        hashed = (parts[:, 0] * places.astype(self._word) + parts[:, 1]) >> self._word(self._half)
        cells = np.searchsorted(self._starts[1:], hashed.astype(np.int64), side="right")
        lies = np.flatnonzero(bernoulli.sample(p=1 - self.true, size=places.shape, bits=bits))
        cells[lies] = (cells[lies] + 1 + uniform.below(self.cells - 1, size=lies.size, bits=bits)) % self.cells
        reports = np.empty((len(places), self.width), dtype=np.uint8)
        reports[:, :-1] = parts.astype(parts.dtype.newbyteorder("<"), copy=False).view(np.uint8)
        reports[:, -1] = cells
        return reports

    def _sound(self, reports: NDArray[np.uint8]) -> NDArray[np.bool_]:
        return np.asarray(reports[:, -1] < self.cells)

    def _supports(self, reports: NDArray[np.uint8]) -> Integers:
        found, word = np.zeros(self.size, dtype=np.int64), np.dtype(self._word).newbyteorder("<")
        begin, length = self._starts[:-1], np.diff(self._starts)
        for start in range(0, len(reports), _BLOCK):
            part = reports[start : start + _BLOCK]
            parts = np.ascontiguousarray(part[:, :-1]).view(word).astype(self._word)
            step, cells = np.ascontiguousarray(parts[:, 0]), part[:, -1]
            at = parts[:, 1] - (begin[cells].astype(self._word) << self._word(self._half))  # from the run's start
            limit = ((length[cells] << self._half) - 1).astype(self._word)
            for place in range(self.size):
                found[place] += np.count_nonzero(at <= limit)
                at += step
        return found
