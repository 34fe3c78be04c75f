import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.rows import codes, column, distinct, indices_of, labels


@pytest.mark.parametrize("kind", [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])])
def test_codes_point_at_distinct_values(kind: Any) -> None:
    found, distinct = codes(kind(["b", "a", "b"]))
    assert found.tolist() == [0, 1, 0]
    assert distinct == ["b", "a"]


def in_chunks(kind: pa.DataType) -> Any:
    """Rows in two chunks with dictionaries of their own, of which the second knows more than it has."""
    return lambda rows: pa.chunked_array(
        [pa.array(rows[:3], kind).dictionary_encode(), pa.DictionaryArray.from_arrays(
            pa.array([0 if row is not None else None for row in rows[3:]], pa.int32()),
            pa.array([*rows[3:], rows[2]], kind))]
    )  # fmt: skip


def twice(rows: list[Any]) -> Any:
    """A dictionary whose values are one, in another order."""
    known = list(dict.fromkeys(row for row in rows if row is not None))
    inner = pa.DictionaryArray.from_arrays(pa.array(range(len(known))[::-1], pa.int8()), pa.array(known))
    places = [None if row is None else len(known) - 1 - known.index(row) for row in rows]
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), inner)


ANY = [list, lambda rows: np.array(rows, dtype=object), pd.Series, pd.Categorical, twice, pl.Series, pa.array,
       lambda rows: pa.array(rows).dictionary_encode()]  # fmt: skip


@pytest.mark.parametrize("kind", [*ANY, in_chunks(pa.string()), lambda rows: pd.Series(rows, dtype="string")])
def test_keys_of_text_are_the_same_in_every_container(kind: Any) -> None:
    column = kind(["b", None, "a", "b"])
    found, keys = codes(column)
    assert (found.tolist(), keys) == ([0, -1, 1, 0], ["b", "a"])
    assert labels(column).tolist() == [0, -1, 1, 0]
    assert indices_of(column, ("a", "b", "c")).tolist() == [1, 3, 0, 1]


@pytest.mark.parametrize("kind", [*ANY, in_chunks(pa.float64()), lambda rows: np.array(rows, dtype=np.float64)])
def test_keys_of_numbers_are_the_same_in_every_container(kind: Any) -> None:
    """One zero, and no key for what is no number."""
    column = kind([0.5, None, -0.0, 0.0])
    found, keys = codes(column)
    assert (found.tolist(), list(map(repr, keys))) == ([0, -1, 1, 1], ["0.5", "0.0"])
    assert labels(column).tolist() == [0, -1, 1, 1]
    assert indices_of(column, (0.0, 0.5)).tolist() == [1, 2, 0, 0]


def test_a_place_beyond_its_dictionary_is_missing() -> None:
    """What a damaged column points at may be a value of the chunk before."""
    chunks = [pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(values), safe=False)
              for places, values in (([0, 1], ["a", "b"]), ([-1, 0, 1], ["c"]))]  # fmt: skip
    found, keys = codes(pa.chunked_array(chunks))
    assert (found.tolist(), keys) == ([0, 1, -1, 2, -1], ["a", "b", "c"])


def test_public_keys_are_distinct_and_none_is_null() -> None:
    assert distinct((2, 1.5)) == (2, 1.5)
    for keys in ((None, "a"), ("a", "b", "a"), (1, 1.0), (0.0, -0.0), (float("nan"), 1.0)):
        with pytest.raises(InvalidParameterError, match="distinct, and none of them NULL"):
            distinct(keys)


@pytest.mark.parametrize("rows", [[], [None], [[1, 2]]], ids=str)
def test_lists_and_structs_are_no_values_to_count(rows: list[Any]) -> None:
    with pytest.raises(InvalidParameterError, match="units must be numbers, text, dates or booleans, got list"):
        codes(pa.array(rows, type=pa.list_(pa.int64())), "units")


def test_a_dictionary_decides_neither_the_order_of_keys_and_units_nor_how_many_there_are() -> None:
    """Which values it holds, and where, may depend on rows; noise would be drawn in its order."""
    for unseen in (["a", "b", "c", "d"], ["d", "c", "b", "a"]):
        column = pd.Series(["c", None, "a", "c"], dtype=pd.CategoricalDtype(unseen))
        found, keys = codes(column)
        assert (found.tolist(), keys) == ([0, -1, 1, 0], ["c", "a"])
        assert labels(column).tolist() == [0, -1, 1, 0]


def test_nulls_have_no_code() -> None:
    assert codes([1.0, float("nan"), None])[0].tolist() == [0, -1, -1]
    assert codes([datetime.date(2020, 1, 1), None])[0].tolist() == [0, -1]
    assert codes(pd.Categorical(["x", None, "x"]))[0].tolist() == [0, -1, 0]
    assert codes(pa.array(["x", None, "x"]).dictionary_encode())[0].tolist() == [0, -1, 0]


def test_what_has_no_type_is_read_value_by_value() -> None:
    """What numpy or Arrow guess from all values would let one row change all others."""
    column = [1, 1.0, True, "1", b"1", datetime.date(2020, 1, 1), Decimal(1), 10**30]
    whole = codes([*column, None, [1], Decimal("sNaN")])
    assert whole[0].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1]
    assert list(map(repr, whole[1])) == list(map(repr, column))
    for value in column:
        assert repr(codes([value])[1]) == repr([value])
        assert repr(codes(np.array([value, value], dtype=object))[1]) == repr([value])
    with pytest.raises(InvalidParameterError, match="dimensions"):
        codes(np.array([["a"]], dtype=object))
    for more in ([], ["x"]):
        found, distinct = codes([-0.0, 0.0, 0.5, None, float("nan"), *more])
        assert found[:5].tolist() == [0, 0, 1, -1, -1]
        assert list(map(repr, distinct[:2])) == ["0.0", "0.5"]


def test_a_series_with_a_label_like_an_attribute_is_a_column() -> None:
    assert column(pd.Series([1, 2], index=["columns", "b"]), "units").values.tolist() == [1, 2]


@pytest.mark.parametrize(
    "column",
    [
        np.array([2, 3, 2], dtype=np.float16),
        np.array([2, 3, 2], dtype=np.longdouble),
        np.array(["2020", "2021", "2020"], dtype="M8[Y]"),
        np.array(["2020-01-01T01", "2020-01-01T02", "2020-01-01T01"], dtype="M8[h]"),
        np.array(["2020-01-01T01", "2020-01-01T02", "2020-01-01T01"], dtype=">M8[s]"),
    ],
)
def test_types_that_arrow_lacks_are_read_as_the_nearest(column: Any) -> None:
    assert codes(column)[0].tolist() == [0, 1, 0]


def days(counts: list[int], unit: str) -> Any:
    return np.array(counts).view(f"M8[{unit}]")


@pytest.mark.parametrize(
    "column",
    [
        days([0, 5_000_000], "D"),
        days([0, 10_000], "Y"),
        days([0, 2**40], "s"),
        pa.array([0, 2**50], type=pa.timestamp("s")),
        pa.array([0, 2**62], type=pa.duration("s")),
        np.array([0, 2**62]).view("m8[s]"),
        pl.Series([0, 2**50]).cast(pl.Datetime("ms")),
        pa.Array.from_buffers(
            pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], dtype=np.int32)), pa.py_buffer(b"a\xff")]
        ),
    ],
)
def test_what_python_cannot_hold_is_a_value_of_its_own_but_no_key(column: Any) -> None:
    """Reading it as a Python object raised an error of its own, after the ledger had paid."""
    assert labels(column).tolist() == [0, 1]
    places, distinct = codes(column)
    assert places.tolist() == [0, -1]
    assert len(distinct) == 1


@pytest.mark.parametrize("column", [np.array(["a", "\ud800", "b"]), ["a", "\ud800", "b"]])
def test_text_that_cannot_be_encoded_is_null(column: Any) -> None:
    assert (labels(column) >= 0).tolist() == [True, False, True]
    assert codes(column)[1] == ["a", "b"]


def test_dates_that_arrow_would_wrap_are_null() -> None:
    assert labels(days([0, 2**32, 2**40], "D")).tolist() == [0, -1, -1]
    assert labels(days([0, 2**62], "W")).tolist() == [0, -1]
    assert labels(days([0, 2**40], "Y")).tolist() == [0, -1]


def test_units_of_dates_may_be_multiples() -> None:
    assert codes(days([0, 3], "7D"))[1] == [datetime.date(1970, 1, 1), datetime.date(1970, 1, 22)]
    assert codes(days([0, 3], "10ms"))[1][1] == datetime.datetime(1970, 1, 1, 0, 0, 0, 30_000)


@pytest.mark.parametrize("kind", [pd.period_range("2020", "2021", freq="Y"), pd.interval_range(0, 2)])
def test_columns_of_periods_are_refused_in_words(kind: Any) -> None:
    with pytest.raises(InvalidParameterError, match="must be numbers, text, dates or booleans"):
        codes(pd.Series(kind))
