from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, Replace
from deniable.privacy.sensitivity.moments import of_values_and_products


def rounded(rows: np.ndarray, reach: int, counted: bool) -> np.ndarray:
    """What each row adds: reach, t_i, round(t_i t_j / reach), round(t_i^2 / reach) - reach / 2."""
    columns = rows.shape[1]
    first, second = np.triu_indices(columns)
    products = np.rint(rows[:, first] * rows[:, second] / reach)
    if counted:
        products -= np.where(first == second, reach // 2, 0)
    parts = [np.full((len(rows), 1), reach)] * counted + [rows, products]
    return np.concatenate(parts, axis=1).astype(np.int64)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_no_row_moves_values_and_products_further(columns: int) -> None:
    """A grid with the ends; attained under add/remove, and under replace up to what no two rows differ in at once."""
    reach = 8
    grid = np.array(list(product([-8, -7, -3, 0, 1, 5, 8], repeat=columns)))
    added = rounded(grid, reach, counted=True)
    bound = of_values_and_products(columns=columns, radius=reach, rows=1, relation=AddRemove)
    assert np.abs(added).sum(axis=1).max() == bound.l1
    assert (added**2).sum(axis=1).max() == bound.l2_squared
    assert np.abs(added).max() == bound.linf
    assert bound.coordinates == added.shape[1]
    exchanged = rounded(grid, reach, counted=False)
    changes = (exchanged[:, np.newaxis] - exchanged[np.newaxis]).reshape(-1, exchanged.shape[1])
    bound = of_values_and_products(columns=columns, radius=reach, rows=1, relation=Replace)
    assert 0.6 * bound.l1 <= np.abs(changes).sum(axis=1).max() <= bound.l1
    assert 0.5 * bound.l2_squared <= (changes**2).sum(axis=1).max() <= bound.l2_squared
    assert np.abs(changes).max() == bound.linf
    assert bound.coordinates == exchanged.shape[1]


def test_units_with_several_rows_move_that_many_times_as_much() -> None:
    one, two = (of_values_and_products(columns=2, radius=8, rows=rows, relation=AddRemove) for rows in (1, 2))
    assert (two.l1, two.l2_squared, two.linf) == (2 * one.l1, 4 * one.l2_squared, 2 * one.linf)
    private = of_values_and_products(columns=2, radius=8, rows=2, relation=Replace)
    assert private.l1 == 2 * two.l1
    assert private.coordinates == one.coordinates


def test_arguments_are_checked() -> None:
    for wrong in ({"columns": 0}, {"radius": 0}, {"rows": 0}):
        with pytest.raises(InvalidParameterError):
            of_values_and_products(**{"columns": 1, "radius": 8, "rows": 1, "relation": Replace, **wrong})
