"""Columns of frames as codes.

Rows are positions: no index is read, and missing values are values of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from deniable.attacks.numbers import Floats
from deniable.errors import InvalidParameterError

Codes: TypeAlias = NDArray[np.int64]
Names: TypeAlias = str | Sequence[str]
Kind: TypeAlias = Literal["number", "time", "label"]


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """Column of one frame, or of several, as codes and their values.

    Args:
        name: of the column.
        kind: of its values.
        codes: shape (rows of all frames,); row i holds `values[codes[i]]`.
        values: the distinct values in rising order; a missing value, NaN included, is None, and the first.
        ordered: whether the order of the values means something: numbers, dates, ordered categories.
    """

    name: str
    kind: Kind
    codes: Codes
    values: tuple[Any, ...]
    ordered: bool

    @property
    def has_missing(self) -> bool:
        """Whether a row has no value."""
        return None in self.values[:1]

    @property
    def numbers(self) -> Floats:
        """Values as floats, shape (rows,); a missing number or time is NaN.

        Times are microseconds since 1970, labels are codes.
        """
        if self.kind == "label":
            return self.codes.astype(np.float64)
        known: NDArray[Any] = np.array(self.values[self.has_missing :])
        if self.kind == "time":
            known = known.astype("datetime64[us]").astype(np.int64)
        return np.append([np.nan] * self.has_missing, known.astype(np.float64))[self.codes]


def as_frame(frame: Any, *, may_be_empty: bool = False) -> nw.DataFrame[Any]:
    """Wrap a frame of pandas, Polars or Arrow.

    Raises: InvalidParameterError for another object, columns without different names, or no row where one is needed.
    """
    try:
        wrapped: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        kind = type(frame).__name__
        raise InvalidParameterError(f"a table must be a frame of pandas, Polars or Arrow, got {kind}") from error
    except nw.exceptions.DuplicateError:
        raise InvalidParameterError("the columns of a table must have different names") from None
    if not all(isinstance(name, str) for name in wrapped.columns):
        raise InvalidParameterError("the names of a table's columns must be text")
    if not len(wrapped) and not may_be_empty:
        raise InvalidParameterError("a table needs at least one row: there is nobody to attack")
    return wrapped


def read_columns(names: Names, *frames: nw.DataFrame[Any], role: str) -> list[CodedColumn]:
    """Read columns, each with the same codes in all frames.

    The rows of the frames follow one another.

    Args:
        names: one name, or several.
        frames: wrapped by `as_frame`.
        role: of the columns, for messages: "quasi".

    Raises: InvalidParameterError for no name, a name given twice or unknown, or a column that holds lists or, in
        different frames, different kinds.
    """
    asked = read_names(names, role=role)
    if len(set(asked)) < len(asked):
        raise InvalidParameterError(f"{role} names a column twice: {', '.join(asked)}")
    for frame in frames:
        if unknown := [name for name in asked if name not in frame.columns]:
            has = ", ".join(frame.columns)
            raise InvalidParameterError(f"{role} names no column of the table: {', '.join(unknown)}. It has: {has}")
    return [_read(name, [frame.get_column(name) for frame in frames]) for name in asked]


def read_names(names: Names, *, role: str) -> list[str]:
    """Return one name or several as a list, or raise InvalidParameterError."""
    listed: Any = [names] if isinstance(names, str) else names
    asked = list(listed) if isinstance(listed, Iterable) else []
    if not asked or not all(isinstance(name, str) for name in asked):
        raise InvalidParameterError(f"{role} needs the name of at least one column, got {names!r}")
    return asked


def number(columns: Iterable[Codes]) -> Codes:
    """Return the number of the tuple in each row, from 0, in rising order.

    The columns have one shape, (rows,).
    """
    first, *others = columns
    total = _compress(first)
    for codes in others:
        total = _compress(total * (int(codes.max()) + 1) + codes)
    return total


def _compress(codes: Codes) -> Codes:
    """Return codes 0, 1, ... in the same order."""
    return np.unique(codes, return_inverse=True)[1].astype(np.int64, copy=False)


def _read(name: str, parts: Sequence[nw.Series[Any]]) -> CodedColumn:
    """Read the parts of a column, one for each frame."""
    types = [part.dtype for part in parts if part.null_count() < len(part)]  # a column without a value has no kind
    kinds = {_kind(one) for one in types} or {"label"}
    if len(kinds) > 1:
        raise InvalidParameterError(f"column {name} must hold one kind in all tables, got {', '.join(sorted(kinds))}")
    kind = kinds.pop()
    order = next((one.categories for one in types if isinstance(one, nw.Enum)), None)
    distinct = [_distinct(name, part, kind) for part in parts]
    values = list(dict.fromkeys(chain.from_iterable(held for held, _ in distinct)))
    try:
        values.sort(key=None if order is None else order.index)
    except (TypeError, ValueError):  # mixed kinds: any fixed order will do
        values.sort(key=lambda value: (type(value).__name__, repr(value)))
    if any((codes < 0).any() for _, codes in distinct):
        values.insert(0, None)
    code_of = {value: code for code, value in enumerate(values)}
    # A missing value has the code -1, so the last entry: 0.
    codes = [np.array([*map(code_of.__getitem__, held), 0])[own] for held, own in distinct]
    ordered = kind != "label" or order is not None or any(one.is_temporal() for one in types)
    return CodedColumn(name, kind, np.concatenate(codes).astype(np.int64, copy=False), tuple(values), ordered)


def _kind(dtype: Any) -> Kind:
    """Return the kind of values of a type."""
    if dtype.is_numeric():
        return "number"
    return "time" if dtype in (nw.Date, nw.Datetime) else "label"


def _distinct(name: str, series: nw.Series[Any], kind: Kind) -> tuple[list[Any], Codes]:
    """Return distinct values, and the index of each row's value, -1 for none."""
    gone = np.array(series.is_null().to_numpy(), dtype=bool)
    present = series.drop_nulls()
    if kind == "label":
        met: dict[Any, int] = {}
        try:
            inverse = np.array([met.setdefault(value, len(met)) for value in present.to_list()], dtype=np.int64)
        except TypeError as error:
            raise InvalidParameterError(f"column {name} holds lists or other containers") from error
        values = list(met)
    else:
        held = present.to_numpy()
        if held.dtype.kind == "f":  # some frames distinguish NaN and null: both are missing
            nan = np.isnan(held)
            gone[~gone] = nan
            held = held[~nan]
        distinct, inverse = np.unique(held, return_inverse=True)
        values = (distinct.astype("datetime64[us]") if distinct.dtype.kind == "M" else distinct).tolist()
    codes = np.full(len(gone), -1)
    codes[~gone] = inverse
    return values, codes
