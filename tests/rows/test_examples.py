"""One row that changed how others were read, was shown, or ended the process: each was found in a release."""

import datetime
import subprocess
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable import statistics as st
from deniable.errors import DeniableError
from deniable.mechanisms import Laplace
from deniable.mechanisms.tested import SampleAndAggregate
from deniable.noise.bits import DeterministicBits

BITS = DeterministicBits(1)
SURE: dict[str, Any] = {"epsilon": 100, "bits": BITS}


def test_units_of_a_category_are_told_apart_beside_a_missing_one() -> None:
    """Units above 2^53 were read as floats as soon as one row was missing: 999 of them were 5."""
    ids = list(range(2**53, 2**53 + 999))
    category = pd.CategoricalDtype(ids)
    counts = [st.count([1] * 999, units=pd.Series(rows, dtype=category), **SURE) for rows in (ids, [None, *ids[1:]])]
    assert [int(count["count"][0]) for count in counts] == [999, 998]


def test_keys_of_a_category_stay_integers_beside_a_missing_one() -> None:
    column = pd.Series([1] * 400 + [None], dtype=pd.CategoricalDtype([1, 2]))
    assert repr(list(st.key_counts(column, epsilon=1, delta=1e-6, bits=BITS)["key"])) == "[1]"


@pytest.mark.parametrize("make", [pl.Series, lambda rows: pd.Series(rows, dtype="boolean")])
def test_a_function_of_blocks_gets_one_type_with_and_without_a_missing_row(make: Any) -> None:
    """One NULL made floats of integers and objects of booleans in every block, and the answer 0."""
    mechanism = SampleAndAggregate(inner=Laplace(scale="1/100"), blocks=20, bounds=(0, 10))

    def answer(rows: list[bool | None]) -> int:
        return mechanism.release((make(rows), lambda part: 10 * (part.dtype == np.float64)), bits=BITS).value

    assert answer([True] * 400) == answer([True] * 399 + [None]) == 200
    types: set[str] = set()
    for rows in ([True] * 40, [True] * 39 + [None]):
        st.subsampled_test(make(rows), test=lambda part: types.add(str(part.dtype)) or 0.5, blocks=4, **SURE)
    assert types == {"float64"}


def test_broken_text_of_arrow_is_missing_and_not_quoted() -> None:
    offsets = np.array([0, 1, 8], dtype=np.int32)
    column = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(b"asecret\xff")])
    answer = st.histogram(column, keys=["a"], other=True, **SURE)
    assert list(answer["count"]) == [1, 1]
    seen: list[Any] = []
    st.subsampled_test(column, test=lambda part: seen.extend(part) or 0.5, blocks=1, **SURE)
    assert seen == ["a", None]


def test_a_masked_entry_of_a_list_draws_no_warning() -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        assert float(st.sum([1.0, np.ma.masked, 2.0], bounds=(0, 4), **SURE)["sum"][0]) == pytest.approx(3, abs=0.2)
    assert not warned


def test_fractions_are_numbers() -> None:
    assert float(st.sum([Fraction(1, 2)] * 100, bounds=(0, 1), **SURE)["sum"][0]) == pytest.approx(50, abs=0.5)


def test_one_person_has_one_unit_in_whatever_type_the_id_is_written() -> None:
    answer = st.count([1, 1, 1, 1], units=[1, 1.0, True, Decimal("1.0")], **SURE)
    assert list(answer["count"]) == [1]


class Name(str):
    """Text of another class."""


ZONE = datetime.timezone(datetime.timedelta(hours=5))
NOON = datetime.datetime(2020, 1, 1, 12, tzinfo=datetime.UTC)
SPELT = [
    (Decimal("1"), Decimal("1.000")),
    (Decimal("0"), Decimal("-0")),
    (NOON, NOON.astimezone(ZONE)),
    (NOON.replace(tzinfo=None), NOON.replace(tzinfo=None, fold=1)),
    (NOON.replace(tzinfo=None), pd.Timestamp(2020, 1, 1, 12)),
    ("a", Name("a")),
    (1, np.int64(1)),
]


@pytest.mark.parametrize(("key", "spelt"), SPELT, ids=repr)
def test_one_row_does_not_choose_how_a_key_is_spelt(key: object, spelt: object) -> None:
    """The first of 401 equal rows chose it, with probability 1, at epsilon = 0.1."""
    for rows in ([key] * 401, [spelt, *[key] * 400], [*[key] * 400, spelt], [spelt] * 401):
        for answer in (
            st.key_counts(rows, epsilon=0.1, delta=1e-6, bits=BITS),
            st.top_k(rows, k=1, epsilon=0.1, delta=1e-6, bits=BITS),
        ):
            (found,) = answer["key"]
            assert repr(found) == repr(key)
            assert type(found) is type(key)


def test_values_of_a_dictionary_may_be_null_or_equal() -> None:
    values = pa.array(["a", None, "a"])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 200 + [1] * 200 + [2] * 200), values)
    answer = st.key_counts(column, epsilon=10, delta=1e-3, bits=BITS)
    assert list(answer["key"]) == ["a"]
    assert abs(int(answer["count"][0]) - 400) < 10
    assert int(st.count([1] * 600, units=column, **SURE)["count"][0]) == 1


def test_a_moment_before_integers_of_numpy_does_not_end_the_process() -> None:
    code = (
        "import numpy as np, deniable.statistics as st\n"
        "rows = [np.datetime64(1, 'ns'), *map(np.int64, range(9))]\n"
        "st.count(rows, epsilon=1); st.count(range(10), units=rows, epsilon=1)\n"
        "st.key_counts(rows, epsilon=1, delta=1e-6)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_error_says_the_same_of_neighbours_and_quotes_none() -> None:
    """numpy said: could not convert string to float: np.str_('a')."""

    def error(make: Any) -> str:
        with pytest.raises(DeniableError) as caught:
            st.mean(make, bounds=(0, 1), epsilon=1)
        return f"{caught.value} {caught.value.__context__}"

    for masked in (False, True):
        columns = [np.array(rows) for rows in (["a"], ["a secret that is long"])]
        said = {error(np.ma.masked_array(column, mask=[False]) if masked else column) for column in columns}
        assert len(said) == 1
        assert "secret" not in said.pop()
    hidden = np.ma.masked_array(["a", "b"], mask=[True, False])
    assert st.subsampled_test(hidden, test=len, blocks=1, **SURE).safe is False


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["a", "b"])])
def test_categories_of_polars_are_read(kind: Any) -> None:
    column = pl.Series(["a"] * 300 + [None], dtype=kind)
    assert list(st.key_counts(column, epsilon=1, delta=1e-6, bits=BITS)["key"]) == ["a"]
    assert int(st.count(column, **SURE)["count"][0]) == 300


@pytest.mark.parametrize("raised", [SystemExit, GeneratorExit, type("Stop", (KeyboardInterrupt,), {})])
def test_whatever_a_function_of_the_user_raises_is_a_bad_answer(raised: type[BaseException]) -> None:
    def function(block: Any) -> float:
        raise raised("a row")

    answer = st.subsampled_test([1.0] * 40, test=function, blocks=4, **SURE)
    assert float(answer["statistic"][0]) == 0
    mechanism = SampleAndAggregate(inner=Laplace(scale="1/100"), blocks=4, bounds=(2, 10))
    assert mechanism.release(([1] * 40, function), bits=BITS).value == 8


def test_the_type_of_an_object_column_in_sql_is_not_that_of_its_rows() -> None:
    said = set()
    for odd in (1, 1.5):
        frame = pd.DataFrame({"x": pd.Series([1] * 60 + [odd], dtype=object)})
        columns = {"x": dn.Number(lower=0, upper=2)}
        db = dn.connect(frame, name="t", unit=dn.each_row(), columns=columns, budget=dn.Budget(epsilon=9))
        answer = db.sql("SELECT SUM(x) AS s FROM t", epsilon=1)
        said.add((str(answer.cost), str(answer.to_arrow().schema)))
    assert len(said) == 1
