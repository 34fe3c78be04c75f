"""The rows that count when one unit has many."""

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.rows import labels


def bounded_rows(units: object, *, rows: int, present: NDArray[np.bool_], bits: Bits) -> NDArray[np.bool_]:
    """Return which rows count: at most `rows` of every unit, chosen evenly at random.

    Rows that are not present never count.

    Args:
        units: whose row it is, one a row; rows without an owner are left out. None: every row is a unit of its own.
        present: which rows have a value at all.

    Guarantee: the choice among the rows of one unit depends on no other unit, so adding or removing a unit adds or
        removes at most `rows` rows and leaves the law of all others as it was.
    Raises: InvalidParameterError if units has another length, or rows > 1 without units.
    """
    if units is None:
        if rows != 1:
            raise InvalidParameterError(f"rows={rows} needs units=..., the owner of each row")
        return present
    owners = labels(units, "units")
    if owners.shape != present.shape:
        raise InvalidParameterError("units must have one entry for each row of the values")
    held = np.flatnonzero(present & (owners >= 0))
    owners = owners[held]
    order = np.lexsort((bits.words(len(held)), owners))
    owners = owners[order]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    ranks = np.arange(len(held)) - np.repeat(starts, np.diff(starts, append=len(held)))
    kept = np.zeros(present.shape, dtype=np.bool_)
    kept[held[order[ranks < rows]]] = True
    return kept
