"""Contributions of rows to one step: clamped, and limited for each unit.

Which rows of a unit count depends on that unit's own rows alone, in the order in which they came, so adding or removing
a unit changes nothing about any other.
"""

import sqlite3
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Integers
from deniable.rows import codes, indices_of, numbers, silence
from deniable.rows.entries import same, text
from deniable.stream.plan import StreamPlan

_MISSING = 2**62  # marks a value that is no number


class Arrivals(NamedTuple):
    """Secret columns of arriving rows.

    Args:
        values: numbers, for a sum; of a count, a row without a number does not count.
        keys: one a row, if the plan has keys.
        units: owners of rows, if the plan has a unit.
    """

    values: object
    keys: object
    units: object


def totals_of(plan: StreamPlan, columns: Arrivals, *, step: int, connection: sqlite3.Connection) -> NDArray[np.object_]:
    """Return what rows add to the open step, in grid steps, one for each declared key.

    Args:
        plan: of the stream.
        columns: of the rows.
        step: that is open.
        connection: in a transaction, which keeps what each unit has used.

    Raises: InvalidParameterError if a column is missing or too many, or their lengths differ.
    """
    given = columns._asdict()
    needed = {"values": plan.bounds is not None, "keys": plan.keys is not None, "units": plan.unit is not None}
    for name, column in given.items():
        if (column is None) == needed[name] and not (name == "values" and column is not None):
            verb = "needs" if needed[name] else "takes no"
            raise InvalidParameterError(f"this stream {verb} {name}, one entry a row")
    with silence():
        return _totals(plan, columns, step, connection)


def _totals(plan: StreamPlan, columns: Arrivals, step: int, connection: sqlite3.Connection) -> NDArray[np.object_]:
    amounts = _amounts(plan, columns.values)
    cells = None if columns.keys is None else indices_of(columns.keys, plan.keys or ())
    owners, names = (None, []) if columns.units is None else codes(columns.units, "units")
    lengths = {len(column) for column in (amounts, cells, owners) if column is not None}
    if len(lengths) != 1:
        raise InvalidParameterError("values, keys and units must be given with one entry for each row")
    (rows,) = lengths
    size = plan.uses.dimensions
    counted = np.ones(rows, dtype=np.bool_)
    if amounts is not None:
        counted &= amounts != _MISSING
    if cells is not None:
        counted &= cells < size
    if owners is not None:
        counted &= owners >= 0
        counted[counted] = _allowed(plan, step, owners[counted], names, connection)
    sums = np.zeros(size, dtype=np.int64)
    index = np.zeros(rows, dtype=np.int64) if cells is None else cells
    np.add.at(sums, index[counted], 1 if plan.bounds is None or amounts is None else amounts[counted])
    return sums.astype(object) * (plan.size if plan.bounds is None else 1)


def _amounts(plan: StreamPlan, values: object) -> Integers | None:
    """Return clamped values in grid steps; of a count, 1; _MISSING for no number."""
    if values is None:
        return None
    column = numbers(values)
    missing = np.isnan(column)
    if plan.bounds is None:
        return np.where(missing, _MISSING, 1)
    steps = np.rint(np.clip(np.where(missing, 0.0, column), *plan.bounds) / plan.grid)
    return np.where(missing, _MISSING, np.clip(steps, -plan.size, plan.size).astype(np.int64))


def _allowed(
    plan: StreamPlan, step: int, owners: Integers, names: list[Any], connection: sqlite3.Connection
) -> NDArray[np.bool_]:
    """Return which rows count, and note what their units have used.

    They are the first rows of each unit, in steps that it may still use.
    """
    texts = ["" if name is None else f"{same(name)[0].__name__}:{text(name)}" for name in names]
    units, unit_of_name = np.unique(np.array(texts, dtype=object), return_inverse=True)  # 1, 1.0, True are one unit
    unit_of_row = unit_of_name.astype(np.int64)[owners]
    used, latest, taken = _usage(units.tolist(), connection)
    open_now = (used > 0) & (latest == step)
    fresh = (used == 0) | ((used < plan.steps_per_unit) & (step - latest >= plan.separation) & ~open_now)
    room = np.where(open_now, plan.rows - taken, np.where(fresh, plan.rows, 0))
    order = np.argsort(unit_of_row, kind="stable")
    starts = np.searchsorted(unit_of_row[order], np.arange(len(units)))
    ranks = np.empty(len(owners), dtype=np.int64)
    ranks[order] = np.arange(len(owners)) - starts[unit_of_row[order]]
    kept = ranks < room[unit_of_row]
    added = np.bincount(unit_of_row[kept], minlength=len(units))
    steps = used + ~open_now
    rows = added + taken * open_now
    changed = np.flatnonzero(added).tolist()
    connection.executemany(
        "INSERT OR REPLACE INTO units VALUES (?, ?, ?, ?)",
        [(units[unit], int(steps[unit]), step, int(rows[unit])) for unit in changed],
    )
    return kept


def _usage(units: list[str], connection: sqlite3.Connection) -> NDArray[np.int64]:
    """Return used steps, the latest one, and rows in that; shape (3, units)."""
    connection.execute("CREATE TEMP TABLE IF NOT EXISTS arriving (number INTEGER PRIMARY KEY, unit TEXT NOT NULL)")
    connection.execute("DELETE FROM arriving")
    connection.executemany("INSERT INTO arriving VALUES (?, ?)", enumerate(units))
    query = (
        "SELECT ifnull(steps, 0), ifnull(latest, 0), ifnull(rows, 0) FROM arriving LEFT JOIN units "
        "ON arriving.unit = units.unit ORDER BY number"
    )
    return np.array(connection.execute(query).fetchall(), dtype=np.int64).reshape(-1, 3).T
