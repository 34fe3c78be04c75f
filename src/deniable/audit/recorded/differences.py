"""First difference of two values, in words that never reveal the values."""

import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Number
from typing import Any

import numpy as np

_MAX_DEPTH = 40  # a value may hold itself


def difference(one: object, other: object, *, where: str, values: bool = True, depth: int = 0) -> str | None:
    """Return the first difference of two values in words, or None.

    Args:
        where: name of the values, with which the answer ends.
        values: whether numbers and texts must be equal; if not, types, lengths, shapes, names, and the positions of
            finite numbers must be.
    """
    if depth > _MAX_DEPTH:
        return None
    if type(one) is not type(other):
        return f"the type of {where}"
    mine = _read(one)
    theirs = _read(other)
    for name, fact in mine.schema.items():
        if fact != theirs.schema[name]:
            return f"{name} of {where}"
    if values and mine.value != theirs.value:
        return f"the value of {where}"
    differences = (
        difference(part, theirs.parts[name], where=f"{where}, {name}", values=values, depth=depth + 1)
        for name, part in mine.parts.items()
    )
    return next(filter(None, differences), None)


def moved(one: object, other: object) -> float:
    """Return the sum of absolute differences of finite numbers in two values."""
    pairs = zip(_numbers(one, 0), _numbers(other, 0), strict=True)
    return math.fsum(float(abs(mine - theirs)) for mine, theirs in pairs if mine != theirs)


@dataclass(frozen=True)
class _Read:
    """Public schema of a value, its own content, and its parts."""

    schema: Mapping[str, object] = field(default_factory=dict)
    value: object = None
    parts: Mapping[str, object] = field(default_factory=dict)


def _read(value: Any) -> _Read:
    """Read a value of any type."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        finite = np.isfinite(value).tobytes() if value.dtype.kind in "fc" else None
        facts = {"the dtype": value.dtype, "the shape": value.shape, "which numbers are finite": finite}
        return _Read(facts, value=value.tobytes())
    if isinstance(value, np.ndarray):
        return _Read({"the shape": value.shape}, parts=_items(value.ravel().tolist()))
    if isinstance(value, Number | str | bytes):
        return _Read({"finiteness": _finite(value)}, value=repr(value))  # 0 and -0 differ
    if isinstance(value, BaseException):
        return _Read({"the value": str(value)})
    if isinstance(value, Mapping):
        return _Read({"the names": list(value)}, parts={str(name): part for name, part in value.items()})
    if isinstance(value, list | tuple):
        return _Read({"the length": len(value)}, parts=_items(value))
    if isinstance(value, Set):
        return _Read({"the length": len(value)}, value=frozenset(value))
    if is_dataclass(value) and not isinstance(value, type):
        return _Read(parts={one.name.lstrip("_"): getattr(value, one.name) for one in fields(value)})
    if hasattr(value, "to_pydict"):
        return _Read({"the column types": value.schema.types}, parts={"columns": value.to_pydict()})
    if hasattr(value, "columns") and hasattr(value, "dtypes"):
        columns = {str(name): value[name].to_numpy() for name in value.columns}
        return _Read({"the column types": list(map(str, value.dtypes))}, parts={"columns": columns})
    if callable(value):
        return _Read({"the name": getattr(value, "__qualname__", None)})
    if any("__eq__" in vars(kind) for kind in type(value).__mro__[:-1]):
        return _Read(value=value)
    return _Read(parts={"attributes": vars(value)} if hasattr(value, "__dict__") else {})


def _items(values: list[Any] | tuple[Any, ...]) -> dict[str, object]:
    return {f"item {index}": one for index, one in enumerate(values)}


def _numbers(value: Any, depth: int) -> Iterator[Any]:
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
        yield from filter(_finite, value.ravel().tolist())
    elif isinstance(value, Number):
        if _finite(value):
            yield value
    elif depth <= _MAX_DEPTH:
        for part in _read(value).parts.values():
            yield from _numbers(part, depth + 1)


def _finite(number: object) -> bool:
    return not isinstance(number, float | np.floating) or math.isfinite(number)
