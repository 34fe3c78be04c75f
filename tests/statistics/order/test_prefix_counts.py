from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order.prefix_counts import PrefixCounts, _mean_variance, levels, matrices
from deniable.statistics.price import Price

ONE = Price.of(1, 0, None)


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
    assert _mean_variance(40, 40) == pytest.approx(41 / 2)
    assert _mean_variance(2, 2) == pytest.approx(1.5)


def test_the_best_tree_is_flat_for_few_cells_and_deep_for_many() -> None:
    assert PrefixCounts(5, ONE, AddRemove).branch == 5
    many = PrefixCounts(300, ONE, AddRemove)
    assert 2 < many.branch < 300
    assert many.standard_deviation < 0.9 * np.sqrt(301 / 2) * np.sqrt(2)  # of the flat one


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("rows", [1, 2])
def test_the_sensitivity_is_that_of_all_nodes(relation: Relation, rows: int) -> None:
    """Brute force over what one unit may do: any rows in any cells."""
    counts = PrefixCounts(6, ONE, relation, rows)
    tree, _ = matrices(6, 2)
    some = [np.bincount(places, minlength=6) for n in range(rows + 1) for places in product(range(6), repeat=n)]
    steps = some if relation is AddRemove else [a - b for a, b in product(some, some)]
    moves = np.array([tree @ step for step in steps])
    sensitivity = counts._moved(2)
    assert np.abs(moves).sum(axis=1).max() == sensitivity.l1
    assert (moves**2).sum(axis=1).max() == sensitivity.l2_squared
    assert np.abs(moves).max() == sensitivity.linf


@pytest.mark.parametrize("price", [ONE, Price.of(None, 0, "1/2"), Price.of(1, "1e-6", None)])
def test_draws_have_the_stated_deviation(price: Price) -> None:
    counts = PrefixCounts(30, price, AddRemove)
    draws = counts.draws(3000, bits=DeterministicBits(1))
    assert draws.shape == (3000, 30)
    assert np.sqrt(np.mean(draws**2)) == pytest.approx(counts.standard_deviation, rel=0.06)
    exact = np.arange(30)
    error = counts.release(exact, bits=DeterministicBits(2)) - np.cumsum(exact)
    assert np.abs(error).max() < 8 * counts.standard_deviation
    if price.rho is None:
        assert counts.privacy_loss.delta(Fraction(1)).upper <= 1e-6
    else:
        assert counts.privacy_loss.rho == price.rho


def test_two_cells_have_one_level() -> None:
    assert PrefixCounts(2, ONE, AddRemove).sensitivity.l1 == 1
