"""Mondrian and suppression keep what they promise, by the measures; and tables of counts."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn
from deniable import attacks
from deniable.attacks.anonymity.generalise import read_counts
from deniable.errors import InvalidParameterError

ADULT = Path(__file__).parents[4] / "shared" / "data" / "adult.csv"
QUASI = ["department", "age", "years"]


def holds(label: str, value: Any) -> bool:
    """Whether a label says that its part may hold a value."""
    if value is None:
        return label.endswith("missing")
    known = label.removesuffix(", missing")
    if " to " in known:
        lower, upper = known.split(" to ")
        return float(lower) <= float(value) <= float(upper)
    return str(value) in known.split(", ")


@pytest.mark.parametrize("k", [1, 2, 5, 60])
def test_a_generalised_table_is_k_anonymous_and_says_what_is_true(k: int) -> None:
    exact = pl.from_arrow(dn.datasets.survey())
    found = attacks.generalise(exact, quasi=QUASI, k=k)
    assert isinstance(found, pl.DataFrame)
    assert attacks.k_anonymity(found, quasi=QUASI) >= k
    assert found.drop(QUASI).equals(exact.drop(QUASI))
    assert attacks.measure_anonymity(found, quasi=QUASI).classes > 4000 / (60 * k)
    for name in QUASI:
        assert all(map(holds, found[name], exact[name]))


def test_a_cut_keeps_equal_people_together() -> None:
    age = pl.DataFrame({"age": [30] * 5 + [40] * 3, "x": range(8)})
    assert attacks.generalise(age, quasi="age", k=4)["age"].to_list() == ["30 to 40"] * 8


def test_the_widest_quasi_identifier_is_cut_first_where_both_halves_stay_large_enough() -> None:
    table = pl.DataFrame({"a": [1, 2, 3, 4], "b": ["x", "x", "x", "y"]})
    found = attacks.generalise(table, quasi=["a", "b"], k=2)
    assert found["a"].to_list() == ["1 to 2", "1 to 2", "3 to 4", "3 to 4"]
    assert found["b"].to_list() == ["x", "x", "x, y", "x, y"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_frames_come_back_as_they_came_with_missing_values_named(kind: Any) -> None:
    table = kind({"age": [30.0, None, 31.0, 50.0], "ill": ["a", "b", None, "d"]})
    found = attacks.generalise(table, quasi=["age", "ill"], k=4)
    assert type(found) is type(table)
    assert attacks.k_anonymity(found, quasi=["age", "ill"]) == 4
    assert str(next(iter(found["age"]))) == "30.0 to 50.0, missing"
    kept = attacks.suppress(kind({"age": [30, 30, 31]}), quasi="age", k=2)
    assert attacks.k_anonymity(kept, quasi="age") == 2


def test_an_index_does_not_matter() -> None:
    table = pd.DataFrame({"age": [50, 30, 51, 31]}, index=[3, 3, 0, 1])
    found = attacks.generalise(table, quasi="age", k=2)
    assert found["age"].tolist() == ["50 to 51", "30 to 31"] * 2
    assert found.index.tolist() == [3, 3, 0, 1]
    assert attacks.suppress(table.assign(age=[1, 2, 3, 1]), quasi="age", k=2).index.tolist() == [3, 1]


@pytest.mark.skipif(not ADULT.exists(), reason="needs the shared data")
def test_the_people_of_a_census_become_k_anonymous() -> None:
    quasi = ["age", "education-num", "race", "sex", "native-country"]
    adult = pl.read_csv(ADULT)
    assert attacks.k_anonymity(adult, quasi=quasi) == 1
    found = attacks.generalise(adult, quasi=quasi, k=5)
    assert attacks.k_anonymity(found, quasi=quasi) == 5
    assert attacks.measure_anonymity(attacks.suppress(adult, quasi=quasi, k=5), quasi=quasi).rows == 40_596


def test_counts_are_suppressed_and_rounded() -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"a": rng.integers(0, 4, 200), "b": rng.choice(["x", "y", None], 200)}).sample(frac=1)
    table = attacks.tabulate(rows, by=["a", "b"], count="people")
    expected = rows.groupby(["a", "b"], dropna=False).size()
    assert sorted(table["people"]) == sorted(expected)
    kept = attacks.tabulate(rows, by=["a", "b"], count="people", suppress_below=15)
    assert sorted(kept["people"]) == sorted(count for count in expected if count >= 15)
    rounded = attacks.tabulate(rows, by=["a", "b"], count="people", round_to=10)
    assert sorted(rounded["people"]) == sorted(10 * ((count + 5) // 10) for count in expected)


def test_bad_questions_are_refused() -> None:
    table = pl.DataFrame({"a": [1, 2], "count": ["many", "few"]})
    for said, ask in [
        ("k must be", lambda: attacks.generalise(table, quasi="a", k=3)),
        ("k must be", lambda: attacks.generalise(table, quasi="a", k=0)),
        ("hold counts", lambda: read_counts(table, "count")),
        ("no column", lambda: read_counts(table, "n")),
        ("round_to must be >= 1", lambda: attacks.tabulate(table, by="a", round_to=0)),
        ("a name that no column", lambda: attacks.tabulate(table, by=["a", "count"])),
    ]:
        with pytest.raises(InvalidParameterError, match=said):
            ask()
