import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.statistics.data import bounded_rows, codes, numbers, table

BITS = DeterministicBits(1)


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])])
def test_every_kind_of_column_gives_the_same_numbers(kind: Any) -> None:
    assert numbers(kind([1.5, 2.0, -3.0])).tolist() == [1.5, 2.0, -3.0]
    assert numbers(kind([True, False])).tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    "values", [[1, None, 2], pd.Series([1, None, 2]), pl.Series([1, None, 2]), pa.array([1, None, 2])]
)
def test_null_is_nan(values: object) -> None:
    assert np.array_equal(numbers(values), [1, np.nan, 2], equal_nan=True)


def test_whatever_an_object_holds_is_a_number_or_nan() -> None:
    odd = np.array([1, 10**400, -(10**400), Decimal("0.5"), "7", None, float("nan"), object()], dtype=object)
    assert np.array_equal(numbers(odd), [1, np.inf, -np.inf, 0.5, np.nan, np.nan, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize("values", [["a", "b"], np.array(["2020-01-01"], dtype="datetime64[D]"), [[1, 2]], 3])
def test_what_holds_no_column_of_numbers_is_refused_without_a_value(values: object) -> None:
    with pytest.raises(InvalidParameterError, match="must be") as caught:
        numbers(values, "ages")
    assert "ages" in str(caught.value)
    assert "2020" not in str(caught.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_names(frame: Any) -> None:
    values, names = table(frame({"a": [1, 2], "b": [3.0, None]}))
    assert names == ("a", "b")
    assert np.array_equal(values, [[1, 3], [2, np.nan]], equal_nan=True)


def test_arrays_get_names() -> None:
    values, names = table(np.arange(6).reshape(3, 2))
    assert values.shape == (3, 2)
    assert names == ("x0", "x1")
    with pytest.raises(InvalidParameterError, match="must be a table"):
        table([1, 2])


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])])
def test_codes_point_at_distinct_values(kind: Any) -> None:
    found, distinct = codes(kind(["b", "a", "b"]))
    assert found.tolist() == [0, 1, 0]
    assert distinct == ["b", "a"]


def test_nulls_have_no_code() -> None:
    assert codes([1.0, float("nan"), None])[0].tolist() == [0, -1, -1]
    assert codes([datetime.date(2020, 1, 1), None])[0].tolist() == [0, -1]
    assert codes(pd.Categorical(["x", None, "x"]))[0].tolist() == [0, -1, 0]
    assert codes(pa.array(["x", None, "x"]).dictionary_encode())[0].tolist() == [0, -1, 0]


def test_mixed_types_have_no_codes() -> None:
    with pytest.raises(InvalidParameterError, match="one type") as caught:
        codes(["secret", 2, object()])
    assert "secret" not in str(caught.value)


def everything(count: int) -> np.ndarray:
    return np.ones(count, dtype=bool)


def test_at_most_so_many_rows_of_a_unit_are_kept() -> None:
    units = np.array([1, 1, 1, 2, 2, 3, 1])
    for rows in (1, 2, 3):
        kept = bounded_rows(units, rows=rows, present=everything(7), bits=BITS)
        assert np.array_equal(np.bincount(units[kept])[1:], np.minimum([4, 2, 1], rows))
    assert bounded_rows(["a", None, "b"], rows=1, present=everything(3), bits=BITS).tolist() == [True, False, True]
    assert bounded_rows([], rows=1, present=everything(0), bits=BITS).tolist() == []


def test_rows_without_a_value_take_no_place() -> None:
    present = np.array([False, True, False])
    assert bounded_rows(["a", "a", "b"], rows=1, present=present, bits=BITS).tolist() == [False, True, False]
    assert bounded_rows(None, rows=1, present=present, bits=BITS) is present


def test_every_row_of_a_unit_is_kept_equally_often() -> None:
    """6,000 draws of 2 of 3 rows: 4,000 each, standard deviation 36.5; five of them, one seed in 10^6."""
    units = np.repeat(np.arange(6000), 3)
    kept = bounded_rows(units, rows=2, present=everything(18000), bits=DeterministicBits(3))
    assert np.abs(kept.reshape(-1, 3).sum(axis=0) - 4000).max() < 183


def test_units_are_checked() -> None:
    with pytest.raises(InvalidParameterError, match="needs units"):
        bounded_rows(None, rows=2, present=everything(4), bits=BITS)
    with pytest.raises(InvalidParameterError, match="one entry for each row"):
        bounded_rows([1, 2], rows=2, present=everything(4), bits=BITS)
