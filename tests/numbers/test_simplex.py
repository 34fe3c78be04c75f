"""Projection onto a simplex."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import minimize

from deniable.numbers.simplex import onto_simplex


def test_the_nearest_counts_are_those_of_a_general_solver() -> None:
    counts = np.array([5.0, -3.0, 1.0, 0.2, 9.0])
    near = onto_simplex(counts, 10.0)
    constraint = {"type": "eq", "fun": lambda x: x.sum() - 10}
    solved = minimize(
        lambda x: ((x - counts) ** 2).sum(), np.full(5, 2.0), bounds=[(0, None)] * 5, constraints=constraint
    )
    assert near == pytest.approx(solved.x, abs=1e-5)
    assert near.sum() == pytest.approx(10)


@given(
    counts=some.lists(some.integers(-20, 20), min_size=1, max_size=7),
    total=some.integers(1, 40),
)
def test_counts_are_made_non_negative_by_the_least_change(counts: list[int], total: int) -> None:
    """Against quadratic programming: all sets of cells that stay above 0."""
    noisy = np.array(counts, dtype=np.float64)
    best = np.inf
    for kept in product([False, True], repeat=noisy.size):
        chosen = np.array(kept)
        if chosen.any():
            trial = np.where(chosen, noisy - (noisy[chosen].sum() - total) / chosen.sum(), 0.0)
            if trial.min() >= 0:
                best = min(best, float(np.sum((trial - noisy) ** 2)))
    found = onto_simplex(noisy, float(total))
    assert found.min() >= 0
    assert found.sum() == pytest.approx(total)
    assert np.sum((found - noisy) ** 2) == pytest.approx(best)
