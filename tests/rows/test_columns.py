"""Every container of one column, and what is refused by its type."""

import array
from collections import UserList, deque
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.rows import codes, column, labels, numbers

TEXT = ["b", None, "a", "b"]
NUMBERS = [2, None, 1, 2]
INDICES = pa.array([2, None, 0, 1], pa.uint16())


def runs(values: list[Any]) -> Any:
    return pa.RunEndEncodedArray.from_arrays(pa.array(range(1, len(values) + 1), pa.int32()), pa.array(values))


OF_TEXT: dict[str, Any] = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "queue": deque(TEXT),
    "user list": UserList(TEXT),
    "objects": np.array(TEXT, dtype=object),
    "masked text": np.ma.masked_array(["b", "z", "a", "b"], mask=[0, 1, 0, 0]),
    "string of numpy": np.array(TEXT, dtype=np.dtypes.StringDType(na_object=None)),
    "pandas": pd.Series(TEXT, dtype="str"),
    "string[python]": pd.Series(TEXT, dtype="string[python]"),
    "string[pyarrow]": pd.array(TEXT, dtype="string[pyarrow]"),
    "ArrowDtype": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "pandas objects": pd.Series(TEXT, dtype=object),
    "category": pd.Series(TEXT, dtype="category"),
    "index": pd.Index(TEXT),
    "categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "enum": pl.Series(TEXT, dtype=pl.Enum(["a", "b", "c"])),
    "polars": pl.Series(TEXT),
    "object of polars": pl.Series(TEXT, dtype=pl.Object),
    "narwhals": nw.from_native(pl.Series(TEXT), series_only=True),
    "arrow": pa.array(TEXT),
    "large": pa.array(TEXT, pa.large_string()),
    "view": pa.array(TEXT, pa.string_view()),
    "chunks": pa.chunked_array([TEXT[:1], TEXT[1:]]),
    "dictionary": pa.array(TEXT).dictionary_encode(),
    "dictionary of equal values": pa.DictionaryArray.from_arrays(INDICES, pa.array(["a", "b", "b"])),
    "dictionary with null": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["b", None, "a"])),
    "dictionaries": pa.chunked_array([pa.array(TEXT[:2]).dictionary_encode(), pa.array(TEXT[2:]).dictionary_encode()]),
    "runs": runs(TEXT),
    "chunks of runs": pa.chunked_array([runs(TEXT[:2]), runs(TEXT[2:])]),
}  # fmt: skip
OF_NUMBERS: dict[str, Any] = {
    "list": NUMBERS,
    "floats": np.array([2, np.nan, 1, 2]),
    "big-endian": np.array([2, np.nan, 1, 2], dtype=">f4"),
    "masked": np.ma.masked_array([2, 9, 1, 2], mask=[0, 1, 0, 0]),
    "masked objects": np.ma.masked_array([2, 9, 1, 2], mask=[0, 1, 0, 0], dtype=object),
    "pandas": pd.Series(NUMBERS),
    "Int64": pd.Series(NUMBERS, dtype="Int64"),
    "sparse": pd.Series(pd.arrays.SparseArray([2, np.nan, 1, 2])),
    "category": pd.Series(NUMBERS, dtype=pd.CategoricalDtype([1, 2])),
    "ArrowDtype": pd.Series(NUMBERS, dtype=pd.ArrowDtype(pa.int8())),
    "polars": pl.Series(NUMBERS),
    "wide": pl.Series(NUMBERS, dtype=pl.Int128),
    "arrow": pa.array(NUMBERS, pa.uint8()),
    "decimals": pa.array(NUMBERS, pa.decimal128(9, 3)),
    "extension": pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "a", "b"), pa.array(NUMBERS)),
    "dictionary": pa.array(NUMBERS).dictionary_encode(),
    "runs": runs(NUMBERS),
    "half": pa.array([np.float16(2), None, np.float16(1), np.float16(2)], pa.float16()),
}


@pytest.mark.parametrize("name", OF_TEXT)
def test_text_is_the_same_in_every_container(name: str) -> None:
    found, keys = codes(OF_TEXT[name])
    assert [None if place < 0 else keys[place] for place in found] == TEXT
    assert len(keys) == len(set(keys))
    owners = labels(OF_TEXT[name])
    assert owners[0] == owners[3] != owners[2]
    assert owners[1] == -1
    assert len(column(OF_TEXT[name])) == 4


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_are_the_same_in_every_container(name: str) -> None:
    assert np.array_equal(numbers(OF_NUMBERS[name]), [2, np.nan, 1, 2], equal_nan=True)
    found, keys = codes(OF_NUMBERS[name])
    assert [None if place < 0 else keys[place] for place in found] == NUMBERS
    assert (labels(OF_NUMBERS[name]) < 0).tolist() == [False, True, False, False]


def test_buffers_are_columns() -> None:
    for given in (array.array("d", [1, 2]), memoryview(np.array([1, 2])), range(1, 3)):
        assert numbers(given).tolist() == [1, 2]


def test_floats_are_not_copied() -> None:
    values = np.arange(5.0)
    for given in (values, pa.array(values), pl.Series(values), pd.Series(values)):
        assert np.shares_memory(numbers(given), np.asarray(given)), type(given)


PAIRS = np.array([(1, 2.0)], dtype=[("a", "i8"), ("b", "f8")])


@pytest.mark.parametrize(
    "values",
    [
        PAIRS,
        np.array([1j]),
        pa.array([[1]]),
        pa.array([{"a": 1}]),
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pl.Series([[1]]),
        pd.Series(pd.period_range("2020", "2021", freq="Y")),
        pd.Series(pd.interval_range(0, 2)),
        pa.array(pd.period_range("2020", "2021", freq="Y").array),
    ],
    ids=lambda values: str(getattr(values, "dtype", getattr(values, "type", ""))),
)
def test_a_type_that_is_no_value_is_refused_by_its_type(values: Any) -> None:
    for given in (values, values[:0]):
        with pytest.raises(
            InvalidParameterError, match=r"units must be numbers, text, dates or booleans, got"
        ) as caught:
            column(given, "units")
        assert "77" not in str(caught.value)


def test_text_of_numpy_is_named_without_the_length_of_the_longest() -> None:
    said = set()
    for rows in (["a"], ["abcdef"]):
        with pytest.raises(InvalidParameterError) as caught:
            numbers(np.array(rows))
        said.add(str(caught.value))
    assert len(said) == 1


class Broken:
    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ValueError("77")


def test_an_error_of_a_library_is_not_passed_on() -> None:
    for broken in (Broken(), pd.MultiIndex.from_tuples([(77, 1)])):
        with pytest.raises(InvalidParameterError) as caught:
            column(broken)
        assert "77" not in str(caught.value)
        assert caught.value.__context__ is None
