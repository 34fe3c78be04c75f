import array
import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.rows import codes, column, numbers, table, whole_numbers


def memoryview_of(row: list[float]) -> memoryview:
    return memoryview(np.array(row))


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
    assert np.array_equal(numbers(odd), [1, np.inf, -np.inf, 0.5, 7, np.nan, np.nan, np.nan], equal_nan=True)


@pytest.mark.parametrize(
    "values", [np.array(["a", "b"]), np.array(["2020-01-01"], dtype="datetime64[D]"), np.ones((1, 2)), 3]
)
def test_what_holds_no_column_of_numbers_is_refused_without_a_value(values: object) -> None:
    with pytest.raises(InvalidParameterError, match="must be") as caught:
        numbers(values, "ages")
    assert "ages" in str(caught.value)
    assert "2020" not in str(caught.value)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_keep_their_names(frame: Any) -> None:
    values, names = table(frame({"a": [1, 2], "b": [3.0, None]}), columns=2)
    assert names == ("a", "b")
    assert np.array_equal(values, [[1, 3], [2, np.nan]], equal_nan=True)


def test_columns_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="features must have columns of different names"):
        table(pd.DataFrame([[1, 2]], columns=["a", "a"]), "features", columns=2)


def test_arrays_get_names() -> None:
    values, names = table(np.arange(6).reshape(3, 2), columns=2)
    assert values.shape == (3, 2)
    assert names == ("x0", "x1")
    with pytest.raises(InvalidParameterError, match="must be a table"):
        table(np.arange(2), columns=2)


@pytest.mark.parametrize("odd", [[5], [5, 6, 7], "ab", None, 5, {"a": 1}, [[5, 6]], ["a", None], object()])
def test_a_row_of_a_list_is_read_by_itself(odd: object) -> None:
    """One row of another kind changes no other row and raises nothing; alone or among others it is missing."""
    alike = table([[1, 2], [3.5, True]], columns=2)[0]
    assert alike.tolist() == [[1, 2], [3.5, 1]]
    beside = table([[1, 2], [3.5, True], odd], columns=2)[0]
    assert np.array_equal(beside[:2], alike)
    assert np.isnan(beside[2]).all()
    assert np.isnan(table([odd], columns=2)[0]).all()
    one = numbers([1, 2.5, odd])
    assert one[:2].tolist() == [1, 2.5]
    assert np.isnan(one[2]) or one[2] == odd


@pytest.mark.parametrize(
    "row",
    [list, tuple, np.array, pd.Series, pl.Series, pd.Index, lambda x: array.array("d", x), memoryview_of],
)
@pytest.mark.parametrize("odd", [[5.0], "ab", None, ["a", 2.0]], ids=str)
def test_rows_of_any_kind_are_read_alike_beside_an_odd_one(row: Any, odd: object) -> None:
    alike = table([row([1.0, 2.0]), row([3.0, 4.0])], columns=2)[0]
    assert alike.tolist() == [[1, 2], [3, 4]]
    assert np.array_equal(table([row([1.0, 2.0]), row([3.0, 4.0]), odd], columns=2)[0][:2], alike)
    narrow = table([row([1.0]), row([3.0])], columns=1)[0]
    assert np.array_equal(table([row([1.0]), row([3.0]), odd], columns=1)[0][:2], narrow)


def test_arrays_without_a_dimension_are_numbers_beside_anything() -> None:
    column = [np.array(1.0), np.array(2)]
    assert numbers(column).tolist() == numbers([*column, "a"])[:2].tolist() == [1, 2]
    assert np.isnan(numbers([np.array("a"), np.array([1.0]), 1.0])[:2]).all()


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
def test_masked_entries_of_lists_are_missing_beside_anything() -> None:
    masked = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    for odd in ([3.0, 4.0], "a"):
        assert np.array_equal(table([masked, odd], columns=2)[0][0], [1, np.nan], equal_nan=True)
        assert np.isnan(numbers([np.ma.masked, odd])[0])


def test_one_column_may_be_a_list_of_rows_or_of_numbers() -> None:
    assert table([1, [2], [], "a"], columns=1)[0].ravel() == pytest.approx([1, 2, np.nan, np.nan], nan_ok=True)
    assert np.isnan(numbers([[1.0], [2.0]])).all()  # as they are beside a number
    assert np.isnan(numbers([[1.0], 2.0])[0])


@pytest.mark.parametrize(
    "other",
    [
        "x",
        b"x",
        0.5,
        None,
        10**400,
        1j,
        np.complex128(1),
        [2, 3],
        datetime.date(2020, 1, 1),
        np.datetime64("2020-01-01"),
        np.timedelta64(1, "s"),
        np.timedelta64("NaT"),
        Decimal("sNaN"),
        pd.NA,
        pd.NaT,
        True,
        np.longdouble("1e400"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("first", [1.0, True, 2**53 + 1, Decimal("1.5"), "1"])
@pytest.mark.filterwarnings("error")
def test_one_row_does_not_change_the_others(first: object, other: object) -> None:
    rows = [first] * 3
    assert np.array_equal(numbers([*rows, other])[:3], numbers(rows), equal_nan=True)
    found, distinct = codes([*rows, other])
    assert found[:3].tolist() == [0, 0, 0]
    assert repr(distinct[0]) == repr(first)
    units = [2**53, 2**53 + 1, 2**53 + 2, other]
    assert len(set(codes(units)[0][:3].tolist())) == 3


@pytest.mark.filterwarnings("error")
def test_signalling_nan_overflow_and_masked_values_are_quiet() -> None:
    signalling = np.array([0x7F800001], dtype=np.uint32).view(np.float32)
    assert np.isnan(numbers(signalling)).all()
    assert numbers(np.array([np.longdouble("1e400")])).max() == np.inf
    masked = np.ma.masked_array([1, 2], mask=[False, True])
    assert np.array_equal(numbers(masked), [1, np.nan], equal_nan=True)
    assert codes(masked)[0].tolist() == [0, -1]
    assert numbers(np.ma.masked_array(["a"], mask=[False]).astype(object)).shape == (1,)
    assert codes(np.array([1, 2], dtype=">i8"))[1] == [1, 2]


def test_integer_columns_are_whole_numbers_with_and_without_null() -> None:
    big = 2**53 + 1
    for kind in (pa.array, pl.Series, lambda x: pd.Series(x, dtype="Int64"), lambda x: pa.chunked_array([x])):
        for rows in ([big, 2], [big, None]):
            found = whole_numbers(kind(rows))
            assert found is not None
            assert found[0][0] == big
            assert found[1].tolist() == [False, rows[1] is None]
    for other in ([big], np.array([big], dtype=object), pa.array([0.5]), np.array([0.5]), ["a"]):
        assert whole_numbers(other) is None
    assert whole_numbers(np.array([2**64 - 1], dtype=np.uint64))[0].tolist() == [2**63 - 1]  # type: ignore[index]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (pd.DataFrame({"a": [1.0]}), r'got a table\. Pick one of its columns: frame\["income"\]\.'),
        (pl.DataFrame({"a": [1.0]}), "got a table"),
        ("income", r"got str\. Pass the rows themselves"),
        ({"income": [1.0]}, "got dict"),
        (5, "got int"),
        (None, "got NoneType"),
    ],
)
def test_what_is_no_column_is_named(wrong: object, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        numbers(wrong)
    if wrong is not None:
        with pytest.raises(InvalidParameterError, match=said):
            column(wrong, "units")


def test_columns_may_be_numbered() -> None:
    """pandas calls the columns of a bare array 0, 1, ...; those were taken for rows."""
    found, names = table(pd.DataFrame(np.arange(6.0).reshape(3, 2)), columns=2)
    assert found.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert names == ("0", "1")


def test_integers_of_128_bits_are_read_one_by_one() -> None:
    """Polars takes them for a column as soon as one value needs them, and numpy and Arrow know none."""
    column = pl.Series([2**70, 1, None, -(2**70)])
    assert column.dtype == pl.Int128
    found = numbers(column)
    assert found[[0, 1, 3]].tolist() == [2.0**70, 1.0, -(2.0**70)]
    assert np.isnan(found[2])
    places, distinct = codes(column)
    assert places.tolist() == [0, 1, -1, 2]
    assert distinct == [2**70, 1, -(2**70)]
    assert whole_numbers(column) is None
