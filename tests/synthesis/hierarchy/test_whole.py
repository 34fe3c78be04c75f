"""Whole numbers meet every constraint exactly, on any tree."""

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.synthesis.hierarchy import whole
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.plan import chain_of
from deniable.synthesis.hierarchy.whole import whole_numbers
from tests.synthesis.hierarchy.trees import cells_of, plan_of, random_tree


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("at_once", [1, 2**20])
def test_every_constraint_is_met(seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random trees, columns, queries, held totals and least counts, with more noise than counts."""
    monkeypatch.setattr(whole, "CELLS_AT_ONCE", at_once)
    random = np.random.default_rng(seed)
    tree = random_tree(random, random.integers(1, 4), children=5)
    cells = cells_of(*random.integers(1, 4, size=random.integers(0, 4)).tolist())
    tables = list(cells.residuals())
    chosen = {cells.said(tables[index]): 1 for index in random.permutation(len(tables))[:3]}
    plan = plan_of(tree, cells, queries=chosen | {"cells" if cells.names else "total": 1}, rho="1/100")
    truth = random.poisson(2, size=(tree.sizes[-1], cells.size))
    measured = plan.measure(truth.ravel(), DeterministicBits(seed))
    totals, least, minimum_totals, counts = {}, {}, {}, truth[tree.leaf_order]
    for level in range(len(tree.sizes) - 1, -1, -1):
        kind = random.integers(0, 4)
        held = random.random(tree.sizes[level]) < 0.6
        if kind == 1:
            totals[level] = np.where(held, counts.sum(axis=1), -1)
        if kind == 2:
            least[level] = counts * (random.random(counts.shape) < 0.3)
        if kind == 3:
            minimum_totals[level] = np.where(held, counts.sum(axis=1), 0)
        counts = tree.sums(level, counts) if level else counts
    constraints = Constraints(tree, cells, totals, least, minimum_totals)
    chain = chain_of(cells, plan.tables, totals=bool(constraints))
    numbers = whole_numbers(tree, measured.estimates(constraints), chain, constraints)
    for level, values in enumerate(numbers):
        assert values.dtype == np.int64
        assert values.min() >= 0
        assert level == 0 or np.array_equal(tree.sums(level, values), numbers[level - 1])
        of_units = values.sum(axis=1)
        if level in totals:
            assert np.array_equal(of_units[totals[level] >= 0], totals[level][totals[level] >= 0])
        assert np.all(values >= least.get(level, 0))
        assert np.all(of_units >= minimum_totals.get(level, 0))


def test_measured_totals_are_kept_near() -> None:
    """Cells alone lose the totals to their noise; with totals made first, these are as near as they were measured."""
    random = np.random.default_rng(0)
    tree, cells = random_tree(random, 3, children=6), cells_of(40)
    truth = random.poisson(1, size=(tree.sizes[-1], 40))
    plan = plan_of(tree, cells, rho=1)
    estimates = plan.measure(truth.ravel(), DeterministicBits(1)).estimates(Constraints(tree, cells))
    true_totals = truth[tree.leaf_order].sum(axis=1)
    errors = [
        np.abs(whole_numbers(tree, estimates, chain, Constraints(tree, cells))[-1].sum(axis=1) - true_totals).mean()
        for chain in (((), (0,)), ((0,),))
    ]
    assert errors[0] < 0.6 * errors[1]
