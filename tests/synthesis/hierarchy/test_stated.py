"""Tables of public numbers are read by their columns."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError
from deniable.synthesis.hierarchy.stated import read_constraints
from tests.synthesis.hierarchy.trees import CELLS, TREE

STATES = {"state": ["s", "n"], "count": [20, 10]}


def read(invariants: Any = None, at_least: Any = None) -> Any:
    return read_constraints(TREE, CELLS, invariants=invariants, at_least=at_least)


@pytest.mark.parametrize("table", [STATES, pa.table(STATES), pd.DataFrame(STATES)], ids=["dict", "arrow", "pandas"])
def test_totals_are_held_by_unit(table: Any) -> None:
    held = read(invariants=[table, {"count": [30]}]).totals
    assert {level: totals.tolist() for level, totals in held.items()} == {0: [30], 1: [10, 20]}


def test_least_counts_are_of_units_or_of_cells() -> None:
    by_unit = {"state": ["s"], "county": [3], "count": [2]}
    by_cell = {"state": ["n", "n"], "county": [1, 1], "age": [0, 2], "sex": ["m", "f"], "count": [3, 1]}
    made = read(at_least=[by_unit, by_cell])
    assert made.minimum_totals[2].tolist() == [0, 0, 0, 0, 2]
    assert made.minima[2][0].tolist() == [0, 3, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ({"county": [1], "count": [3]}, "levels from 'state' on"),
        ({"state": ["n"]}, "needs the column 'count'"),
        ({"state": ["n", "s"], "count": [3]}, "one length"),
        ({"state": ["x"], "count": [3]}, "names the unit x, which is not declared"),
        ({"state": ["n", "n"], "count": [3, 3]}, "twice"),
        ({"state": ["n"], "count": [-1]}, "count must be >= 0"),
        ({"state": ["n"], "count": [2.5]}, "whole number"),
        ({"state": ["n"], "count": [None]}, "whole number"),
        ({"state": ["n"], "count": [2**60]}, "count must be <="),
        ({"state": ["n"], "sex": ["f"], "count": [3]}, "age, sex together or not at all"),
        ({"state": ["n"], "age": [9], "sex": ["f"], "count": [3]}, "names the cell 9/f"),
        (7, "or a frame, got 7"),
    ],
)
def test_other_tables_are_refused(table: Any, text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        read(at_least=table)


def test_keys_may_be_text() -> None:
    made = read(at_least={"state": ["n"], "county": ["2"], "age": ["1"], "sex": ["m"], "count": [4]})
    assert made.minima[2][1].tolist() == [0, 0, 0, 4, 0, 0]


def test_invariants_are_totals() -> None:
    with pytest.raises(InvalidParameterError, match="leave the counted columns out"):
        read(invariants={"state": ["n"], "age": [0], "sex": ["f"], "count": [3]})
