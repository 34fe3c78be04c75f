"""Keys and units of any kind.

Places among distinct values, and the one form in which each value is published.

A column with a type has the values of its type. In one without, each entry is a key by itself: equal ones of different
kinds, such as 1, 1.0 and True, are different keys, and one unit. NULL, NaN and what is no key have no place.
"""

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Indices
from deniable.rows.columns import TypedColumn, column
from deniable.rows.entries import REAL, WHOLE, Objects, each, key, kind_and_key, objects, same
from deniable.rows.floats import of_entries
from deniable.rows.silence import silence


@silence()
def codes(values: object, what: str = "values") -> tuple[Indices, list[Any]]:
    """Return a column as indices into its distinct keys, and the keys; -1 for NULL.

    Keys are in the order of the first row of each. What Python cannot hold, such as a date after the year 9999 or bytes
    that are no text, is NULL here.
    """
    given = column(values, what)
    if given.holds == "objects":
        indices, keys = _of_objects(given.values, kind_and_key)
    else:
        encoded = _arrow(given).dictionary_encode()
        inner, keys = _of_objects(python(encoded.dictionary), kind_and_key)
        indices = np.append(inner, -1)[_indices(encoded)]
    row_indices, order = _of_rows(given, indices)
    return row_indices, keys if order is None else [keys[index] for index in order]


@silence()
def labels(values: object, what: str = "values") -> Indices:
    """Return equal numbers for equal values of one column of any kind, from 0.

    -1 for NULL.
    """
    given = column(values, what)
    if given.holds == "objects":
        indices = _of_objects(given.values, same)[0]
    else:
        indices = _indices(_arrow(given).dictionary_encode())
    return _of_rows(given, indices)[0]


@silence()
def distinct(keys: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return public keys in their one form.

    Raises: InvalidParameterError if one is NULL, two are equal, or they are of several kinds.
    """
    forms = tuple(key(each) for each in keys)
    meanings = [same(form) for form in forms if form is not None]
    if len({kind for kind, _ in meanings}) > 1:
        raise InvalidParameterError("keys must be of one type: all numbers, or all text, or all dates")
    if len(set(meanings)) < len(keys):
        raise InvalidParameterError(
            "keys must be distinct, and none of them NULL. Rows of NULL count under other=True."
        )
    return forms


@silence()
def indices_of(values: object, keys: tuple[Any, ...]) -> Indices:
    """Return the index of each row's key in a list of public keys.

    It is their number for a row that is not in it.

    Raises: InvalidParameterError if the keys are of a type that the column cannot hold.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    given = column(values)
    if given.holds == "objects" or (given.holds == "other" and pa.types.is_decimal(given.values.type)):
        indices, known = codes(values)
        positions = {same(form): position for position, form in enumerate(map(key, keys))}
        return np.array([positions.get(same(form), len(keys)) for form in known] + [len(keys)])[indices]
    rows = _arrow(given)
    kind = "keys"
    try:
        public = pa.array(list(map(key, keys)))
        kind = str(public.type)
        moments = pa.types.is_temporal(rows.type)
        if moments and pa.types.is_integer(public.type):  # 1 is not a moment
            raise pa.ArrowInvalid
        if not moments and _is_text(rows.type) != _is_text(public.type):  # and not "1"
            raise pa.ArrowInvalid
        indices = pc.index_in(rows, value_set=public.cast(rows.type))
    except pa.ArrowException:
        raise InvalidParameterError(
            f"keys of type {kind} cannot be compared with values of type {given.type}"
        ) from None
    return given.spread(indices.fill_null(len(keys)).to_numpy(zero_copy_only=False).astype(np.int64), len(keys))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _arrow(given: TypedColumn) -> Any:
    """Return the values of a column in Arrow: NaN is NULL, and there is one zero."""
    import pyarrow as pa

    if given.holds == "other":
        return given.values
    if given.values.dtype.kind != "f":
        return pa.array(given.values, mask=given.missing)
    return pa.array(given.filled(given.values + 0.0, np.nan), from_pandas=True)


def _of_rows(given: TypedColumn, indices: Indices) -> tuple[Indices, Indices | None]:
    """Return indices numbered by first rows, and which of the old ones those are.

    None where the rows are the values. A dictionary holds values that no row has, and any order of them.
    """
    if given.indices is None:
        return indices, None
    rows = given.spread(indices, -1)
    first = np.full(rows.max(initial=-1) + 2, len(rows))  # the last one for -1
    first[rows[::-1]] = np.arange(len(rows))[::-1]
    order = np.argsort(first[:-1], kind="stable")[: np.count_nonzero(first[:-1] < len(rows))]
    renumbered = np.full(len(first), -1)
    renumbered[order] = np.arange(len(order))
    return renumbered[rows], order


def _indices(encoded: Any) -> Indices:
    indices = encoded.indices
    filled = (indices.fill_null(-1) if indices.null_count else indices).to_numpy(zero_copy_only=False)
    return np.asarray(filled, dtype=np.int64)


def python(values: Any) -> Objects:
    """Return distinct values of Arrow as Python's; None for what it has nothing like."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        values = pc.cast(values, pa.timestamp("us", kind.tz), safe=False)
    elif pa.types.is_duration(kind) and kind.unit == "ns":
        values = pc.cast(values, pa.duration("us"), safe=False)
    elif pa.types.is_time64(kind) and kind.unit == "ns":
        values = pc.cast(values, pa.time64("us"), safe=False)
    if pa.types.is_timestamp(kind) and kind.tz is not None:  # moments are the same in every zone
        values = values.view(pa.int64()).view(pa.timestamp(values.type.unit, "UTC"))
    try:
        return objects(values.to_pylist())
    except Exception:  # whatever it is, it depends on a value
        return objects([key(value) for value in values])


def _of_objects(entries: Objects, meaning: Callable[[Any], Hashable]) -> tuple[Indices, list[Any]]:
    """Return each entry by itself.

    All at once where all are of one plain kind, which gives the same.
    """
    quick = _quick(entries)
    if quick is not None:
        encoded = quick.dictionary_encode()
        return _indices(encoded), encoded.dictionary.to_pylist()
    known: dict[Hashable, int] = {}
    distinct: list[Any] = []
    indices = np.full(len(entries), -1, dtype=np.int64)
    for row, form in enumerate(each(key, entries, object)):
        if form is not None:
            indices[row] = index = known.setdefault(meaning(form), len(distinct))
            if index == len(distinct):
                distinct.append(form)
    return indices, distinct


def _quick(entries: Objects) -> Any:
    """Return entries of one kind, and None, as Arrow; None for anything else.

    Their type is never guessed from them.
    """
    import pyarrow as pa

    kinds = set(map(type, entries)) - {type(None)}
    try:
        if kinds <= REAL:
            numbers = of_entries(entries) + 0.0
            return pa.array(numbers, from_pandas=True)
        if kinds == {bool}:
            return pa.array(entries, type=pa.bool_())
        if kinds <= WHOLE:
            return pa.array(entries, type=pa.int64())
        return pa.array(entries, type=pa.large_string()) if kinds == {str} else None
    except Exception:  # an integer beyond 64 bits, text that is none
        return None
