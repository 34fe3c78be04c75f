"""Columns become codes in rising order, whatever their type."""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.attacks.frames import as_frame, number, read_columns
from deniable.errors import InvalidParameterError


@pytest.mark.parametrize(
    "values",
    [
        [3, None, 1, 3],
        [2.5, None, -1.0, 2.5],
        ["b", None, "a", "b"],
        [True, None, False, True],
        [date(2025, 3, 1), None, date(2024, 1, 1), date(2025, 3, 1)],
        [Decimal("2.5"), None, Decimal("1"), Decimal("2.5")],
        [2**60 + 1, None, 2**60, 2**60 + 1],
    ],
    ids=lambda values: type(values[0]).__name__,
)
def test_codes_rise_with_the_values_and_missing_is_the_first(values: list[Any]) -> None:
    frames = [
        pl.DataFrame({"x": values}),
        pa.table({"x": values}),
        pd.DataFrame({"x": pd.Series(values, dtype=object)}),
    ]
    for frame in frames:
        column = read_columns("x", as_frame(frame), role="quasi")[0]
        assert column.codes.tolist() == [2, 0, 1, 2]
        assert column.values[0] is None
        assert column.has_missing


def test_mixed_kinds_and_empty_columns_have_codes() -> None:
    frame = as_frame(pd.DataFrame({"x": pd.Series([1, "a", None, 1], dtype=object), "y": [np.nan] * 4}))
    mixed, empty = read_columns(["x", "y"], frame, role="quasi")
    assert len(set(mixed.codes.tolist())) == 3
    assert empty.values == (None,)


def test_tuples_are_numbered_in_their_order() -> None:
    codes = [np.array([1, 0, 1, 0]), np.array([5, 9, 2, 9])]
    assert number(codes).tolist() == [2, 0, 1, 0]


def test_frames_are_read_with_the_same_codes() -> None:
    one, other = pd.DataFrame({"x": [3.0, np.nan]}), pl.DataFrame({"x": [2, 3]})
    (column,) = read_columns("x", as_frame(one), as_frame(other), role="quasi")
    assert (column.codes.tolist(), column.values) == ([2, 0, 1, 2], (None, 2, 3))
    assert np.array_equal(column.numbers, [3, np.nan, 2, 3], equal_nan=True)
    with pytest.raises(InvalidParameterError, match="one kind in all tables, got label, number"):
        read_columns("x", as_frame(one), as_frame(pl.DataFrame({"x": ["3"]})), role="quasi")


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        ([1, 2], "frame of pandas"),
        (pl.LazyFrame({"x": [1]}), "frame of pandas"),
        (pd.DataFrame([[1, 2]], columns=["x", "x"]), "different names"),
        (pd.DataFrame([[1]]), "must be text"),
        (pl.DataFrame({"x": []}), "at least one row"),
        (pl.DataFrame({"x": [[1]]}), "containers"),
    ],
)
def test_what_is_no_table_is_refused(frame: Any, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        read_columns("x", as_frame(frame), role="quasi")
