"""Columns of any kind as places among their distinct values, and as Arrow reads them.

What a row is read as depends on that row and on the type of the column alone. A list and an array of objects have no
type, and what numpy or Arrow would guess from all rows one row could change: there each value is read by itself.
"""

import datetime
from collections.abc import Hashable
from decimal import Decimal
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError

_KINDS = (bool, int, float, str, bytes, Decimal, datetime.datetime, datetime.date)  # a value is of the first that fits
_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # finer ones for those that Arrow lacks


def codes(values: object, what: str = "values") -> tuple[NDArray[np.int64], list[Any]]:
    """One column of any kind as places in the list of its distinct values, in order of appearance; -1 for NULL.

    In a list or an array of objects, values of different types are different values. What Python cannot hold, such as
    a date after the year 9999 or bytes that are no text, is NULL here.
    """
    objects = objects_of(values)
    if objects is not None:
        return _codes_of_objects(objects, what)
    return _codes_of_column(arrow_column(values, what))


def labels(values: object, what: str = "values") -> NDArray[np.int64]:
    """Equal numbers for equal values of one column of any kind, from 0; -1 for NULL."""
    objects = objects_of(values)
    if objects is not None:
        return _codes_of_objects(objects, what)[0]
    return _indices(_encoded(arrow_column(values, what)))


def arrow_column(values: object, what: str = "values") -> Any:
    """One column of any kind as an Arrow array; NaN is null, and text that cannot be encoded.

    Raises: InvalidParameterError if it is not of one type, or of one that holds other columns.
    """
    import pyarrow as pa

    if hasattr(type(values), "columns") or isinstance(values, str | bytes | dict) or np.isscalar(values):
        raise InvalidParameterError(f"{what} must be one column, got {described(values, np.asarray(None))}")
    try:
        column = pa.array(_arrow(values), from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        raise InvalidParameterError(
            f"{what} must be one column of one type: numbers, text, dates or booleans"
        ) from None
    if pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType):
        raise InvalidParameterError(f"{what} must be numbers, text, dates or booleans, got {column.type}")
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def has_type(values: object) -> bool:
    """Whether the column has a type; a list and an array of objects have none."""
    return objects_of(values) is None


def match_of(value: object) -> tuple[Hashable, Hashable] | None:
    """What is equal for values that are to be counted as one: 1 and 1.0 are, 1 and "1" are not. None for NULL."""
    kind = _kind_of(value)
    return None if kind is None else ("number" if kind in (bool, int, float, Decimal) else kind, value)


def objects_of(values: object) -> NDArray[np.object_] | None:
    """A column without a type as an array of objects; None if it has a type."""
    if isinstance(values, list | tuple):
        return column_of_objects(values)
    if is_wider_than_numpy(values):
        return column_of_objects(values.to_list())  # type: ignore[attr-defined]
    if hasattr(values, "to_arrow") or hasattr(values, "chunks") or _is_extension(values):
        return None
    array = np.asarray(values)
    return array if array.dtype.kind == "O" else None


def column_of_objects(values: list[Any] | tuple[Any, ...]) -> NDArray[np.object_]:
    return np.fromiter(values, dtype=object, count=len(values))


def type_of(values: object) -> str:
    """The name of the type of a column, in lower case; empty for a list."""
    return str(getattr(values, "dtype", getattr(values, "type", ""))).lower()


def is_wider_than_numpy(values: object) -> bool:
    """Whether it is a series of Polars that chose integers of 128 bits, which no array interface knows."""
    return type_of(values) in ("int128", "uint128")


def described(values: object, array: NDArray[Any]) -> str:
    """What somebody gave in the place of a column or a table, and what to give."""
    if hasattr(type(values), "columns"):
        return 'a table. Pick one of its columns: frame["income"].'
    if array.ndim:
        return f"an array of {array.ndim} dimension{'s' * (array.ndim > 1)}"
    return f'{type(values).__name__}. Pass the rows themselves: frame["income"], an array or a list.'


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
