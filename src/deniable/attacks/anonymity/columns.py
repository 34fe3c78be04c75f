"""Columns of a frame as codes. Rows are positions: no index is read, and missing values are values of their own."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError

Codes: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Column:
    """One column as codes, and what they stand for.

    Args:
        name: of the column; of joint columns, their names.
        codes: shape (rows,); row i holds `values[codes[i]]`.
        values: the distinct values in rising order; a missing value is None, and the first.
        ordered: whether the order of the values means something: numbers, dates, ordered categories.
    """

    name: str
    codes: Codes
    values: tuple[Any, ...]
    ordered: bool

    @property
    def has_missing(self) -> bool:
        """Whether a row has no value."""
        return self.values[0] is None


def as_frame(frame: Any, *, may_be_empty: bool = False) -> nw.DataFrame[Any]:
    """Wrap a frame of pandas, Polars or Arrow.

    Raises: InvalidParameterError if it is none, or has no row and should have one.
    """
    try:
        wrapped: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        kind = type(frame).__name__
        raise InvalidParameterError(f"a table must be a frame of pandas, Polars or Arrow, got {kind}") from error
    if not len(wrapped) and not may_be_empty:
        raise InvalidParameterError("the table has no rows, so there is nobody whose anonymity could be measured")
    return wrapped


def read_columns(frame: nw.DataFrame[Any], names: str | Sequence[str], *, role: str) -> list[Column]:
    """Read the named columns.

    Args:
        frame: wrapped by `as_frame`.
        names: one name, or several.
        role: what they are for, said in messages: "quasi".

    Raises: InvalidParameterError if there is no name, one twice or an unknown one, or a column holds lists.
    """
    asked = [names] if isinstance(names, str) else list(names)
    if not asked:
        raise InvalidParameterError(f"{role} needs at least one column")
    if len(set(asked)) < len(asked):
        raise InvalidParameterError(f"{role} names a column twice: {', '.join(map(str, asked))}")
    if unknown := [str(name) for name in asked if name not in frame.columns]:
        has = ", ".join(map(str, frame.columns))
        raise InvalidParameterError(f"{role} names no column of the table: {', '.join(unknown)}. It has: {has}")
    return [_encode(frame[name]) for name in asked]


def number(columns: Iterable[Codes]) -> Codes:
    """Number of the tuple in each row, from 0, tuples in rising order. The columns have one shape, (rows,)."""
    first, *others = columns
    total = _compress(first)
    for codes in others:
        total = _compress(total * (int(codes.max()) + 1) + codes)
    return total


def join_columns(columns: Sequence[Column]) -> Column:
    """Take several columns as one, whose values are tuples."""
    codes = number(column.codes for column in columns)
    _, first = np.unique(codes, return_index=True)
    values = tuple(tuple(column.values[column.codes[row]] for column in columns) for row in first.tolist())
    return Column(", ".join(column.name for column in columns), codes, values, ordered=False)


def recode(column: Column, values: Sequence[Any]) -> Codes:
    """Codes of a column in another list of values; -1 for what is not in the list."""
    place = {value: code for code, value in enumerate(values)}
    return np.array([place.get(value, -1) for value in column.values], dtype=np.int64)[column.codes]


def _compress(codes: Codes) -> Codes:
    return np.unique(codes, return_inverse=True)[1].astype(np.int64, copy=False)


def _encode(series: nw.Series[Any]) -> Column:
    gone = np.array(series.is_null().to_numpy(), dtype=bool)
    present = series.drop_nulls()
    kind = series.dtype
    ordered = kind.is_numeric() or kind.is_temporal()
    if ordered:
        found = present.to_numpy()
        if found.dtype.kind == "f":  # a frame may tell NaN from null: both are missing
            nan = np.isnan(found)
            gone[~gone] = nan
            found = found[~nan]
        distinct, inverse = np.unique(found, return_inverse=True)
        if distinct.dtype.kind == "M":
            distinct = distinct.astype("datetime64[us]")
        values = tuple(distinct.tolist())
    else:
        order = getattr(kind, "categories", None)  # of ordered categories
        values, inverse = _encode_objects(series.name, present.to_list(), order)
        ordered = order is not None
    missing = bool(gone.any())
    codes = np.zeros(len(gone), dtype=np.int64)
    codes[~gone] = inverse + missing
    return Column(str(series.name), codes, (None, *values) if missing else values, ordered)


def _encode_objects(name: str, present: list[Any], order: Sequence[Any] | None) -> tuple[tuple[Any, ...], Codes]:
    """Distinct values in rising order, and the place of each one that is present."""
    met: dict[Any, int] = {}
    try:
        places = np.array([met.setdefault(value, len(met)) for value in present], dtype=np.int64)
    except TypeError as error:
        raise InvalidParameterError(f"column {name} holds lists or other containers, which have no classes") from error
    met_values = list(met)
    key = (lambda value: order.index(value)) if order is not None else None
    try:
        values = sorted(met_values, key=key)
    except TypeError:  # mixed kinds: any fixed order will do
        values = sorted(met_values, key=lambda value: (type(value).__name__, repr(value)))
    rank = {value: place for place, value in enumerate(values)}
    return tuple(values), np.array([rank[value] for value in met_values], dtype=np.int64)[places]
