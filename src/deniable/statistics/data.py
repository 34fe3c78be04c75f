"""Private values as arrays, and the rows that count when one unit has many.

What is asked of every statistic: a value that is no number (NaN, NULL, None) is left out under add/remove, where the
number of rows is private anyway, and stands for the public default of the statistic under replace, where it is not.
Infinities and values outside the bounds are clamped to them. None of this raises, and no message holds a value.
"""

import math
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits

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
    declared = str(getattr(values, "dtype", getattr(values, "type", ""))).lower()
    if any(word in declared for word in _NO_NUMBERS):
        raise InvalidParameterError(_NOT_NUMBERS.format(what=what, kind=declared))
    array = _array(values)
    if array.ndim != 1:
        raise InvalidParameterError(f"{what} must be one column, got an array of {array.ndim} dimensions")
    return _floats(array, what)


def table(values: object, what: str = "values") -> tuple[Floats, tuple[str, ...]]:
    """Several columns as float64 of shape (rows, columns), and their names.

    Args:
        values: a two-dimensional array, or a dataframe of pandas, Polars or Arrow.
    """
    import narwhals as nw

    frame = nw.from_native(values, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        columns = [numbers(frame[name].to_native(), f"column {name!r}") for name in frame.columns]
        return np.column_stack(columns) if columns else np.empty((len(frame), 0)), tuple(frame.columns)
    array = _array(values)
    if array.ndim != 2:
        raise InvalidParameterError(f"{what} must be a table, got an array of {array.ndim} dimensions")
    return _floats(array, what), tuple(f"x{place}" for place in range(array.shape[1]))


def codes(values: object, what: str = "values") -> tuple[NDArray[np.int64], list[Any]]:
    """One column of any kind as places in the list of its distinct values, in order of appearance; -1 for NULL."""
    import pyarrow as pa

    column = arrow_column(values, what)
    if not isinstance(column, pa.DictionaryArray):
        column = column.dictionary_encode()
    found = column.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found, column.dictionary.to_pylist()


def arrow_column(values: object, what: str = "values") -> Any:
    """One column of any kind as an Arrow array; NaN is null.

    Raises: InvalidParameterError if it is not of one type.
    """
    import pyarrow as pa

    try:
        column = pa.array(_arrow(values), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise InvalidParameterError(
            f"{what} must be one column of one type: numbers, text, dates or booleans"
        ) from None
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


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
    owners, _ = codes(units, "units")
    if owners.shape != present.shape:
        raise InvalidParameterError("units must have one entry for each row of the values")
    places = np.flatnonzero(present & (owners >= 0))
    owners = owners[places]
    order = np.lexsort((bits.words(len(places)), owners))
    owners = owners[order]
    starts = np.flatnonzero(np.diff(owners, prepend=-1))
    ranks = np.arange(len(places)) - np.repeat(starts, np.diff(starts, append=len(places)))
    kept = np.zeros(present.shape, dtype=np.bool_)
    kept[places[order[ranks < rows]]] = True
    return kept


def _array(values: object) -> NDArray[Any]:
    """What the array interface of any library gives; Arrow's own to_numpy refuses to copy."""
    return np.asarray(values)


def _arrow(values: object) -> Any:
    """What Arrow reads without guessing: its own arrays, or numpy's."""
    if hasattr(values, "to_arrow"):
        return values.to_arrow()
    return values if hasattr(values, "__arrow_c_array__") or hasattr(values, "chunks") else np.asarray(values)


def _floats(array: NDArray[Any], what: str) -> Floats:
    if array.dtype.kind in "fiub":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O":
        return np.array([_number(value) for value in array.flat], dtype=np.float64).reshape(array.shape)
    raise InvalidParameterError(_NOT_NUMBERS.format(what=what, kind=array.dtype))


def _number(value: object) -> float:
    """NaN for what is no number; infinite for an int that no float can hold."""
    if not isinstance(value, int | float | Decimal | np.number | np.bool_):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
