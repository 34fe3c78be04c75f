"""Where two values differ, in words that tell the place and never the values."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from numbers import Number
from typing import Any, cast

import numpy as np

_DEEPEST = 40


def difference(one: object, other: object, *, place: str, values: bool = True, depth: int = 0) -> str | None:
    """The first place at which two values differ, or None.

    Args:
        place: name of the values, with which the answer begins.
        values: whether numbers and texts must be equal; if not, types, lengths, shapes, names, and which numbers are
            finite must be.
    """
    if depth > _DEEPEST:
        return None
    if type(one) is not type(other):
        return f"the type of {place}"
    for test, compare in _KINDS:
        if test(one):
            return compare(one, other, place, values, depth + 1)
    if callable(one):
        return None if _named(one) == _named(other) else place
    if type(one).__eq__ is not object.__eq__:
        return place if values and one != other else None
    return _of_mapping(vars(one), vars(other), place, values, depth + 1) if hasattr(one, "__dict__") else None


def moved(one: object, other: object) -> float:
    """Sum of the absolute differences of all numbers in two values of the same schema."""
    pairs = zip(_numbers(one), _numbers(other), strict=True)
    return math.fsum(float(abs(mine - theirs)) for mine, theirs in pairs if mine != theirs)


def _numbers(value: object) -> Iterable[Any]:
    if isinstance(value, np.ndarray):
        yield from (one for one in value.ravel().tolist() if isinstance(one, Number) and _finite(one))
    elif isinstance(value, Number):
        if _finite(value):
            yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _numbers(one)
    elif isinstance(value, Sequence | Set) and not isinstance(value, str | bytes):
        for one in value:
            yield from _numbers(one)
    elif not isinstance(value, type) and hasattr(value, "__dict__") and not callable(value):
        yield from _numbers(vars(value))


def _finite(number: object) -> bool:
    return not isinstance(number, float | np.floating) or math.isfinite(number)


def _of_array(one: Any, other: Any, place: str, values: bool, depth: int) -> str | None:
    if one.dtype != other.dtype:
        return f"the dtype of {place}"
    if one.shape != other.shape:
        return f"the shape of {place}"
    if one.dtype == object:
        return _of_sequence(one.ravel().tolist(), other.ravel().tolist(), place, values, depth)
    floats = one.dtype.kind in "fc"
    if floats and not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return f"which numbers of {place} are finite"
    same = not values or np.array_equal(one, other, equal_nan=floats)
    return None if same else f"values of {place}"


def _of_number(one: Any, other: Any, place: str, values: bool, _: int) -> str | None:
    if _finite(one) != _finite(other):
        return f"whether {place} is finite"
    return f"the value of {place}" if values and _finite(one) and one != other else None


def _of_text(one: Any, other: Any, place: str, values: bool, _: int) -> str | None:
    return f"the value of {place}" if values and one != other else None


def _of_mapping(one: Any, other: Any, place: str, values: bool, depth: int) -> str | None:
    if list(one) != list(other):
        return f"the names in {place}"
    found = (
        difference(one[name], other[name], place=f"{place}, {str(name).lstrip('_')}", values=values, depth=depth)
        for name in one
    )
    return next(filter(None, found), None)


def _of_sequence(one: Any, other: Any, place: str, values: bool, depth: int) -> str | None:
    if len(one) != len(other):
        return f"the length of {place}"
    found = (
        difference(mine, theirs, place=f"{place}, item {number}", values=values, depth=depth)
        for number, (mine, theirs) in enumerate(zip(one, other, strict=True))
    )
    return next(filter(None, found), None)


def _of_set(one: Any, other: Any, place: str, values: bool, _: int) -> str | None:
    if len(one) != len(other):
        return f"the length of {place}"
    return f"the members of {place}" if values and one != other else None


def _of_record(one: Any, other: Any, place: str, values: bool, depth: int) -> str | None:
    named = [{field.name: getattr(value, field.name) for field in fields(value)} for value in (one, other)]
    return _of_mapping(named[0], named[1], place, values, depth)


def _of_table(one: Any, other: Any, place: str, values: bool, depth: int) -> str | None:
    """Tables of pandas, Polars and Arrow: names, types, and columns as lists."""
    if list(map(str, _types(one))) != list(map(str, _types(other))):
        return f"the column types of {place}"
    return _of_mapping(_columns(one), _columns(other), place, values, depth)


def _types(table: Any) -> Iterable[object]:
    return cast(Iterable[object], table.schema.types if hasattr(table, "to_pydict") else table.dtypes)


def _columns(table: Any) -> Mapping[str, object]:
    if hasattr(table, "to_pydict"):
        return cast(Mapping[str, object], table.to_pydict())
    return {str(name): table[name].to_numpy() for name in table.columns}


def _named(function: Any) -> object:
    return getattr(function, "__qualname__", type(function))


_KINDS: tuple[tuple[Callable[[Any], bool], Callable[[Any, Any, str, bool, int], str | None]], ...] = (
    (lambda value: isinstance(value, np.ndarray), _of_array),
    (lambda value: isinstance(value, Number), _of_number),
    (lambda value: isinstance(value, str | bytes), _of_text),
    (lambda value: isinstance(value, BaseException), lambda a, b, p, v, d: _of_text(str(a), str(b), p, True, d)),
    (lambda value: isinstance(value, Mapping), _of_mapping),
    (lambda value: isinstance(value, list | tuple), _of_sequence),
    (lambda value: isinstance(value, Set), _of_set),
    (lambda value: is_dataclass(value) and not isinstance(value, type), _of_record),
    (lambda value: hasattr(value, "to_pydict") or (hasattr(value, "columns") and hasattr(value, "dtypes")), _of_table),
)
