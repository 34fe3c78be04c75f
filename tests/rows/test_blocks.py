"""What functions of a user get: the type is that of the container, with and without NULL."""

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.rows import plain

DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("make", "rows", "dtype"),
    [
        (list, [1, 2], "float64"),
        (lambda rows: np.array(rows, dtype=object), [True, False], "float64"),
        (pl.Series, [1, 2], "float64"),
        (pl.Series, [True, False], "float64"),
        (lambda rows: pd.Series(rows, dtype="Int64"), [1, 2], "float64"),
        (lambda rows: pd.Series(rows, dtype="boolean"), [True, False], "float64"),
        (lambda rows: pd.Series(pd.Categorical(rows, categories=[1, 2])), [1, 2], "float64"),
        (lambda rows: pa.array(rows, pa.decimal128(5, 2)), [1, 2], "float64"),
        (lambda rows: pa.array(rows, pa.float32()), [1, 2], "float64"),
        (lambda rows: np.ma.masked_array([1, 2], mask=[row is None for row in rows]), [1, 2], "float64"),
        (pl.Series, ["a", "b"], "object"),
        (lambda rows: pd.Series(rows, dtype="str"), ["a", "b"], "object"),
        (lambda rows: pa.array(rows, pa.date32()), [DAY, DAY], "datetime64[D]"),
        (lambda rows: pa.array(rows, pa.timestamp("us", "UTC")), [0, 1], "datetime64[us]"),
        (lambda rows: pa.array(rows, pa.duration("s")), [0, 1], "timedelta64[s]"),
    ],
)  # fmt: skip
def test_a_missing_row_changes_no_type_and_no_other_row(make: Any, rows: list[Any], dtype: str) -> None:
    whole, holed = plain(make(rows)), plain(make([rows[0], None]))
    assert whole.dtype == holed.dtype == dtype
    assert whole[0] == holed[0]


def test_arrays_that_miss_nothing_stay_as_they_are() -> None:
    for array in (np.arange(3), np.ones((2, 3), dtype=bool), np.ones((2, 2, 2), dtype=np.uint8)):
        assert plain(array).dtype == array.dtype
        assert np.array_equal(plain(array), array)
    assert plain(np.ones(2, dtype=np.float16)).dtype == np.float64


def test_frames_and_lists_of_rows_are_tables() -> None:
    assert plain(pl.DataFrame({"a": [1, None], "b": [1.5, 2]})).dtype == np.float64
    mixed = plain(pd.DataFrame({"a": [1, 2], "b": ["x", None]}))
    assert mixed.tolist() == [[1, "x"], [2, None]]
    assert np.array_equal(plain([[1, 2], None], columns=2), [[1, 2], [np.nan, np.nan]], equal_nan=True)
    with pytest.raises(InvalidParameterError, match="column"):
        plain(pd.DataFrame())
