"""Rows as whole numbers, for mechanisms on records.

A type that holds no numbers is refused. What one row holds is never refused:

* a real number counts as the nearest whole one, since one missing value makes floats of a column of integers;
* a number beyond public bounds, an infinite one too, is moved to the nearest end; without bounds, if it is beyond 64
  bits, it is spoilt;
* NaN, None, a masked entry, text that is not a number, a row of another length are spoilt. What becomes of them is the
  mechanism's policy: they are left out under add/remove, and count as a fixed public row under replace, where the
  number of rows is public.

So rows become rows by a public function of each one alone, and neighbours become neighbours.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Integers, Mask
from deniable.rows.columns import TypedColumn, array_of, column
from deniable.rows.entries import BEYOND, each, whole
from deniable.rows.silence import silence
from deniable.rows.tables import frame_of, grid

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


@silence()
def read(
    name: str,
    rows: object,
    *,
    lower: int | None = None,
    upper: int | None = None,
    columns: int | None = None,
) -> tuple[Integers, Mask]:
    """Return whole numbers, and which rows are spoilt.

    Shape (rows,) or (rows, columns); spoilt rows hold any number within the bounds.

    Args:
        name: the parameter's, for the message.
        rows: one column of any container; or a table, of an array, a frame or a list of rows.
        lower: public, within int64; upper likewise. None where there are no bounds.
        columns: how many numbers a row has; None for one number that is not a list. A row of one may come without one.

    Raises: InvalidParameterError for another number of dimensions or columns, or a type that holds no numbers.
    """
    if columns is None:
        numbers, spoilt = _of_column(column(rows, name), name)
    else:
        numbers, spoilt = _of_table(name, rows, columns)
    if lower is not None or upper is not None:
        numbers = np.clip(numbers, _INT64_MIN if lower is None else lower, _INT64_MAX if upper is None else upper)
    elif numbers.dtype == object:
        spoilt = spoilt | _per_row((numbers < _INT64_MIN) | (numbers > _INT64_MAX))
        numbers = np.where(_beside(spoilt, numbers), 0, numbers)
    return numbers.astype(np.int64, copy=False), spoilt


def left_out(name: str, rows: object, *, lower: int | None = None, upper: int | None = None) -> Integers:
    """Return numbers in the bounds, without what is spoilt: for add/remove."""
    numbers, spoilt = read(name, rows, lower=lower, upper=upper)
    return numbers[~spoilt] if spoilt.any() else numbers


def replaced(
    name: str,
    rows: object,
    *,
    by: int,
    lower: int | None = None,
    upper: int | None = None,
    columns: int | None = None,
) -> Integers:
    """Return rows in the bounds, with a public number in every column of a spoilt one.

    For replace.
    """
    numbers, spoilt = read(name, rows, lower=lower, upper=upper, columns=columns)
    return np.where(_beside(spoilt, numbers), by, numbers) if spoilt.any() else numbers


def width(rows: object) -> int | None:
    """Return how many numbers a row of an array or a frame has; None for a list."""
    frame = frame_of(rows, "rows")
    if frame is not None:
        return len(frame.columns)
    array = array_of(rows)
    if array is None:
        return None if isinstance(rows, list | tuple) else 1
    return array.shape[1] if array.ndim == 2 else 1


def _of_table(name: str, rows: object, columns: int) -> tuple[NDArray[Any], Mask]:
    alone = columns == 1 and not isinstance(rows, list | tuple) and width(rows) == 1
    array = array_of(rows)
    if (alone and frame_of(rows, name) is None and (array is None or array.ndim == 1)) or (
        array is not None and array.shape == (0,)
    ):
        given = column(rows, name)
        if given.holds != "objects":
            numbers, spoilt = _of_column(given, name)
            return numbers.reshape(-1, columns), spoilt
        rows = given.spread(given.values, None)
    (numbers, missing), _ = grid(rows, name, columns, _of_column)
    if numbers.shape[1] != columns:
        raise InvalidParameterError(f"{name} must be a table of integers with {columns} columns, a row for each record")
    return numbers, _per_row(missing)


def _of_column(given: TypedColumn, name: str) -> tuple[NDArray[Any], Mask]:
    """Return numbers as they are in int64 where they fit, and where there is none."""
    if given.holds == "numbers":
        numbers, spoilt = _typed(given.values)
        spoilt = spoilt if given.missing is None else spoilt | given.missing
    elif given.holds == "objects":
        numbers, spoilt = _of_entries(given.values)
    else:
        import pyarrow as pa

        if not pa.types.is_decimal(given.values.type):
            raise InvalidParameterError(f"{name} must hold integers, got {given.type}")
        numbers, spoilt = _of_entries(np.array(given.values.to_pylist(), dtype=object))
    return given.spread(numbers, 0), given.spread(spoilt, True)


def _of_entries(entries: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
    """Return each entry as a whole number, for a column without a type."""
    kinds = set(map(type, entries))
    if kinds <= {bool, int}:
        try:
            return entries.astype(np.int64), np.zeros(len(entries), dtype=np.bool_)
        except OverflowError:
            pass
    if kinds <= {float, type(None)}:
        return _typed(entries.astype(np.float64))
    numbers = each(whole, entries, object)
    spoilt = np.array([value is None for value in numbers], dtype=np.bool_)
    return np.where(spoilt, 0, numbers), spoilt


def _typed(array: NDArray[Any]) -> tuple[NDArray[Any], Mask]:
    spoilt = np.zeros(array.shape[0], dtype=np.bool_)
    if array.dtype.kind == "f":
        nearest = np.rint(array)
        missing = np.isnan(nearest)
        far = (nearest >= float(2**63)) | (nearest < -float(2**63))
        numbers: NDArray[Any] = np.where(missing | far, 0.0, nearest).astype(np.int64)
        if far.any():
            numbers = np.where(far, np.sign(nearest).astype(object) * BEYOND, numbers)
        return numbers, missing
    if array.dtype == np.uint64:
        return (array.astype(object) if (array > _INT64_MAX).any() else array), spoilt
    return array.astype(np.int64, copy=False), spoilt


def _per_row(entries: Mask) -> Mask:
    return np.asarray(entries if entries.ndim == 1 else entries.any(axis=1), dtype=np.bool_)


def _beside(spoilt: Mask, numbers: NDArray[Any]) -> Mask:
    """Return the rows in the shape of their numbers."""
    return spoilt if numbers.ndim == 1 else spoilt[:, None]
