"""Declared type of a column in any container, before a row is read.

A column is one of three: numbers in numpy; text, moments and the like in Arrow; or entries without a type. Containers
that store the index of each row among distinct values keep them: those values are a column themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Mask
from deniable.rows.entries import each, key, objects
from deniable.rows.silence import silence


class OfArray(Protocol):
    """Series, column or frame of a library that gives arrays of numpy."""

    def __array__(self) -> NDArray[Any]: ...


class OfArrow(Protocol):
    """Column or table of a library that gives arrays of Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...


Container: TypeAlias = Sequence[object] | NDArray[Any] | OfArray | OfArrow
"""Containers of rows: a list, an array, a series, a column or a frame of numpy, pandas, polars or Arrow."""

_NEITHER = "{what} must be numbers, text, dates or booleans, got {kind}"
_DAMAGED = "{what} cannot be read as {kind}: the container is damaged, or of a type that cannot be read."
_UNITS = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}  # finer ones for those that Arrow lacks
_OF_COLUMNS = {"pandas", "polars", "pyarrow", "narwhals"}
_WITHOUT_TYPE = ("Object", "Int128", "UInt128")  # of Polars; the last two no array interface knows


@dataclass(frozen=True)
class TypedColumn:
    """Column with the way that its type says to read it.

    Args:
        values: a numpy array of numbers or booleans; one of objects, where there is no type; all else in Arrow.
        type: its name, for messages.
        missing: where a number is missing; None: nowhere.
        indices: of the rows among `values`, -1 where a row is missing; None: `values` are the rows.
        nullable: whether the type can hold a missing number or boolean beside NaN.
    """

    values: Any
    type: str
    missing: Mask | None = None
    indices: NDArray[np.int64] | None = None
    nullable: bool = True

    @property
    def holds(self) -> str:
        """ "numbers", "objects" or "other"."""
        if not isinstance(self.values, np.ndarray):
            return "other"
        return "objects" if self.values.dtype.kind == "O" else "numbers"

    def __len__(self) -> int:
        return len(self.values if self.indices is None else self.indices)

    def spread(self, results: NDArray[Any], missing: object) -> NDArray[Any]:
        """Return the result for the value of each row, from one result per distinct value."""
        if self.indices is None:
            return results
        return np.append(results, np.array([missing], dtype=results.dtype))[self.indices]

    def filled(self, numbers: NDArray[Any], missing: object) -> NDArray[Any]:
        """Return numbers with something else where they are missing."""
        return numbers if self.missing is None else without(numbers, self.missing, missing)


def without(values: NDArray[Any], rows: Mask | None, missing: object = None) -> NDArray[Any]:
    """Return a copy with something else in some rows."""
    copied = values.copy()
    copied[slice(0) if rows is None else rows] = missing
    return copied


@silence()
def column(values: object, what: str = "values") -> TypedColumn:
    """Return one column of any container.

    Args:
        values: a list; an array of numpy or Arrow; a series of pandas, Polars or narwhals; what gives itself as one.

    Raises: InvalidParameterError for all else, and for a type that holds other columns; both are public.
    """
    if isinstance(values, list | tuple):
        return TypedColumn(objects(values), "list")
    if isinstance(values, str | bytes | bytearray | dict) or hasattr(type(values), "columns"):
        raise InvalidParameterError(f"{what} must be one column, got {described(values)}")
    if isinstance(values, np.ndarray):
        return of_array(values, what)
    result: TypedColumn | None = None
    try:
        result = _of_library(values, what)
    except InvalidParameterError:
        raise
    except BaseException as error:  # whatever it is, it may quote a row, and is not attached to what is raised below
        if type(error) is KeyboardInterrupt:
            raise
    if result is None:
        kind = str(getattr(values, "dtype", getattr(values, "type", type(values).__name__))).partition("(")[0]
        raise InvalidParameterError(_DAMAGED.format(what=what, kind=kind))
    return result


def of_array(array: NDArray[Any], what: str) -> TypedColumn:
    """Return an array of numpy of one dimension."""
    if array.ndim != 1:
        raise InvalidParameterError(f"{what} must be one column, got {described(array)}")
    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    data = np.ma.getdata(array)
    kind = data.dtype.type.__name__.rstrip("_")  # without the longest text among the rows
    match data.dtype.kind:
        case "b" | "i" | "u":
            native = data.astype(data.dtype.newbyteorder("="), copy=False)
            return TypedColumn(native, kind, mask, nullable=mask is not None)
        case "f":
            return TypedColumn(data.astype(np.float64, copy=False), kind, mask, nullable=mask is not None)
        case "O":
            return TypedColumn(data if mask is None else without(data, mask), kind)
        case "U" | "T" | "S" | "m" | "M":
            return TypedColumn(_arrow_of_array(data, mask), kind)
    raise InvalidParameterError(_NEITHER.format(what=what, kind=kind))


@silence()
def array_of(values: object) -> NDArray[Any] | None:
    """Return an array of any dimensions; None for a list, a series, a column of Arrow."""
    if isinstance(values, np.ndarray):
        return values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if isinstance(values, Sequence) and not isinstance(values, memoryview) and not hasattr(values, "typecode"):
        return None
    if isinstance(values, bytes | bytearray | np.generic) or _libraries(values) & _OF_COLUMNS:
        return None
    if any(hasattr(values, name) for name in ("__arrow_c_array__", "__arrow_c_stream__")):
        return None
    if not (isinstance(values, memoryview) or any(hasattr(values, n) for n in ("typecode", "__array__"))):
        return None
    try:
        return np.asarray(values)
    except Exception:  # whatever it is, it may depend on a row
        return None


def categories_of(values: object) -> TypedColumn | None:
    """Return a categorical of pandas as entries without a type.

    None for other columns.

    The type of its categories is that of all rows together: one odd row makes objects of whole numbers.
    """
    array: Any = getattr(values, "array", values)
    if not (hasattr(array, "categories") and hasattr(array, "codes")):
        return None
    return _placed(
        TypedColumn(np.asarray(array.categories, dtype=object), "category"), np.asarray(array.codes), "category"
    )


def described(values: object) -> str:
    """Return in words what was given in place of a column or table, and what to give."""
    if hasattr(type(values), "columns"):
        return 'a table. Pick one of its columns: frame["income"].'
    if isinstance(values, np.ndarray):
        return f"an array of {values.ndim} dimension{'s' * (values.ndim != 1)}"
    return f'{type(values).__name__}. Pass the rows themselves: frame["income"], an array or a list.'


def _libraries(values: object) -> set[str]:
    return {kind.__module__.partition(".")[0] for kind in type(values).__mro__}


def _of_library(values: Any, what: str) -> TypedColumn:
    """Return the column as its own library describes it."""
    libraries = _libraries(values)
    if "narwhals" in libraries:
        return column(values.to_native(), what)
    if "pandas" in libraries:
        return _of_pandas(getattr(values, "array", values), what)
    if "polars" in libraries:
        if str(values.dtype) in _WITHOUT_TYPE:
            return TypedColumn(objects(values.to_list()), str(values.dtype))
        return _of_arrow(values.to_arrow(), what)
    if "pyarrow" in libraries and hasattr(values, "null_count"):
        return _of_arrow(values, what)
    if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
        import pyarrow as pa

        return _of_arrow(pa.chunked_array(values), what)
    array = array_of(values)
    if array is not None:
        return of_array(array, what)
    if isinstance(values, Sequence):
        return TypedColumn(objects(values), "list")
    raise InvalidParameterError(f"{what} must be one column, got {described(values)}")


def _of_pandas(array: Any, what: str) -> TypedColumn:
    """Return an array of pandas.

    A categorical is its codes, and text, numbers and moments have types of Arrow.
    """
    import pandas as pd

    kind = str(array.dtype)
    if isinstance(array, pd.arrays.NumpyExtensionArray) or isinstance(array.dtype, np.dtype):
        return of_array(np.asarray(array), what)  # to_numpy of pandas 2 fails for some objects, such as Decimal("sNaN")
    if hasattr(array, "categories") and hasattr(array, "codes"):
        return _placed(column(array.categories, what), np.asarray(array.codes), kind)
    if kind.startswith(("period", "interval")):
        raise InvalidParameterError(_NEITHER.format(what=what, kind=kind))
    if kind.startswith("Sparse"):
        return of_array(array.to_dense(), what)
    if getattr(array.dtype, "storage", "") == "python":
        return TypedColumn(_arrow_of_text(np.asarray(array, dtype=object)), kind)
    if hasattr(array, "__arrow_array__"):
        return _of_arrow(array.__arrow_array__(), what)
    return of_array(array.to_numpy(), what)


def _of_arrow(values: Any, what: str) -> TypedColumn:
    """Return an array of Arrow, in one or many chunks."""
    import pyarrow as pa

    kind = values.type
    name = str(values.type)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    if isinstance(kind, pa.BaseExtensionType):
        if kind.extension_name.startswith("pandas."):
            raise InvalidParameterError(_NEITHER.format(what=what, kind=name))
        return _of_arrow(pa.chunked_array([chunk.storage for chunk in chunks], type=kind.storage_type), what)
    if pa.types.is_run_end_encoded(kind):
        import pyarrow.compute as pc

        return _of_arrow(pa.chunked_array(map(pc.run_end_decode, chunks), type=kind.value_type), what)
    if pa.types.is_dictionary(kind):
        return _of_dictionaries(chunks, kind, what)
    if pa.types.is_null(kind):
        return TypedColumn(np.full(len(values), None), name)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return _of_numbers(_one(values), name)
    if pa.types.is_string_view(kind) or pa.types.is_string(kind):
        values = values.cast(pa.large_binary())
        return TypedColumn(_one(values).view(pa.large_string()), name)
    if pa.types.is_binary_view(kind) or pa.types.is_binary(kind):
        return TypedColumn(_one(values.cast(pa.large_binary())), name)
    others = (pa.types.is_large_string, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_decimal)
    if any(is_kind(kind) for is_kind in others) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind)):
        return TypedColumn(_one(values), name)
    raise InvalidParameterError(_NEITHER.format(what=what, kind=name))


def _one(values: Any) -> Any:
    """Return one array of all chunks."""
    import pyarrow as pa

    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _of_numbers(array: Any, kind: str) -> TypedColumn:
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    nothing = False if str(array.type) == "bool" else 0
    data = (array.fill_null(nothing) if array.null_count else array).to_numpy(zero_copy_only=False)
    numbers = data.astype(np.float64, copy=False) if data.dtype.kind == "f" else data
    return TypedColumn(numbers, kind, missing)


def _of_dictionaries(chunks: list[Any], kind: Any, what: str) -> TypedColumn:
    """Return indices into the values of all dictionaries, one after the other.

    They may repeat each other, or hold NULL.
    """
    import pyarrow as pa

    indices = [np.empty(0, dtype=np.int64)]
    start = 0
    for chunk in chunks:
        known = chunk.indices.is_valid().to_numpy(zero_copy_only=False)
        index = chunk.indices.fill_null(0).to_numpy(zero_copy_only=False)
        inside = known & (index >= 0) & (index < len(chunk.dictionary))
        indices.append(np.where(inside, index.astype(np.int64) + start, -1))
        start += len(chunk.dictionary)
    values = pa.chunked_array([chunk.dictionary for chunk in chunks], type=kind.value_type)
    return _placed(_of_arrow(values, what), np.concatenate(indices), str(kind))


def _placed(values: TypedColumn, indices: NDArray[Any], kind: str) -> TypedColumn:
    rows = indices.astype(np.int64, copy=False)
    if values.indices is not None:
        rows = np.append(values.indices, -1)[rows]
    return replace(values, indices=rows, type=kind, nullable=True)


def _arrow_of_array(data: NDArray[Any], mask: Mask | None) -> Any:
    """Return text, bytes or moments of numpy in the nearest type of Arrow.

    That is a type that holds and compares them.
    """
    import pyarrow as pa

    if data.dtype.kind in "UT":
        return _arrow_of_text(without(data.astype(object), mask))
    if data.dtype.kind == "S":
        return pa.array(data, mask=mask, type=pa.large_binary())
    unit = np.datetime_data(data.dtype)[0]
    wanted = np.dtype(f"{data.dtype.kind}8[{_UNITS.get(unit, unit) if unit not in ('ps', 'fs', 'as') else 'ns'}]")
    moments = data.astype(wanted, copy=False)
    if wanted == np.dtype("M8[D]"):  # Arrow has 32 bits for them, and wraps what is beyond
        moments = np.where(
            moments == moments.view(np.int64).astype(np.int32).astype(wanted), moments, wanted.type("NaT")
        )
    if data.dtype.newbyteorder("=") != wanted and unit not in ("ps", "fs", "as"):
        moments = np.where(moments.astype(data.dtype) == data, moments, wanted.type("NaT"))
    return pa.array(moments, mask=mask, from_pandas=True)


def _arrow_of_text(entries: NDArray[Any]) -> Any:
    """Return entries that are text by their type; what cannot be encoded is missing."""
    import pyarrow as pa

    try:
        return pa.array(entries, type=pa.large_string(), from_pandas=True)
    except Exception:  # whatever it is, it depends on a row
        texts = [text if isinstance(text, str) else None for text in each(key, entries, object)]
        return pa.array(texts, type=pa.large_string())
