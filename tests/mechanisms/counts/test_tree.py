from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, Laplace, TreeOfCounts
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.counts.tree import _mean_variance, branches, levels, matrices, of_nodes
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace, Sensitivity, of_count
from deniable.privacy.sensitivity import of_spread_sum


def counted(cells: int, relation: Relation = AddRemove, rows: int = 1) -> Sensitivity:
    return of_spread_sum(lower=0, upper=1, total_rows=rows, relation=relation, cells=cells)


def laplace(sensitivity: Sensitivity) -> Laplace:
    return Laplace.calibrated(sensitivity, epsilon=1)


def gaussian(sensitivity: Sensitivity) -> Gaussian:
    return Gaussian.calibrated(sensitivity, rho="1/2")


def best(cells: int, relation: Relation = AddRemove, *, shares: bool = False) -> TreeOfCounts:
    return TreeOfCounts.best(counted(cells, relation), laplace, cells=cells, shares=shares)


@pytest.mark.parametrize("branch", [2, 3, 16, 40])
def test_running_sums_are_exact_without_noise(branch: int) -> None:
    counts = np.random.default_rng(1).integers(0, 50, 40)
    tree, running = matrices(40, branch)
    assert np.allclose(running @ (tree @ counts), np.cumsum(counts))


def test_every_cell_lies_in_one_node_of_each_level() -> None:
    for cells, branch in product([2, 7, 8, 9, 100], [2, 3, 8]):
        tree, _ = matrices(cells, branch)
        assert np.all(tree.sum(axis=0) == levels(cells, branch))


def test_the_flat_tree_has_the_variance_of_a_sum() -> None:
    assert _mean_variance(40, 40, False) == pytest.approx(41 / 2)
    assert _mean_variance(2, 2, False) == pytest.approx(1.5)


@pytest.mark.parametrize("cells", [2, 7, 40])
def test_shares_of_flat_counts_have_the_variance_of_a_bridge(cells: int) -> None:
    places = np.arange(1, cells)
    bridge = np.mean(places * (cells - places) / cells)
    assert _mean_variance(cells, cells, True) == pytest.approx(bridge)
    _, running = matrices(cells, cells)
    assert np.mean(((running[:-1] - np.outer(places / cells, running[-1])) ** 2).sum(axis=1)) == pytest.approx(bridge)


@pytest.mark.parametrize("branch", [2, 3, 5, 19])
def test_a_known_total_gives_the_least_squares_that_allow_it(branch: int) -> None:
    """Against least squares on cells of which the last is the total less all others, and their covariance."""
    cells = 19
    plan = TreeOfCounts(noise=laplace(of_nodes(counted(cells, Replace), cells, branch)), cells=cells, branch=branch)
    counts = np.random.default_rng(1).integers(0, 30, cells)
    noisy = plan.release(counts, bits=DeterministicBits(1)).value
    found = plan.running_sums(noisy, total=int(counts.sum()))
    tree, _ = matrices(cells, branch)
    free, last = tree[:, :-1] - tree[:, -1:], tree[:, -1]
    solved, *_ = np.linalg.lstsq(free, noisy - last * counts.sum(), rcond=None)
    assert np.allclose(found, np.append(np.cumsum(solved), counts.sum()))
    draws = plan.errors(4000, bits=DeterministicBits(2), known=True)
    inverse = np.linalg.inv(free.T @ free) * plan.noise.standard_deviation() ** 2
    expected = np.cumsum(np.cumsum(inverse, axis=0), axis=1)
    assert np.allclose(draws[:, -1], 0)
    # a mean of 4000 squares with kurtosis 6 at most is known to 4%, and the mean of 18 of them better
    assert np.mean(draws[:, :-1] ** 2) == pytest.approx(np.trace(expected) / (cells - 1), rel=0.1)
    # the variance for a noisy total, by which trees are chosen, is the same to 3%
    spread = plan.noise.standard_deviation() ** 2
    assert np.trace(expected) / (cells - 1) == pytest.approx(spread * _mean_variance(cells, branch, True), rel=0.03)


def test_shares_take_flat_counts_up_to_fifty_cells_and_trees_beyond() -> None:
    assert best(50, shares=True).branch == 50
    assert best(50).branch < 50
    many = best(300, shares=True)
    assert many.branch == 18  # of two levels, the narrowest
    assert many.standard_deviation(shares=True) < best(300).standard_deviation()
    assert branches(300) >= {2, 3, 4, 5, 7, 18, 300}


@pytest.mark.parametrize("cells", [20, 200])
@pytest.mark.parametrize("known", [True, False])
def test_monotone_sums_are_nearer_where_most_cells_are_empty(cells: int, known: bool) -> None:
    plan = best(cells, Replace, shares=True)
    counts = np.zeros(cells, dtype=np.int64)
    counts[cells // 3] = counts[cells // 2] = 200
    before, after = [], []
    for seed in range(40):
        nodes = plan.release(counts, bits=DeterministicBits(seed)).value
        running = plan.running_sums(nodes, total=400 if known else None)
        monotone = plan.monotone(running)
        assert np.all(np.diff(monotone) >= 0)
        assert monotone[0] >= 0
        assert monotone[-1] == running[-1]
        before.append(np.mean((running / running[-1] - np.cumsum(counts) / 400) ** 2))
        after.append(np.mean((monotone / running[-1] - np.cumsum(counts) / 400) ** 2))
    assert np.mean(after) < 0.8 * np.mean(before)


def test_the_best_tree_is_flat_for_few_cells_and_deep_for_many() -> None:
    assert best(5).branch == 5
    many = best(300)
    assert 2 < many.branch < 300
    assert many.standard_deviation() < 0.9 * np.sqrt(301 / 2) * np.sqrt(2)  # of the flat one


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 2])
def test_the_sensitivity_is_that_of_all_nodes(relation: Relation, rows: int) -> None:
    """Brute force over what one unit may do: any rows in any cells."""
    tree, _ = matrices(6, 2)
    some = [np.bincount(places, minlength=6) for n in range(rows + 1) for places in product(range(6), repeat=n)]
    steps = some if relation is AddRemove else [a - b for a, b in product(some, some)]
    moves = np.array([tree @ step for step in steps])
    sensitivity = of_nodes(counted(6, relation, rows), 6, 2)
    assert np.abs(moves).sum(axis=1).max() == sensitivity.l1
    assert (moves**2).sum(axis=1).max() == sensitivity.l2_squared
    assert np.abs(moves).max() == sensitivity.linf
    assert np.count_nonzero(moves, axis=1).max() <= (sensitivity.coordinates or 0)


def test_counts_that_only_each_cell_bounds_are_refused() -> None:
    """Two rows of one unit in two cells are two in the node that holds both: l2 would be sqrt(2), and is 2."""
    with pytest.raises(InvalidParameterError, match="of_spread_sum"):
        best(4).privacy_loss(of_count(rows=1, groups=2, relation=AddRemove))


@pytest.mark.parametrize("noise", [laplace, gaussian])
def test_errors_have_the_stated_deviation(noise: Callable[[Sensitivity], AdditiveNoise]) -> None:
    tree = TreeOfCounts.best(counted(30), noise, cells=30)
    draws = tree.errors(3000, bits=DeterministicBits(1))
    assert draws.shape == (3000, 30)
    assert np.sqrt(np.mean(draws**2)) == pytest.approx(tree.standard_deviation(), rel=0.06)
    exact = np.arange(30)
    error = tree.running_sums(tree.release(exact, bits=DeterministicBits(2)).value) - np.cumsum(exact)
    assert np.abs(error).max() < 8 * tree.standard_deviation()


def test_a_tree_costs_what_its_noise_was_bought_for() -> None:
    tree = best(30)
    assert levels(30, tree.branch) > 1
    assert tree.privacy_loss(counted(30)).pure_epsilon == pytest.approx(1)
    assert levels(2, best(2).branch) == 1
