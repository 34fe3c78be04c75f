"""Bytes of reports: integers of few bytes, and rows of bits with sums by column."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.noise import bernoulli
from deniable.noise.bits import Bits

Bytes = NDArray[np.uint8]

_ROWS_AT_ONCE = 1 << 12  # that are added up inside the cache


def to_bytes(codes: NDArray[np.int64], width: int) -> Bytes:
    """Write each integer as `width` bytes, the low one first."""
    return codes.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width].copy()


def of_bytes(reports: Bytes) -> NDArray[np.int64]:
    """Read the integers that `to_bytes` wrote."""
    whole = np.zeros((len(reports), 8), dtype=np.uint8)
    whole[:, : reports.shape[1]] = reports
    return whole.view("<u8").ravel().astype(np.int64)


def row_width(columns: int) -> int:
    """Return the bytes that a row of bits takes."""
    return -(-columns // 8)


def last_bits(columns: int) -> int:
    """Return the mask of the bits of the last byte that belong to a column."""
    return (1 << (columns - 1) % 8 + 1) - 1


def column_sums(reports: Bytes, columns: int) -> NDArray[np.int64]:
    """Count the rows that have each bit, shape (columns,).

    Carry-save adders over 64 columns at once take about one addition a row and word.
    """
    counts = np.zeros(columns, dtype=np.int64)
    words = -(-columns // 64)
    for start in range(0, len(reports), _ROWS_AT_ONCE):
        part = reports[start : start + _ROWS_AT_ONCE]
        rows = np.zeros((len(part), 8 * words), dtype=np.uint8)
        rows[:, : part.shape[1]] = part
        planes = rows.view(np.uint64)
        weight = 1
        while len(planes):
            carried = []
            while len(planes) > 2:
                third = len(planes) // 3
                one = planes[:third]
                two = planes[third : 2 * third]
                three = planes[2 * third : 3 * third]
                either = one ^ two
                carried.append((one & two) | (either & three))
                planes = np.concatenate([either ^ three, planes[3 * third :]])
            unpacked = np.unpackbits(planes.view(np.uint8), axis=1, count=columns, bitorder="little")
            counts += weight * unpacked.sum(axis=0, dtype=np.int64)
            planes = np.concatenate(carried) if carried else planes[:0]
            weight *= 2
    return counts


def rows_of_coins(*, p: Fraction, people: int, columns: int, bits: Bits) -> Bytes:
    """Draw rows of coins, one for each column, packed as in reports.

    p is a multiple of 2^-64.
    """
    words = -(-columns // 64)
    coins = bernoulli.packed(p=p, words=people * words, bits=bits).reshape(people, words).astype("<u8", copy=False)
    rows = np.ascontiguousarray(coins).view(np.uint8)[:, : row_width(columns)].copy()
    rows[:, -1] &= last_bits(columns)
    return rows
