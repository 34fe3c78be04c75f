"""Private values as arrays, and the rows that count when one unit has many.

What is asked of every statistic: a value that is no number (NaN, NULL, None) is left out under add/remove, where the
number of rows is private anyway, and stands for the public default of the statistic under replace, where it is not.
Infinities and values outside the bounds are clamped to them. None of this raises, and no message holds a value.

What a row is read as depends on that row and on the type of the column alone. A list and an array of objects have no
type, and what numpy or Arrow would guess from all rows one row could change: there each value is read by itself.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.statistics.keys import (
    arrow_column,
    column_of_objects,
    described,
    is_wider_than_numpy,
    labels,
    objects_of,
    type_of,
)

Floats = NDArray[np.float64]

_NO_NUMBERS = (
    "str",
    "utf8",
    "date",
    "time",
    "duration",
    "binary",
    "list",
)  # in the name of a type of pandas, Polars, Arrow
_NOT_NUMBERS = "{what} must be numbers, got {kind}. Pass an array, a series or a list of numbers."


def numbers(values: object, what: str = "values") -> Floats:
    """One column as float64 of shape (rows,); what is no number is NaN.

    Args:
        values: a numpy array, a series of pandas, Polars or Arrow, or a list.

    Raises: InvalidParameterError if it has more than one dimension or a type that holds no numbers.
    """
    declared = type_of(values)
    if any(word in declared for word in _NO_NUMBERS):
        raise InvalidParameterError(_NOT_NUMBERS.format(what=what, kind=declared))
    array = _array(values)
    if array.ndim != 1:
        raise InvalidParameterError(f"{what} must be one column, got {described(values, array)}")
    return _floats(array, what)


def table(values: object, what: str = "values", *, columns: int) -> tuple[Floats, tuple[str, ...]]:
    """Several columns as float64 of shape (rows, columns), and their names.

    Args:
        values: a two-dimensional array, a dataframe of pandas, Polars or Arrow, or a list of rows. A row of a list that
            is not `columns` values is NaN.
        columns: how many there should be. An array or a frame may have others.

    Raises: InvalidParameterError if it is no table of numbers, or two columns have one name.
    """
    import narwhals as nw

    try:
        frame = nw.from_native(values, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise InvalidParameterError(f"{what} must have columns of different names. Rename one.") from None
    if isinstance(frame, nw.DataFrame):
        found = [numbers(column.to_native(), f"column {column.name!r}") for column in frame.iter_columns()]
        return np.column_stack(found) if found else np.empty((len(frame), 0)), tuple(map(str, frame.columns))
    array = _rows(values, columns) if isinstance(values, list | tuple) else _array(values)
    if array.ndim != 2:
        raise InvalidParameterError(f"{what} must be a table, got {described(values, array)}")
    return _floats(array, what), tuple(f"x{place}" for place in range(array.shape[1]))


def bounded_rows(units: object, *, rows: int, present: NDArray[np.bool_], bits: Bits) -> NDArray[np.bool_]:
    """Which rows count: of every unit at most `rows` of those that are present, chosen evenly at random.

    Args:
        units: whose row it is, one a row; rows without an owner are left out. None: every row is a unit of its own.
        present: which rows have a value at all.

    Guarantee: the choice among the rows of one unit depends on no other unit, so adding or removing a unit adds or
        removes at most `rows` rows and leaves the law of all others as it was.
    Raises: InvalidParameterError if units has another length, or rows > 1 without units.
    """
    if units is None:
        if rows != 1:
            raise InvalidParameterError(f"rows={rows} needs units=..., which says whose row it is")
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


def whole_numbers(values: object) -> tuple[NDArray[np.int64], NDArray[np.bool_]] | None:
    """A column whose type is an integer one, clamped to int64, and where it is NULL; None for other columns."""
    import pyarrow as pa

    if isinstance(values, np.ndarray):
        array, missing = np.ma.getdata(values), np.ma.getmaskarray(values)
    elif objects_of(values) is None:
        column = arrow_column(values)
        if not pa.types.is_integer(column.type):
            return None
        missing = column.is_null().to_numpy(zero_copy_only=False)
        array = column.fill_null(0).to_numpy(zero_copy_only=False)
    else:
        return None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        return None
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(2**63 - 1))
    return array.astype(np.int64, copy=False), missing


def dimensions(values: object) -> int:
    """1 for a column or a list, 2 for a table."""
    return 2 if hasattr(values, "columns") else 1 if isinstance(values, list | tuple) else _array(values).ndim


def _array(values: object) -> NDArray[Any]:
    """What the array interface of any library gives; a list that does not hold numbers alone is one of objects."""
    if isinstance(values, np.ma.MaskedArray):
        data: NDArray[Any] = np.ma.getdata(values)
        if data.dtype.kind in "fiub":
            return np.where(np.ma.getmaskarray(values), np.nan, _floats(data, "values"))
        return data
    if is_wider_than_numpy(values):
        return column_of_objects(values.to_list())  # type: ignore[attr-defined]
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    try:
        array = np.asarray(values)
    except Exception:  # whatever it is, it may depend on a value
        return column_of_objects(values)
    return array if array.ndim == 1 and array.dtype.kind in "fiub" else column_of_objects(values)


def _rows(values: list[Any] | tuple[Any, ...], columns: int) -> Floats:
    """A list of rows, each read by itself."""
    masked = any(issubclass(kind, np.ma.MaskedArray) for kind in set(map(type, values)))
    try:  # quick where all rows are alike, and the same as what follows
        array: NDArray[Any] = np.empty(0) if masked else np.asarray(values)
    except Exception:  # whatever it is, it may depend on a value
        array = np.empty(0)
    if array.ndim == 2 and array.shape[1] == columns and array.dtype.kind in "fiub":
        return _floats(array, "values")
    found = np.full((len(values), columns), np.nan)
    for place, row in enumerate(values):
        entries = _entries(row)
        if entries is None and columns == 1:
            entries = [row]
        if entries is not None and len(entries) == columns:
            found[place] = [_number(entry) for entry in entries]
    return found


def _entries(row: object) -> Sequence[Any] | NDArray[Any] | None:
    """Of one row: a list, or whatever numpy reads as one; None if it is a single value."""
    if isinstance(row, list | tuple):
        return row
    try:
        array = _array(row)
    except Exception:  # whatever it is, it depends on this row
        return None
    return array if array.ndim else None


def _floats(array: NDArray[Any], what: str) -> Floats:
    if array.dtype.kind in "fiub":
        with np.errstate(over="ignore", invalid="ignore"):
            return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return np.array([_number(value) for value in array.flat], dtype=np.float64).reshape(array.shape)
    raise InvalidParameterError(_NOT_NUMBERS.format(what=what, kind=array.dtype.type.__name__))


def _number(value: object) -> float:
    """NaN for what is no number; infinite for an int that no float can hold."""
    if isinstance(value, np.timedelta64):  # an integer to numpy
        return math.nan
    if not isinstance(value, int | float | Decimal | np.integer | np.floating | np.bool_):
        return _number_of_array(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # a signalling NaN; whatever it is, it depends on this value
        return math.nan


def _number_of_array(value: object) -> float:
    """Of an array without a dimension, which numpy takes for a number in a list; NaN for all else."""
    try:
        alone = _array(value)
        return float(alone) if alone.ndim == 0 and alone.dtype.kind in "fiub" else math.nan
    except Exception:  # whatever it is, it depends on this value
        return math.nan
