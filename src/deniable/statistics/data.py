"""Private values as arrays, and the rows that count when one unit has many.

What is asked of every statistic: a value that is no number (NaN, NULL, None) is left out under add/remove, where the
number of rows is private anyway, and stands for the public default of the statistic under replace, where it is not.
Infinities and values outside the bounds are clamped to them. None of this raises, and no message holds a value.

What a row is read as depends on that row and on the type of the column alone. A list and an array of objects have no
type, and what numpy or Arrow would guess from all rows one row could change: there each value is read by itself.
"""

import datetime
import math
from collections.abc import Hashable, Sequence
from decimal import Decimal
from functools import lru_cache
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
_KINDS = (bool, int, float, str, bytes, Decimal, datetime.datetime, datetime.date)  # a value is of the first that fits
_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # finer ones for those that Arrow lacks
_NOT_NUMBERS = "{what} must be numbers, got {kind}. Pass an array, a series or a list of numbers."


def numbers(values: object, what: str = "values") -> Floats:
    """One column as float64 of shape (rows,); what is no number is NaN.

    Args:
        values: a numpy array, a series of pandas, Polars or Arrow, or a list.

    Raises: InvalidParameterError if it has more than one dimension or a type that holds no numbers.
    """
    declared = _type_of(values)
    if any(word in declared for word in _NO_NUMBERS):
        raise InvalidParameterError(_NOT_NUMBERS.format(what=what, kind=declared))
    array = _array(values)
    if array.ndim != 1:
        raise InvalidParameterError(f"{what} must be one column, got {_kind_of_data(values, array)}")
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
        raise InvalidParameterError(f"{what} must be a table, got {_kind_of_data(values, array)}")
    return _floats(array, what), tuple(f"x{place}" for place in range(array.shape[1]))


def codes(values: object, what: str = "values") -> tuple[NDArray[np.int64], list[Any]]:
    """One column of any kind as places in the list of its distinct values, in order of appearance; -1 for NULL.

    In a list or an array of objects, values of different types are different values. What Python cannot hold, such as
    a date after the year 9999 or bytes that are no text, is NULL here.
    """
    objects = _objects(values)
    if objects is not None:
        return _codes_of_objects(objects, what)
    return _codes_of_column(arrow_column(values, what))


def labels(values: object, what: str = "values") -> NDArray[np.int64]:
    """Equal numbers for equal values of one column of any kind, from 0; -1 for NULL."""
    objects = _objects(values)
    if objects is not None:
        return _codes_of_objects(objects, what)[0]
    return _indices(_encoded(arrow_column(values, what)))


def arrow_column(values: object, what: str = "values") -> Any:
    """One column of any kind as an Arrow array; NaN is null, and text that cannot be encoded.

    Raises: InvalidParameterError if it is not of one type, or of one that holds other columns.
    """
    import pyarrow as pa

    if hasattr(type(values), "columns") or isinstance(values, str | bytes | dict) or np.isscalar(values):
        raise InvalidParameterError(f"{what} must be one column, got {_kind_of_data(values, np.asarray(None))}")
    try:
        column = pa.array(_arrow(values), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise InvalidParameterError(
            f"{what} must be one column of one type: numbers, text, dates or booleans"
        ) from None
    if pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType):
        raise InvalidParameterError(f"{what} must be numbers, text, dates or booleans, got {column.type}")
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
    elif _objects(values) is None:
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


def has_type(values: object) -> bool:
    """Whether the column has a type; a list and an array of objects have none."""
    return _objects(values) is None


def match_of(value: object) -> tuple[Hashable, Hashable] | None:
    """What is equal for values that are to be counted as one: 1 and 1.0 are, 1 and "1" are not. None for NULL."""
    kind = _kind_of(value)
    return None if kind is None else ("number" if kind in (bool, int, float, Decimal) else kind, value)


def _kind_of_data(values: object, array: NDArray[Any]) -> str:
    """What somebody gave in the place of a column or a table, and what to give."""
    if hasattr(type(values), "columns"):
        return 'a table. Pick one of its columns: frame["income"].'
    if array.ndim:
        return f"an array of {array.ndim} dimension{'s' * (array.ndim > 1)}"
    return f'{type(values).__name__}. Pass the rows themselves: frame["income"], an array or a list.'


def _array(values: object) -> NDArray[Any]:
    """What the array interface of any library gives; a list that does not hold numbers alone is one of objects."""
    if isinstance(values, np.ma.MaskedArray):
        data: NDArray[Any] = np.ma.getdata(values)
        if data.dtype.kind in "fiub":
            return np.where(np.ma.getmaskarray(values), np.nan, _floats(data, "values"))
        return data
    if _is_wider_than_numpy(values):
        return _column_of_objects(values.to_list())  # type: ignore[attr-defined]
    if not isinstance(values, list | tuple):
        return np.asarray(values)
    try:
        array = np.asarray(values)
    except Exception:  # whatever it is, it may depend on a value
        return _column_of_objects(values)
    return array if array.ndim == 1 and array.dtype.kind in "fiub" else _column_of_objects(values)


def _column_of_objects(values: list[Any] | tuple[Any, ...]) -> NDArray[np.object_]:
    return np.fromiter(values, dtype=object, count=len(values))


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


def _objects(values: object) -> NDArray[np.object_] | None:
    """A column without a type as an array of objects; None if it has a type."""
    if isinstance(values, list | tuple):
        return _column_of_objects(values)
    if _is_wider_than_numpy(values):
        return _column_of_objects(values.to_list())  # type: ignore[attr-defined]
    if hasattr(values, "to_arrow") or hasattr(values, "chunks") or _is_extension(values):
        return None
    array = np.asarray(values)
    return array if array.dtype.kind == "O" else None


def _type_of(values: object) -> str:
    """The name of the type of a column, in lower case; empty for a list."""
    return str(getattr(values, "dtype", getattr(values, "type", ""))).lower()


def _is_wider_than_numpy(values: object) -> bool:
    """Whether it is a series of Polars that chose integers of 128 bits, which no array interface knows."""
    return _type_of(values) in ("int128", "uint128")


def _is_extension(values: object) -> bool:
    """Whether Arrow reads it with its own type: Arrow's arrays, and typed columns of pandas."""
    inner = getattr(values, "array", values)
    return hasattr(values, "__arrow_c_array__") or (
        hasattr(inner, "__arrow_array__") and str(getattr(inner, "dtype", "")) != "object"
    )


def _codes_of_column(column: Any) -> tuple[NDArray[np.int64], list[Any]]:
    """Of an Arrow array."""
    encoded = _encoded(column)
    found = _indices(encoded)
    try:
        return found, encoded.dictionary.to_pylist()
    except Exception:  # whatever it is, it depends on a value
        distinct = [_python(value) for value in encoded.dictionary]
    known = np.array([value is not None for value in distinct] + [False])
    return np.where(known[found], (np.cumsum(known) - 1)[found], -1), [value for value in distinct if value is not None]


def _encoded(column: Any) -> Any:
    import pyarrow as pa

    return column if isinstance(column, pa.DictionaryArray) else column.dictionary_encode()


def _indices(encoded: Any) -> NDArray[np.int64]:
    found: NDArray[np.int64] = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


def _python(value: Any) -> Any:
    """What an Arrow scalar holds; None where Python has nothing like it."""
    try:
        return value.as_py()
    except Exception:  # whatever it is, it depends on this value
        return None


def _codes_of_objects(objects: NDArray[np.object_], what: str) -> tuple[NDArray[np.int64], list[Any]]:
    import pyarrow as pa

    if objects.ndim != 1:
        raise InvalidParameterError(f"{what} must be one column, got an array of {objects.ndim} dimensions")
    try:  # quick where all are of one type, and the same as what follows
        column = pa.array(objects, from_pandas=True)
        quick = pa.types.is_string(column.type) or pa.types.is_integer(column.type) or pa.types.is_boolean(column.type)
        if not quick and set(map(type, objects)) <= {float, type(None)}:
            floats = column.to_numpy(zero_copy_only=False) + 0.0  # -0.0 is 0.0, as in what follows
            column, quick = pa.array(floats, from_pandas=True), True
    except Exception:  # whatever it is, it may depend on a value
        quick = False
    if quick:
        return _codes_of_column(column)
    places: dict[Hashable, int] = {}
    distinct: list[Any] = []
    found = np.full(len(objects), -1, dtype=np.int64)
    for row, value in enumerate(objects):
        kind = _kind_of(value)
        if kind is not None:
            found[row] = place = places.setdefault((kind, value), len(distinct))
            if place == len(distinct):
                distinct.append(_plain(value, kind))
    return found, distinct


@lru_cache(maxsize=256)
def _kind_of_type(given: type) -> type:
    return next((kind for kind in _KINDS if issubclass(given, kind)), given)


def _kind_of(value: object) -> type | None:
    """The type of a key; None for NULL, NaN, and what cannot be a key."""
    plain = value.item() if isinstance(value, np.generic) else value
    kind: type = _kind_of_type(type(plain))  # type: ignore[arg-type]  # a type is hashable
    try:
        hash(plain)
        if kind is str:
            return kind if _text(str(plain)) is not None else None
        return kind if plain is not None and plain == plain else None  # noqa: PLR0124 - NaN, NaT, and pandas.NA, which raises
    except Exception:  # whatever it is, it depends on this value
        return None


def _plain(value: Any, kind: type) -> Any:
    """A key as Arrow would give it."""
    if kind is float:
        return float(value) + 0.0
    if kind in (bool, int, bytes):
        return kind(value)
    return str.__str__(value) if kind is str else value


def _arrow(values: object) -> Any:
    """What Arrow reads without guessing: its own arrays, or numpy's."""
    import pyarrow as pa

    if hasattr(values, "to_arrow"):
        return values.to_arrow()
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "chunks"):
        return values
    if _is_extension(values):
        return pa.array(getattr(values, "array", values), from_pandas=True)
    array = _for_arrow(np.asarray(values))
    if isinstance(values, np.ma.MaskedArray):
        return pa.array(array, mask=np.ma.getmaskarray(values), from_pandas=True)
    if array.dtype.kind == "U" and array.ndim == 1:
        try:
            return pa.array(array)
        except Exception:  # whatever it is, it depends on a value
            return pa.array([_text(value) for value in array.tolist()], type=pa.string())
    return array


def _for_arrow(array: NDArray[Any]) -> NDArray[Any]:
    """The same in the nearest type that Arrow can read and compare; a date beyond that type is missing."""
    wanted = array.dtype.newbyteorder("=")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        wanted = np.dtype(np.float64)
    if array.dtype.kind in "mM":
        unit = np.datetime_data(array.dtype)[0]
        wanted = np.dtype(f"{array.dtype.kind}8[{_UNITS.get(unit, unit)}]")
    with np.errstate(over="ignore"):
        found = array.astype(wanted, copy=False)
    if wanted == np.dtype("M8[D]"):  # Arrow has 32 bits for them, and wraps what is beyond
        found = np.where(found == found.view(np.int64).astype(np.int32).astype(wanted), found, wanted.type("NaT"))
    if array.dtype.kind in "mM" and wanted != array.dtype.newbyteorder("="):
        found = np.where(found.astype(array.dtype) == array, found, wanted.type("NaT"))
    return found


def _text(value: str) -> str | None:
    """None for what cannot be encoded."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


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
