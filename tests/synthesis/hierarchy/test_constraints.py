"""Constraints reach the units above, and contradictions are found before anything is paid."""

from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.synthesis.hierarchy.constraints import FREE, Constraints
from tests.synthesis.hierarchy.trees import CELLS, TREE

STATES = np.array([10, 20])
COUNTIES = np.array([4, 6, -1, -1, 3])


def test_bounds_of_a_unit_are_those_of_its_children_too() -> None:
    least = np.zeros((5, 6), dtype=np.int64)
    least[2, 4] = 7
    made = Constraints(TREE, CELLS, totals={2: COUNTIES}, minima={2: least})
    assert [bound.tolist() for bound in made.bounds[1]] == [[10, 10], [10, FREE]]
    assert made.minima_of_cells[0] is not None
    assert made.minima_of_cells[0][0].tolist() == [0, 0, 0, 0, 7, 0]
    assert bool(made)
    assert not Constraints(TREE, CELLS)


@pytest.mark.parametrize(
    "given",
    [
        {"totals": {1: np.array([11, -1]), 2: COUNTIES}},
        {"totals": {1: STATES, 0: np.array([31])}},
        {"totals": {1: np.array([10, -1])}, "minimum_totals": {2: np.array([6, 6, 0, 0, 0])}},
        {"totals": {2: COUNTIES}, "minima": {2: np.full((5, 6), 1)}},
    ],
)
def test_contradictions_are_refused(given: Any) -> None:
    with pytest.raises(InvalidParameterError, match="contradict each other"):
        Constraints(TREE, CELLS, **given)
