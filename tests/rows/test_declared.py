"""Columns for an engine: typed ones as they are, others as their owner declares them."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.rows import arrow_of

DAY = datetime.date(2020, 1, 1)
MIXED = [1, 2.5, True, "a", None, Decimal("3.0"), DAY, float("nan"), object(), 2**70, "\ud800"]


def of_numpy(rows: list[Any]) -> np.ndarray:
    return np.fromiter(rows, dtype=object, count=len(rows))


def of_pandas(rows: list[Any]) -> Any:
    return pd.Series(rows, dtype=object)


MEANT: dict[Any, list[object]] = {
    "integer": [1, 2, 1, None, None, 3, None, None, None, 2**63 - 1, None],
    "text": ["1", "2.5", "1", "a", None, "3", "2020-01-01", None, None, str(2**70), None],
    "boolean": [True, None, True, *[None] * 8],
    "date": [*[None] * 6, DAY, *[None] * 4],
    "timestamp": [*[None] * 6, datetime.datetime(2020, 1, 1), *[None] * 4],
}


@pytest.mark.parametrize("make", [list, of_numpy, of_pandas])
@pytest.mark.parametrize("declared", MEANT)
def test_entries_without_a_type_are_what_is_declared(declared: Any, make: Any) -> None:
    made = arrow_of(make(MIXED), "x", declared)
    assert made.to_pylist() == MEANT[declared]
    assert made.type == arrow_of(make([]), "x", declared).type
    assert arrow_of(make(MIXED[::-1]), "x", declared).to_pylist() == MEANT[declared][::-1]


def test_real_numbers_are_floats() -> None:
    made = arrow_of(MIXED, "x", "real")
    assert made.type == pa.float64()
    assert made.to_pylist()[:3] == [1, 2.5, 1]


def test_nothing_is_said_of_entries_that_nobody_declares() -> None:
    assert pa.types.is_nested(arrow_of(MIXED, "x", None).type)
    assert arrow_of(MIXED, "x", None).null_count == len(MIXED)


def test_values_that_their_type_does_not_allow_are_missing_alone() -> None:
    offsets = pa.py_buffer(np.array([0, 1, 2, 3], dtype=np.int32))
    text = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xffb")])
    assert arrow_of(text, "x", None).to_pylist() == ["a", None, "b"]
    late = pa.array([5, 90_000, None], pa.int32()).view(pa.time32("s"))
    assert arrow_of(late, "x", None).to_pylist() == [datetime.time(0, 0, 5), None, None]
    wide = pa.array([Decimal(5), Decimal(500)], pa.decimal128(9, 0)).view(pa.decimal128(1, 0))
    assert arrow_of(wide, "x", None).to_pylist() == [Decimal(5), None]


@pytest.mark.parametrize(
    ("values", "type_"),
    [
        (pd.Series(["a", None], dtype="str"), pa.large_string()),
        (pd.Series([1, None], dtype="Int64"), pa.int64()),
        (pl.Series(["a", None], dtype=pl.Enum(["a"])), pa.large_string()),
        (pl.Series(["a", None], dtype=pl.Categorical), pa.large_string()),
        (pa.array([True, None]), pa.bool_()),
    ],
)
def test_a_column_with_a_type_keeps_it(values: object, type_: Any) -> None:
    made = arrow_of(values, "x", "real")
    assert made.type == type_
    assert made.is_valid().to_pylist() == [True, False]


def test_categories_without_a_type_are_read_as_declared() -> None:
    column = pd.Series([1, "a", None], dtype=pd.CategoricalDtype([1, "a"]))
    assert arrow_of(column, "x", "text").to_pylist() == ["1", "a", None]
    assert arrow_of(pd.cut(pd.Series([1, 5, None]), [0, 2, 9]), "x", None).to_pylist() == ["(0, 2]", "(2, 9]", None]
