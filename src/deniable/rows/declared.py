"""A column of any container in Arrow, for an engine.

One without a type as its owner declares it.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from deniable.numbers.arrays import Mask
from deniable.rows.columns import TypedColumn, categories_of, column
from deniable.rows.entries import day, each, moment, text, truth
from deniable.rows.floats import of_entries
from deniable.rows.silence import silence
from deniable.rows.whole import read

Declared = Literal["integer", "real", "text", "boolean", "date", "timestamp"]


@silence()
def arrow_of(values: object, what: str, declared: Declared | None) -> Any:
    """Return a column as one array of Arrow, typed by the column or its declaration.

    Args:
        declared: as what an entry is read where the column has no type; None: then a categorical of pandas is text, and
            of other columns nothing can be said: every row is a missing value of a type that no query takes.

    Raises: InvalidParameterError for a type that holds other columns.
    """
    import pyarrow as pa

    array = _as_it_is(values) if isinstance(values, pa.Array | pa.ChunkedArray) else None
    if array is not None:
        return array
    given = categories_of(values)
    if given is not None:
        return _placed(_of_entries(given, declared or "text"), given)
    given = column(values, what)
    if given.holds == "objects":
        return _placed(_of_entries(given, declared), given)
    if given.holds == "numbers":
        array = pa.array(given.values, mask=given.missing)
        return _placed(array, given)
    array = _sound(given.values)
    return _placed(array.cast(pa.float64()) if pa.types.is_decimal256(array.type) else array, given)


def _placed(array: Any, given: TypedColumn) -> Any:
    import pyarrow as pa

    return array if given.indices is None else array.take(pa.array(given.indices, mask=given.indices < 0))


def _of_entries(given: TypedColumn, declared: Declared | None) -> Any:
    import pyarrow as pa

    entries = given.values
    if declared == "real":
        return pa.array(of_entries(entries))
    if declared == "integer":
        integers, missing = read("values", entries, lower=-(2**63), upper=2**63 - 1)
        return pa.array(integers, mask=missing)
    if declared is None:
        return pa.nulls(len(entries), pa.list_(pa.int8()))
    readers: dict[str, tuple[Callable[[Any], Any], Any]] = {
        "text": (text, pa.large_string()),
        "boolean": (truth, pa.bool_()),
        "date": (day, pa.date32()),
        "timestamp": (moment, pa.timestamp("us")),
    }
    one, kind = readers[declared]
    return pa.array(each(one, entries, object), type=kind)


def _as_it_is(values: Any) -> Any:
    """Return an array of Arrow in its chunks, without a copy of its values.

    None where some have to be changed.
    """
    import pyarrow as pa

    types, kind = pa.types, values.type
    wider = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(kind, kind)
    copied = [types.is_dictionary, types.is_run_end_encoded, types.is_null, types.is_nested]
    copied += [types.is_float16, types.is_decimal256, types.is_string_view, types.is_binary_view]
    if isinstance(kind, pa.BaseExtensionType) or any(is_kind(kind) for is_kind in copied):
        return None
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return values.cast(wider)


def _sound(array: Any) -> Any:
    """Return the array with NULL for values that its type does not allow.

    For instance bytes that are not text, or 25 o'clock.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    allowed = np.ones(len(array), dtype=np.bool_)
    _find_unsound(array, 0, allowed)
    return array if allowed.all() else pc.if_else(pa.array(allowed), array, pa.scalar(None, array.type))


def _find_unsound(array: Any, start: int, allowed: Mask) -> None:
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        middle = len(array) // 2
        if middle:
            _find_unsound(array.slice(0, middle), start, allowed)
            _find_unsound(array.slice(middle), start + middle, allowed)
        else:
            allowed[start] = False
