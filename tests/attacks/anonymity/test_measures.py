"""The measures beside their definitions, and beside the tables on which another library is wrong."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from deniable import attacks
from deniable.errors import InvalidParameterError
from tests.attacks.anonymity.plain import Rows, measures, tables

PUMS = Path(__file__).parents[4] / "shared" / "data" / "PUMS_null.csv"
KINDS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "arrow": pa.table,
}
QUASI = {"quasi": ["a", "b"]}
BOTH: dict[str, Any] = {**QUASI, "sensitive": "c"}


def frame(rows: Rows, kind: str = "pandas") -> Any:
    return KINDS[kind]({name: [row[place] for row in rows] for place, name in enumerate("abc")})


def measured(table: Any, *, values: int = 2) -> dict[str, float]:
    return {
        "k": attacks.k_anonymity(table, **QUASI),
        "distinct": attacks.l_diversity(table, **BOTH),
        "entropy": attacks.l_diversity(table, **BOTH, kind="entropy"),
        "recursive": attacks.recursive_diversity(table, **BOTH, values=values),
        "delta": attacks.delta_disclosure(table, **BOTH),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_measures_are_what_their_definitions_say(kind: str) -> None:
    for rows in tables(1, 20):
        assert measured(frame(rows, kind)) == pytest.approx(measures(rows))


def test_a_missing_quasi_identifier_is_a_class_and_drops_no_row() -> None:
    rows = [(1.0, 0, "x")] * 5 + [(None, 0, "x")]
    for kind in KINDS:
        assert attacks.k_anonymity(frame(rows, kind), **QUASI) == 1
    nan = pl.DataFrame({"a": [1.0, None, math.nan], "b": [0, 0, 0]})
    assert attacks.k_anonymity(nan[1:], **QUASI) == 2, "null and NaN are one missing value"


def test_rows_are_positions_whatever_the_index() -> None:
    rows = [row for table in tables(3, 10) for row in table]
    plain = frame(rows)
    expected = measured(plain)
    for index in (np.random.default_rng(0).permutation(len(rows)), np.zeros(len(rows)), np.arange(len(rows)) * 7 + 3):
        assert measured(plain.set_axis(index)) == expected
    shuffled = plain.sample(frac=1, random_state=1)
    assert measured(shuffled) == pytest.approx(expected)
    kept = plain[plain["b"] == 1]
    assert measured(kept) == pytest.approx(measures([row for row in rows if row[1] == 1]))


def test_recursive_diversity_sorts_the_counts_downwards() -> None:
    rows = [(1, 0, secret) for secret in "aaaaabbc"]
    assert attacks.recursive_diversity(frame(rows), **BOTH, values=2) == pytest.approx(5 / 3)
    assert attacks.recursive_diversity(frame(rows), **BOTH, values=3) == 5
    assert attacks.recursive_diversity(frame(rows), **BOTH, values=4) == math.inf


def test_a_secret_absent_from_a_class_makes_delta_infinite() -> None:
    rows = [(1, 0, "x"), (1, 0, "y"), (2, 0, "x"), (2, 0, "x")]
    assert attacks.delta_disclosure(frame(rows), **BOTH) == math.inf
    assert attacks.delta_disclosure(frame([*rows, (2, 0, "y")]), **BOTH) == pytest.approx(math.log(5 / 4))


@pytest.mark.parametrize("values", [2, 3, 5, 7, 11])
def test_entropy_of_equally_frequent_secrets_is_their_number_exactly(values: int) -> None:
    rows = [(1, 0, secret) for secret in range(values)] * 3
    assert attacks.l_diversity(frame(rows), **BOTH, kind="entropy") == values


def test_entropy_is_not_cut_to_a_whole_number() -> None:
    rows = [(1, 0, secret) for secret in "aaab"]
    assert attacks.l_diversity(frame(rows), **BOTH, kind="entropy") == pytest.approx(4 / 3**0.75)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"quasi": []}, "quasi needs the name of at least one column"),
        ({"quasi": ["a", "a"]}, "twice"),
        ({"quasi": "nothing"}, "no column of the table: nothing. It has: a, b, c"),
        ({"sensitive": "a"}, "and sensitive"),
        ({"sensitive": ["c"]}, "one sensitive attribute"),
        ({"kind": "cubic"}, "entropy"),
    ],
)
def test_bad_questions_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        attacks.l_diversity(frame([(1, 0, "x")]), **{**BOTH, **given})


def test_diversity_of_no_values_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="values"):
        attacks.recursive_diversity(frame([(1, 0, "x")]), **BOTH, values=0)


def test_one_row_is_alone() -> None:
    assert measured(frame([(1, 0, "x")])) == measures([(1, 0, "x")])


@pytest.mark.skipif(not PUMS.exists(), reason="needs the shared data")
def test_a_real_table_with_missing_values_is_measured_as_its_definition_says() -> None:
    table = pl.read_csv(PUMS).with_columns(pl.col("educ").fill_null(0).mod(3)).head(300)
    rows = table.select("sex", "married", "educ").rows()
    named = table.select(a="sex", b="married", c="educ")
    assert measured(named) == pytest.approx(measures(rows))
