"""Syntactic protections: Mondrian, suppression, and suppressed or rounded counts.

None of them is checked here: measure the tables that they return.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from deniable.attacks.anonymity.measures import read_classes
from deniable.attacks.frames import CodedColumn, Codes, Names, as_frame, number, read_columns, read_names
from deniable.attacks.numbers import Floats, whole
from deniable.errors import InvalidParameterError


def generalise(frame: Any, *, quasi: Names, k: int) -> Any:
    """Make a table k-anonymous by Mondrian.

    The people are cut in two by one quasi-identifier, again and again. Each part is cut where its widest
    quasi-identifier (in ranks, over those of the table) leaves the most even halves, while both keep k people; people
    with the same value stay together. Quasi-identifiers then say what their part holds: "31 to 38", "care, office".

    Args:
        frame: rows of pandas, Polars or Arrow, one for each person.
        quasi: names of the quasi-identifiers; those without an order are cut by the order of their names.
        k: smallest number of people in a part.

    Returns: a frame of the same kind, rows in their order, with the quasi-identifiers as text.
    Raises: InvalidParameterError if a column is unknown, or there are fewer than k rows.
    Source: LeFevre, DeWitt, Ramakrishnan (2006), "Mondrian multidimensional k-anonymity".

    >>> import pyarrow as pa
    >>> generalise(pa.table({"age": [30, 31, 40, 44, 45]}), quasi="age", k=2)["age"].to_pylist()
    ['30 to 31', '30 to 31', '40 to 45', '40 to 45', '40 to 45']
    """
    wrapped = as_frame(frame)
    columns = read_columns(quasi, wrapped, role="quasi")
    rows = len(columns[0].codes)
    whole("k", k, upper=rows)
    part = _partition(columns, k)
    backend = wrapped.implementation
    texts = [nw.new_series(column.name, _label(column, part), nw.String, backend=backend) for column in columns]
    return wrapped.with_columns(*texts).to_native()


def suppress(frame: Any, *, quasi: Names, k: int) -> Any:
    """Leave out the rows whose class has fewer than k rows.

    With a sensitive attribute among `quasi`, small cells of the table of counts are left out.

    Args:
        frame, quasi: as for `generalise`.
        k: smallest number of people in a class that stays.

    Returns: a frame of the same kind; it may have no rows.
    Raises: InvalidParameterError if a column is unknown.

    >>> import pyarrow as pa
    >>> suppress(pa.table({"age": [30, 30, 40]}), quasi="age", k=2).to_pydict()
    {'age': [30, 30]}
    """
    classes = read_classes(frame, quasi)
    return as_frame(frame).filter((np.bincount(classes) >= whole("k", k))[classes].tolist()).to_native()


def tabulate(frame: Any, *, by: Names, count: str = "count", suppress_below: int = 0, round_to: int = 1) -> Any:
    """Count the rows of each cell, as statistical offices do.

    Cells of 0 have no row.

    Args:
        frame: of pandas, Polars or Arrow.
        by: columns whose values form the cells; a missing value is a value.
        count: name of the column of counts.
        suppress_below: smaller counts are left out, so that their cells look empty.
        round_to: counts are rounded to its multiples, halves up.

    Raises: InvalidParameterError if a column is unknown or called like the counts, or `round_to` is below 1.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [30, 40, 30, 40, 30, 50]})
    >>> tabulate(people, by="age", suppress_below=2).to_pydict()
    {'age': [30, 40], 'count': [3, 2]}
    >>> tabulate(people, by="age", round_to=3).to_pydict()
    {'age': [30, 40], 'count': [3, 3]}
    """
    names = read_names(by, role="by")
    whole("suppress_below", suppress_below, lower=0)
    whole("round_to", round_to)
    if not isinstance(count, str) or count in names:
        raise InvalidParameterError(f"count must be a name that no column of by has, got {count!r}")
    wrapped = as_frame(frame)
    cell = number(column.codes for column in read_columns(names, wrapped, role="by"))
    _, first, counts = np.unique(cell, return_index=True, return_counts=True)
    shown = np.where(counts < suppress_below, 0, (2 * counts + round_to) // (2 * round_to) * round_to)
    cells = wrapped.select(*names)[first[shown > 0].tolist()]
    series = nw.new_series(count, shown[shown > 0].tolist(), nw.Int64, backend=cells.implementation)
    return cells.with_columns(series).to_native()


def read_counts(table: Any, count: str) -> Floats:
    """Return the counts of a table's cells, shape (cells,); a missing count is 0.

    Raises: InvalidParameterError if there is no such column, or it does not hold numbers.
    """
    (column,) = read_columns(count, as_frame(table, may_be_empty=True), role="count")
    if column.kind != "number" and len(column.values) > column.has_missing:
        raise InvalidParameterError(f"the column {count} must hold counts")
    return np.nan_to_num(column.numbers)


def _partition(columns: Sequence[CodedColumn], k: int) -> Codes:
    """Return the part of each row.

    All parts are cut at once, level by level, so the work is one sort for each level and column.
    """
    rows = len(columns[0].codes)
    part = np.zeros(rows, dtype=np.int64)
    final = np.zeros(rows, dtype=np.int64)
    done = 0
    active = np.arange(rows)
    while len(active):
        width = np.empty((len(columns), part.max() + 1))
        side = np.empty((len(columns), len(active)), dtype=bool)
        for index, column in enumerate(columns):
            width[index], side[index] = _cut(part, column.codes[active], len(column.values), k)
        widest = width.argmax(axis=0)
        splits = (width.max(axis=0) > 0)[part]
        final[active[~splits]] = done + part[~splits]
        done += len(widest)
        half = part * 2 + side[widest[part], np.arange(len(part))]
        part = np.unique(half[splits], return_inverse=True)[1]
        active = active[splits]
    return number([final])


def _cut(part: Codes, codes: Codes, distinct: int, k: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the width of each part by one column, and the rows above its cut.

    The width is 0 where the part cannot be cut.
    """
    order = np.lexsort((codes, part))
    sizes = np.bincount(part)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    code = codes[order]
    owner = part[order]
    position = np.arange(len(order))
    width = (code[ends - 1] - code[starts]) / max(distinct - 1, 1)
    # people in the smaller half of a cut before this position
    smaller = np.minimum(position - starts[owner], ends[owner] - position)
    smaller[np.diff(code, prepend=code[:1]) == 0] = 0
    best = np.maximum.reduceat(smaller, starts)
    cuts = np.flatnonzero(smaller == best[owner])
    cut = cuts[np.unique(owner[cuts], return_index=True)[1]]
    above = np.empty(len(order), dtype=bool)
    above[order] = position >= cut[owner]
    return np.where(best >= k, width, 0.0), above


def _label(column: CodedColumn, part: Codes) -> list[str]:
    """Return a text for each row: the values in its part."""
    keys = np.unique(part * len(column.values) + column.codes)
    owner, codes = np.divmod(keys, len(column.values))
    held = np.split(codes, np.flatnonzero(np.diff(owner)) + 1)
    labels = np.array([_say(column, codes_of_part.tolist()) for codes_of_part in held], dtype=object)
    return labels[part].tolist()  # type: ignore[no-any-return]


def _say(column: CodedColumn, codes: list[int]) -> str:
    """Return values in words; the range of ordered ones."""
    missing = codes[0] == 0 and column.has_missing
    known = [str(column.values[code]) for code in codes[missing:]]
    if column.ordered and len(known) > 1:
        known = [f"{known[0]} to {known[-1]}"]
    return ", ".join(known + ["missing"] * missing)
