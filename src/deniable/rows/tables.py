"""Tables: frames, arrays of two dimensions and lists of rows.

Each row of a list is read by itself.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.rows.columns import TypedColumn, array_of, column, described, of_array, without
from deniable.rows.entries import Objects, by_itself, each, objects

Read = Callable[[TypedColumn, str], tuple[NDArray[Any], ...]]


def grid(values: object, what: str, columns: int, read: Read) -> tuple[list[NDArray[Any]], tuple[str, ...]]:
    """Return the results of `read` for all entries, and the names of the columns.

    Each array has shape (rows, columns).

    Args:
        columns: how many a row of a list must have; all its entries are missing otherwise. One alone needs no list.

    Raises: InvalidParameterError if it is not a table, or two columns have one name.
    """
    frame = frame_of(values, what)
    if frame is not None:
        titles = [f"column {name!r}" for name in frame.columns]
        given = [
            (column(part.to_native(), title), title) for part, title in zip(frame.iter_columns(), titles, strict=True)
        ]
        parts = [read(part, title) for part, title in given]
        if not parts:
            nothing = read(TypedColumn(np.zeros(len(frame)), "float64"), what)
            return [part[:, np.newaxis][:, :0] for part in nothing], ()
        return [np.column_stack(part) for part in zip(*parts, strict=True)], tuple(map(str, frame.columns))
    array = None if isinstance(values, list | tuple) else array_of(values)
    if array is not None and array.ndim == 2:
        results = read(of_array(array.reshape(-1), what), what)
        shape = array.shape
    elif isinstance(values, list | tuple) or (array is not None and array.ndim == 1 and array.dtype.kind == "O"):
        rows = objects(values) if array is None else column(array, what).values
        results = read(TypedColumn(_flat(rows, columns), "list"), what)
        shape = (len(rows), columns)
    else:
        raise InvalidParameterError(f"{what} must be a table, got {described(values if array is None else array)}")
    return [part.reshape(shape) for part in results], tuple(f"x{index}" for index in range(shape[1]))


def frame_of(values: object, what: str) -> Any:
    """Return a frame of any library as one of narwhals; None for what is not a frame."""
    if not hasattr(type(values), "columns"):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(values, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise InvalidParameterError(f"{what} must have columns of different names. Rename one.") from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _flat(rows: Objects, columns: int) -> Objects:
    """Return the entries of all rows, one row after the other."""
    kinds = set(map(type, rows))
    if kinds <= {list, tuple} and set(map(len, rows)) <= {columns}:
        return np.fromiter(chain.from_iterable(rows), dtype=object, count=len(rows) * columns)

    def read(row: object) -> Sequence[Any]:
        listed = _entries(row)
        entries: Sequence[Any] = ([row] if columns == 1 else []) if listed is None else listed
        return entries if len(entries) == columns else [None] * columns

    return objects(list(chain.from_iterable(each(read, rows, object))))


@by_itself(())
def _entries(row: Any) -> Any:
    """Return entries of one row, if it is a list or is read as one.

    None for a single value.
    """
    if isinstance(row, list | tuple):
        return list(row)  # methods of a subclass may raise, and are asked here alone
    if isinstance(row, str | bytes | dict) or row is None:
        return None
    if isinstance(row, np.ndarray) and not row.ndim:
        return None
    if not hasattr(type(row), "__len__"):
        alone = array_of(row)
        if alone is None or not alone.ndim:
            return None
    given = column(row)
    if given.holds == "other":
        return objects(given.values.to_pylist())
    return given.spread(without(given.values.astype(object), given.missing), None)


def without_rows(values: object) -> object:
    """Return data of the same type and columns without a row; no row is read.

    Raises: InvalidParameterError if they are no array, series, frame or list.
    """
    try:
        if hasattr(type(values), "iloc"):  # pandas, which takes numbers for labels
            return values.iloc[:0]  # type: ignore[attr-defined]
        cut = getattr(values, "slice", None)
        return cut(0, 0) if callable(cut) else values[:0]  # type: ignore[index]
    except (TypeError, IndexError, KeyError):
        raise InvalidParameterError(
            f"rows must come in an array, a series, a frame or a list, got {type(values).__name__}"
        ) from None
