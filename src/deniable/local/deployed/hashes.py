"""Public hash functions of values of any kind, and sums of bit rows by group."""

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from deniable.local.codes import last_bits, row_width
from deniable.noise import bernoulli
from deniable.noise.bits import Bits
from deniable.rows import Container, codes

Integers = NDArray[np.int64]
Bytes = NDArray[np.uint8]

PRIME = 2**31 - 1
_BLOCK = 1 << 12


def keys_of(values: Container) -> Integers:
    """A number below 2^31 - 1 for each value, from its digest; two values share one with probability 2^-31."""
    found, known = codes(values)
    names = [f"{type(form).__name__}:{form!r}" for form in [*known, None]]
    keys = [int.from_bytes(hashlib.sha256(name.encode(errors="replace")).digest()[:8], "little") for name in names]
    return np.array([key % PRIME for key in keys], dtype=np.int64)[found]


@dataclass(frozen=True)
class HashFamily:
    """Functions of three-wise independent cells: polynomials of degree 2 over the field of 2^31 - 1 elements.

    Client and server have the same coefficients, which follow from these two numbers and from nothing that can be
    drawn anew.

    Source: Wegman, Carter (1981), "New hash functions and their use in authentication and set equality".
    """

    functions: int
    cells: int

    @cached_property
    def _coefficients(self) -> Integers:
        drawn = hashlib.shake_256(f"deniable {self.functions} {self.cells}".encode()).digest(24 * self.functions)
        return (np.frombuffer(drawn, dtype="<u8") % PRIME).astype(np.int64).reshape(3, self.functions)

    def cells_of(self, functions: Integers, keys: Integers) -> Integers:
        """The cell of each key under each function; arguments broadcast."""
        two, one, zero = self._coefficients[:, functions]
        return np.asarray(((two * keys + one) % PRIME * keys + zero) % PRIME % self.cells)


def sums_by_group(groups: Integers, rows: Bytes, *, count: int, columns: int) -> Integers:
    """How many rows of bits of each group have each bit, of shape (count, columns)."""
    found, order = np.zeros((count, columns), dtype=np.int64), np.argsort(groups, kind="stable")
    for start in range(0, len(order), _BLOCK):
        some = order[start : start + _BLOCK]
        own = groups[some]
        first = np.flatnonzero(np.diff(own, prepend=-1))
        bits = np.unpackbits(rows[some], axis=1, count=columns, bitorder="little")
        found[own[first]] += np.add.reduceat(bits, first, axis=0, dtype=np.int64)
    return found


def rows_of_coins(*, p: object, people: int, columns: int, bits: Bits) -> Bytes:
    """Rows of coins, one for each column, packed as reports have them; p is a multiple of 2^-64."""
    words = -(-columns // 64)
    coins = bernoulli.packed(p=p, words=people * words, bits=bits).reshape(people, words)  # type: ignore[arg-type]
    rows = np.ascontiguousarray(coins.astype("<u8", copy=False)).view(np.uint8)[:, : row_width(columns)].copy()
    rows[:, -1] &= last_bits(columns)
    return rows
