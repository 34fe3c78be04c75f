"""Values as integer shares of their bounds: 0 at the lower end, 2^32 at the upper.

Guarantee: the share of a value depends on that value and on public ends alone, and lies in [0, 2^32] whatever float
the value is. Sums of shares are exact: a block adds integers below 2^53 in float64, and blocks are added as Python
ints. So one row moves a sum by at most 2^32, and nothing depends on the order of rows.
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction

import numpy as np

from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import Relation
from deniable.statistics.units import bounded_rows

UNIT = 2**32
"""Steps between the ends; the largest share."""

STEP = Fraction(1, UNIT)
"""One step, as a share."""

_ROWS_PER_BLOCK = 2**15  # rows at once, small enough for the cache; times UNIT it is below 2^53


def rows_that_count(table: Floats, units: object, *, rows: int, relation: Relation, bits: Bits) -> Floats:
    """Return the rows of a column or table, with at most `rows` of every unit.

    They are drawn at random where a unit has more.

    Under add/remove a row without all its numbers takes no place of a unit.
    """
    if units is None:
        return table
    present = np.full(len(table), relation is Relation.REPLACE)
    present |= ~np.isnan(table.T).any(axis=0) if table.ndim == 2 else ~np.isnan(table)
    return table[bounded_rows(units, rows=rows, present=present, bits=bits)]


def shares(table: Floats, ends: Sequence[tuple[float, float]], *, relation: Relation) -> Iterator[Floats]:
    """Yield blocks of rows as integers in float64, of shape (columns, rows).

    Each is overwritten by the next.

    Args:
        table: of shape (rows, columns), or one column. Under add/remove, rows with NaN are left out; under replace,
            NaN is the middle between the ends.
        ends: lower < upper for each column, at a finite distance.
    """
    columns = np.atleast_2d(table.T)
    lower, upper = (np.array(end, dtype=np.float64)[:, np.newaxis] for end in zip(*ends, strict=True))
    width = upper - lower
    space = np.empty((len(columns), _ROWS_PER_BLOCK))
    for start in range(0, columns.shape[1], _ROWS_PER_BLOCK):
        values = columns[:, start : start + _ROWS_PER_BLOCK]
        block = space[:, : values.shape[1]]
        np.clip(values, lower, upper, out=block)
        with np.errstate(invalid="ignore"):  # a signalling NaN
            block -= lower
        block /= width
        block *= UNIT
        np.rint(block, out=block)
        if np.isnan(block.sum()):
            missing = np.isnan(block)
            if relation is Relation.ADD_REMOVE:
                block = block[:, ~missing.any(axis=0)]
            else:
                block[missing] = UNIT / 2
        yield block


def bernstein(block: Floats) -> Floats:
    """Return what each row adds to each cell of a table: integers >= 0 with sum UNIT.

    Of shape (3 for each column, rows).

    With u the share of one column, its weights are (1 - u)^2, 2 u (1 - u) and u^2, which sum to 1; several columns
    multiply theirs. All but the middle weight are rounded down, and the middle one is the rest.
    """
    (rows,) = block.shape[1:]
    cells = np.full((1, rows), float(UNIT))
    for share in block / UNIT:
        other = 1 - share
        weights = np.stack([other * other, 2 * share * other, share * share])
        cells = (cells[:, np.newaxis] * weights).reshape(3 * len(cells), rows)
    np.floor(cells, out=cells)
    middle = len(cells) // 2
    cells[middle] = 0
    cells[middle] = UNIT - cells.sum(axis=0)
    return cells
