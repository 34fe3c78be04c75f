"""Two passes give what the dense formula of generalised least squares gives."""

import numpy as np
import pytest

from deniable.numbers.arrays import Floats
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.least_squares import MeasuredTable, least_squares
from tests.synthesis.hierarchy.trees import TREE, cells_of, random_tree

NO_CELLS = cells_of()


def dense_rows(tree: Geography, cells: CountedCells, level: int, table: tuple[int, ...]) -> Floats:
    """Sums that the numbers of a level's table are, as a matrix over all cells of all leaves."""
    units = np.eye(tree.sizes[-1])
    for each in range(len(tree.sizes) - 1, level, -1):
        units = tree.sums(each, units)
    return np.kron(units, cells.margin(np.eye(cells.size), table).T)


@pytest.mark.parametrize("seed", range(100))
def test_estimates_and_variances_are_those_of_the_dense_formula(seed: int) -> None:
    """Random trees, up to three tables a level with unequal variances, a fifth of the units without a measurement."""
    random = np.random.default_rng(seed)
    tree = random_tree(random, random.integers(1, 4))
    cells = cells_of(*random.integers(1, 4, size=random.integers(0, 3)).tolist())
    tables = list(cells.residuals())
    measured: list[list[MeasuredTable]] = []
    for size in tree.sizes:
        chosen = random.permutation(len(tables))[: random.integers(0, 4)]
        level = []
        for table in (tables[index] for index in chosen):
            precision = np.where(random.random(size) < 0.2, 0, 1 / random.uniform(0.1, 5, size=size) ** 2)
            level.append(MeasuredTable(table, 10 * random.normal(size=(size, cells.size_of(table))), precision))
        measured.append(level)
    made = least_squares(tree, cells, measured)
    rows, values, weights = [np.zeros((0, tree.sizes[-1] * cells.size))], [np.zeros(0)], [np.zeros(0)]
    for level, ones in enumerate(measured):
        for one in ones:
            rows.append(dense_rows(tree, cells, level, one.table))
            values.append(one.values.ravel())
            weights.append(np.repeat(one.precision, one.values.shape[1]))
    design, weight = np.concatenate(rows), np.concatenate(weights)
    information = design.T @ (weight[:, None] * design)
    covariance = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
    solution = covariance @ (design.T @ (weight * np.concatenate(values)))
    for level in range(len(tree.sizes)):
        for table in tables:
            asked = dense_rows(tree, cells, level, table)
            known = np.abs(asked - asked @ covariance @ information).max(axis=1) < 1e-7
            variance = np.repeat(made.variance(level, table), cells.size_of(table))
            assert np.array_equal(np.isfinite(variance), known)
            found = cells.margin(made.values[level], table).ravel()
            assert found[known] == pytest.approx((asked @ solution)[known], abs=1e-9)
            expected = np.einsum("ij,jk,ik->i", asked, covariance, asked)
            assert variance[known] == pytest.approx(expected[known], abs=1e-9)
        if level:
            assert tree.sums(level, made.values[level]) == pytest.approx(made.values[level - 1], abs=1e-9)


def test_a_mean_has_the_variance_of_inverse_variances() -> None:
    """Weights of 1 / sigma in place of 1 / sigma^2 would give 1.36 times this at a ratio of 4."""
    one = [
        MeasuredTable((), np.full((1, 1), 3.0), np.array([1 / 1])),
        MeasuredTable((), np.full((1, 1), 5.0), np.array([1 / 16])),
    ]
    tree = Geography(("leaf",), [("a",)])
    made = least_squares(tree, NO_CELLS, [one, []])
    assert made.variance(0, ()).tolist() == pytest.approx([1 / (1 + 1 / 16)])
    assert made.values[1].ravel().tolist() == pytest.approx([(3 + 5 / 16) / (1 + 1 / 16)])


def test_equal_noise_gives_the_weights_of_hay_and_others() -> None:
    """A root with two leaves: z = (2 y + sum) / 3 (Hay, Rastogi, Miklau, Suciu 2010, theorem 3)."""
    tree = Geography(("leaf",), [("a",), ("b",)])
    measured = [
        [MeasuredTable((), np.array([[10.0]]), np.ones(1))],
        [MeasuredTable((), np.array([[3.0], [4.0]]), np.ones(2))],
    ]
    made = least_squares(tree, NO_CELLS, measured)
    assert made.values[0].ravel() == pytest.approx([(2 * 10 + 7) / 3])
    assert made.values[1].ravel() == pytest.approx([3 + 1, 4 + 1])
    assert made.variance(0, ()) == pytest.approx([2 / 3])


def test_exact_totals_stand_and_move_what_is_below() -> None:
    values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
    exact = MeasuredTable((), np.array([[10.0], [20.0]]), np.array([np.inf, np.inf]))
    noisy = MeasuredTable((), np.array([[0.0], [0.0]]), np.ones(2))
    made = least_squares(TREE, NO_CELLS, [[], [noisy, exact], [MeasuredTable((), values, np.ones(5))]])
    assert made.values[1].ravel().tolist() == [10, 20]
    assert made.values[0].ravel().tolist() == [30]
    assert made.variance(1, ()).tolist() == [0, 0]
    assert made.variance(2, ()) == pytest.approx([1 / 2, 1 / 2, 2 / 3, 2 / 3, 2 / 3])
