"""Rows clipped to a ball, as integers.

Guarantee: every integer row has l2 (or l1) norm at most `steps`, whatever the floats did before: its norm is checked in
integers, and a row that fails is 0. It is a function of the float row and public numbers alone, wherever the row
stands: all float work is element by element, in a fixed order, because sums and matrix products of numpy round
differently at the edges of their blocks. `deniable.privacy.sensitivity.vectors` has what follows for the sums.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats

CHUNK = 1 << 11
_ENTRIES = 1 << 23  # of a part of the rows
_SHRINK = 1 - 2.0**-40  # float rounding then never pushes a row out of the ball


def clipped(rows: Floats, *, radius: float, steps: int, l1: bool = False) -> NDArray[np.int64]:
    """Return rows clipped to norm `radius`, in units of radius / steps, rounded to 0.

    Args:
        rows: of shape (rows, columns); numbers of any type, which are read as float64.
        radius: the largest norm.
        steps: at most 2^30, so that squared norms are int64, added up in blocks of columns.
        l1: whether the norm is that of Manhattan instead of Euclid.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rows = doubles(rows)
        norms = sum(np.abs(rows).T, np.zeros(len(rows))) if l1 else np.sqrt(squared_norms(rows))
        scaled = rows * (_SHRINK * steps / np.maximum(norms, radius))[:, np.newaxis]
    scaled[np.isnan(scaled)] = 0.0  # would be -2^63, whose square wraps around to 0
    lattice_rows: NDArray[np.int64] = np.clip(np.trunc(scaled), -steps, steps).astype(np.int64)
    largest_norm = steps if l1 else steps**2
    reached = np.zeros(len(lattice_rows), dtype=np.int64)
    block = 2**62 // largest_norm - 1
    for start in range(0, lattice_rows.shape[1], block):  # what is above it stays there, and nothing wraps around
        part = lattice_rows[:, start : start + block]
        reached = np.minimum(reached + (np.abs(part) if l1 else part**2).sum(axis=1), largest_norm + 1)
    lattice_rows[reached > largest_norm] = 0
    return lattice_rows


def chunks(rows: Floats) -> Iterator[Floats]:
    """Yield consecutive parts of the rows that stay in the cache."""
    size = min(CHUNK, max(_ENTRIES // max(rows.shape[1], 1), 1))
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def doubles(rows: NDArray[Any]) -> Floats:
    """Return rows as float64.

    Narrower types round products by more than `clipped` allows, or overflow in a square.
    """
    return rows.astype(np.float64, copy=False)


def squared_norms(rows: Floats) -> Floats:
    """Return the squared norm of every row, added up column by column."""
    rows = doubles(rows)
    if 0 < len(rows) < rows.shape[1]:
        return np.cumsum(rows**2, axis=1)[:, -1]  # the same additions in the same order
    total = np.zeros(len(rows))
    for column in rows.T:
        total += column**2
    return total


def transformed(rows: Floats, transform: Floats) -> Floats:
    """Return rows @ transform, each entry by the same sequence of operations."""
    total = np.zeros(rows.shape)
    for column, line in zip(rows.T, transform, strict=True):
        total += column[:, np.newaxis] * line
    return total
