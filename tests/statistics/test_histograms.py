import datetime
from decimal import Decimal
from itertools import product
from math import ceil, log
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.ledger import Ledger
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace
from deniable.statistics.histograms import Histogram, histogram, indices_of

BITS = DeterministicBits(1)
KINDS = [list, np.array, pd.Series, pl.Series, pa.array, lambda x: pa.chunked_array([x])]


def exact(values: Any, units: Any = None, **parameters: Any) -> list[int]:
    return Histogram(epsilon=1, **parameters)._exact(values, units, BITS).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_every_kind_of_column_are_counted(kind: Any) -> None:
    assert exact(kind(["a", "b", "a", "c"]), keys=["c", "a", "x"]) == [1, 2, 0]
    assert exact(kind([3, 5, 3, 9]), keys=[3, 4, 5], other=True) == [2, 0, 1, 1]
    assert exact(kind([3, 5, 3, 9]), keys=[10**9, 3]) == [0, 2]
    assert exact(kind([1.5, 2.0, 1.5]), keys=[2, 1.5]) == [1, 2]
    assert exact(kind([True, False, True]), keys=[True, False]) == [2, 1]


def test_nulls_count_in_no_bin_or_in_the_other() -> None:
    for values in (["a", None, "z"], pd.Series(["a", None, "z"]), pl.Series(["a", None, "z"])):
        assert exact(values, keys=["a"]) == [1]
        assert exact(values, keys=["a"], other=True) == [1, 2]
    assert exact([1.0, float("nan")], keys=[1], other=True) == [1, 1]
    assert exact([None, None], keys=["a"], other=True) == [0, 2]
    assert exact([], keys=["a"], other=True) == [0, 0]
    assert exact([0.5, float("nan"), float("inf"), None, -1], bins=[0, 1], other=True) == [1, 4]


def test_dates_and_categories_are_keys_too() -> None:
    day = datetime.date(2020, 1, 2)
    assert exact([day, None], keys=[day]) == [1]
    assert exact(pd.Categorical(["x", None, "x"]), keys=["x", "y"]) == [2, 0]
    assert exact(pa.array(["x", None, "x"]).dictionary_encode(), keys=["x", "y"], other=True) == [2, 0, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint64])
def test_integers_of_every_width_are_counted(dtype: Any) -> None:
    """At the ends of the type too, where one below the first key does not exist."""
    values = np.array([0, 1, 1, np.iinfo(dtype).max], dtype=dtype)
    assert exact(values, keys=[0, 1, 2]) == [1, 2, 0]
    assert exact(values, keys=[1, 2], other=True) == [2, 0, 2]


@pytest.mark.parametrize(
    "edges", [np.linspace(-1, 3, 41), [0, 0.1, 0.2, 0.3, 5], [-1e300, 0, 1e300], [0, 1], np.arange(7) * 0.1]
)
def test_bins_hold_what_numpy_says(edges: Any) -> None:
    random = np.random.default_rng(1).normal(1, 2, 40_000)
    near = np.concatenate([np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)])
    values = np.concatenate([random, near, [np.inf, -np.inf, 1.7e308]])
    expected = np.histogram(values, np.array(edges, dtype=float))[0].tolist()
    assert exact(values, bins=edges) == expected
    assert exact(np.append(values, np.nan), bins=edges, other=True) == [*expected, len(values) + 1 - sum(expected)]


@pytest.mark.parametrize("relation", [AddRemove, Replace], ids=str)
@pytest.mark.parametrize(("rows", "other"), [(1, False), (1, True), (2, False)])
def test_no_unit_moves_the_counts_further(relation: Relation, rows: int, other: bool) -> None:
    """Brute force over the rows of one unit, in every bin, in none and missing; the bounds are attained."""
    plan = Histogram(keys=["a", "b"], epsilon=1, relation=relation, rows=rows, other=other)
    ours = [list(c) for n in range(rows + 1) for c in product(["a", "b", "z", None], repeat=n)]
    if relation is Replace and rows == 1:
        ours = ours[1:]
    counts = [plan._exact(["a", *unit], ["x", *["y"] * len(unit)], BITS) for unit in ours]
    base = plan._exact(["a"], ["x"], BITS)
    changes = [a - b for a, b in product(counts, counts)] if relation is Replace else [c - base for c in counts]
    reach = plan.sensitivity
    assert max(np.abs(c).sum() for c in changes) == reach.l1
    assert max((c**2).sum() for c in changes) == reach.l2_squared
    assert max(np.abs(c).max() for c in changes) == reach.linf


def test_units_count_with_so_many_rows_in_bins() -> None:
    values, units = ["z", "z", "a", "b", "b"], [1, 1, 1, 2, 2]
    assert exact(values, units, keys=["a", "b"]) == [1, 1]
    assert exact(values, units, keys=["a", "b"], rows=2) == [1, 2]
    assert sum(exact(values, units, keys=["a", "b"], rows=2, other=True)) == 4
    assert exact([1.5, 0.5, 7.0], [1, 1, 2], bins=[0, 1, 2], rows=2) == [1, 1]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"bins": [0, 1], "keys": [1]},
        {"bins": [0]},
        {"bins": [0, 0]},
        {"bins": [1, 0]},
        {"bins": [0, float("inf")]},
        {"bins": 3},
        {"bins": "abc"},
        {"keys": []},
        {"keys": "abc"},
        {"keys": 3},
        {"keys": ["a", "a"]},
        {"keys": ["a", None]},
        pytest.param({"keys": ["a", object()]}, id="object"),
        {"keys": [1], "epsilon": -1},
    ],
    ids=str,
)
def test_bad_parameters_cost_nothing(wrong: dict[str, Any]) -> None:
    book = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    with pytest.raises(InvalidParameterError):
        histogram([1, 2], ledger=book, **{"epsilon": 1, **wrong})
    assert book.spent().epsilon == 0
    histogram([1, 2], keys=[1], epsilon=1, ledger=book)
    assert book.spent().epsilon == 1


def test_keys_of_another_type_are_refused_without_a_value() -> None:
    with pytest.raises(InvalidParameterError, match="cannot be compared") as caught:
        exact(np.array([31415]), keys=["a", "b"])
    assert "31415" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "keys"), [(1.0, [1, 2]), (True, [True, False]), (2**53 + 1, [2**53 + 1]), ("1", ["1"])]
)
@pytest.mark.parametrize("other", ["x", 0.5, None, float("nan"), 1j, [3]])
def test_one_row_of_a_list_does_not_change_the_others(value: object, keys: list[object], other: object) -> None:
    """Numpy makes texts of all numbers beside a text, and floats of all integers beside a float."""
    assert exact([value] * 100 + [other], keys=keys)[0] == 100
    assert exact([31415], keys=["31415", "b"]) == [0, 0]


def test_the_release_names_its_bins() -> None:
    answer = histogram([1, 3], bins=[0, 2, 4], other=True, epsilon=100, bits=BITS)
    assert answer.columns == ("lower", "upper", "count")
    assert answer["lower"].tolist() == [0, 2, None]
    assert answer["upper"].tolist() == [2, 4, None]
    assert answer["count"].tolist() == [1, 1, 0]
    answer = histogram(["x"], keys=["x", "y"], epsilon=100, bits=BITS)
    assert answer["key"].tolist() == ["x", "y"]
    assert answer.text == "histogram(epsilon=100, keys=('x', 'y'))"
    assert Histogram(bins=[0, Decimal("0.5")], epsilon=1).bins == (0.0, 0.5)


def test_all_counts_are_within_the_simultaneous_error() -> None:
    """Published: (2 / epsilon) ln(k / beta) under replace. 2,000 runs at 90%: standard error 0.7%; five of them."""
    plan = Histogram(keys=range(50), epsilon=1, relation=Replace)
    bound = plan.simultaneous_error(0.9)
    assert bound <= ceil(2 * log(50 / 0.1))
    noise = plan.mechanism.release(np.zeros((2000, 50), dtype=np.int64), bits=DeterministicBits(3)).value
    inside = (np.abs(noise).max(axis=1) <= bound).mean()
    assert 0.9 - 0.035 <= inside <= 0.965
    narrow = (np.abs(noise).max(axis=1) <= 0.7 * bound).mean()
    assert narrow < 0.8
    assert noise.std() == pytest.approx(plan.expected_error(0), rel=0.02)


def test_the_simultaneous_error_of_the_golden_table() -> None:
    """Golden G49: 30.4036 for continuous noise by the union bound; integers do not exceed 30."""
    plan = Histogram(keys=range(100), epsilon="1/2", relation=Replace)
    assert plan.simultaneous_error(0.95) == 30
    assert 2 / 0.5 * log(100 / 0.05) == pytest.approx(30.403609838168329446, rel=1e-12)


def test_the_order_of_rows_changes_nothing() -> None:
    values = np.random.default_rng(1).integers(0, 9, 1000)
    first, second = (histogram(v, keys=range(9), epsilon=1, bits=DeterministicBits(2)) for v in (values, values[::-1]))
    assert first["count"].tolist() == second["count"].tolist()


def test_bins_as_wide_as_floats_count_without_a_warning() -> None:
    assert exact([1e308, -1e308, 1.0, np.inf], bins=[-1.7e308, 0, 1.7e308]) == [1, 2]


@pytest.mark.parametrize("rows", [[], [None, None], [datetime.date(2020, 1, 1)]], ids=["none", "nulls", "one"])
def test_keys_of_another_type_are_refused_whatever_the_rows_are(rows: list[datetime.date | None]) -> None:
    """An error that needs a value is raised after the payment, and tells that there is one."""
    column = pa.array(rows, type=pa.date32())
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="test")
    with pytest.raises(InvalidParameterError, match="cannot be compared"):
        histogram(column, keys=[1, 2], epsilon=1, ledger=ledger)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize("column", [pa.nulls(2), pl.Series([None, None]), pa.nulls(2).dictionary_encode()])
def test_a_column_without_a_type_holds_no_key(column: object) -> None:
    assert indices_of(column, (1, 2)).tolist() == indices_of(column, ("a", "b")).tolist() == [2, 2]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([Decimal("1.00"), Decimal("2.50"), Decimal("1.00")]),
        np.array([1, 2.5, 1], dtype=np.float16),
        pa.array(np.array([1, 2.5, 1], dtype=np.float16)),
        np.array([1, 2.5, 1], dtype=np.longdouble),
    ],
)
def test_whole_keys_are_found_among_numbers_of_any_type(column: object) -> None:
    assert indices_of(column, (1, 2)).tolist() == [0, 2, 0]


def test_keys_are_of_one_type_and_distinct() -> None:
    with pytest.raises(InvalidParameterError, match="of one type"):
        histogram([1], keys=[1, "1"], epsilon=1)
    with pytest.raises(InvalidParameterError, match="must be distinct"):
        histogram([1], keys=[1, 1.0], epsilon=1)


def test_a_number_of_bins_cuts_the_bounds_evenly() -> None:
    cut = histogram([1, 5, 9], bins=3, bounds=(0, "0.3"), epsilon=1, bits=DeterministicBits(1))
    edges = histogram([1, 5, 9], bins=[0, 0.1, 0.2, 0.3], epsilon=1, bits=DeterministicBits(1))
    assert cut.to_dicts() == edges.to_dicts()
    assert cut.text == edges.text
    ends = {"bounds": (0, 1)}
    for wrong in ({"bins": 3}, {"bins": 0, **ends}, {"bins": [0, 1], **ends}, {"keys": [1], **ends}):
        with pytest.raises(InvalidParameterError, match="b"):
            histogram([1], epsilon=1, **wrong)  # type: ignore[arg-type]
