"""Bytes of reports: integers of few bytes, and bits by the row, added up column by column."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.noise import bernoulli
from deniable.noise.bits import Bits

Bytes = NDArray[np.uint8]

_BLOCK = 1 << 12  # rows that are added up inside the cache


def to_bytes(codes: NDArray[np.int64], width: int) -> Bytes:
    """Each integer as `width` bytes, the least first."""
    return codes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].copy()


def of_bytes(reports: Bytes) -> NDArray[np.int64]:
    """The inverse of `to_bytes`."""
    whole = np.zeros((len(reports), 8), dtype=np.uint8)
    whole[:, : reports.shape[1]] = reports
    return whole.view("<u8").ravel().astype(np.int64)


def row_width(columns: int) -> int:
    """Bytes that a row of bits takes."""
    return -(-columns // 8)


def last_bits(columns: int) -> int:
    """The bits of the last byte that belong to a column."""
    return (1 << (columns - 1) % 8 + 1) - 1


def column_sums(reports: Bytes, columns: int) -> NDArray[np.int64]:
    """How many rows have each bit: carry-save adders over 64 columns at once, about one addition a row and word."""
    found = np.zeros(columns, dtype=np.int64)
    words = -(-columns // 64)
    for start in range(0, len(reports), _BLOCK):
        part = reports[start : start + _BLOCK]
        rows = np.zeros((len(part), 8 * words), dtype=np.uint8)
        rows[:, : part.shape[1]] = part
        planes, weight = rows.view(np.uint64), 1
        while len(planes):
            carried = []
            while len(planes) > 2:
                third = len(planes) // 3
                one, two, three = planes[:third], planes[third : 2 * third], planes[2 * third : 3 * third]
                either = one ^ two
                carried.append((one & two) | (either & three))
                planes = np.concatenate([either ^ three, planes[3 * third :]])
            unpacked = np.unpackbits(planes.view(np.uint8), axis=1, count=columns, bitorder="little")
            found += weight * unpacked.sum(axis=0, dtype=np.int64)
            planes, weight = np.concatenate(carried) if carried else planes[:0], 2 * weight
    return found


def rows_of_coins(*, p: Fraction, people: int, columns: int, bits: Bits) -> Bytes:
    """Rows of coins, one for each column, packed as reports have them; p is a multiple of 2^-64."""
    words = -(-columns // 64)
    coins = bernoulli.packed(p=p, words=people * words, bits=bits).reshape(people, words).astype("<u8", copy=False)
    rows = np.ascontiguousarray(coins).view(np.uint8)[:, : row_width(columns)].copy()
    rows[:, -1] &= last_bits(columns)
    return rows
