from itertools import product

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from deniable.statistics import count
from deniable.statistics.count import Count


def test_counts_are_near_the_truth_and_state_their_interval() -> None:
    answer = count(np.arange(1000), epsilon=1, bits=DeterministicBits(1))
    assert abs(answer.scalar(unsafe=True) - 1000) < 20
    lower, upper = (end[0] for end in answer.intervals()["count"])
    assert upper - lower == 2 * 3  # P(|noise| > 3) = 2 e^-4 / (1 + e^-1) = 0.027


def test_nulls_and_rows_without_owner_are_not_counted() -> None:
    answer = count([1, None, 2, 3], units=["a", "a", None, "b"], epsilon=1000, bits=DeterministicBits(1))
    assert answer.scalar(unsafe=True) == 2


def test_a_unit_counts_so_many_rows() -> None:
    options = {"epsilon": 1000, "bits": DeterministicBits(1)}
    assert count([0] * 9, units=["a"] * 6 + ["b"] * 3, rows=4, **options).scalar(unsafe=True) == 7  # type: ignore[arg-type]


def test_the_expected_error_is_known_before() -> None:
    plan = Count(epsilon=1, rows=3)
    draws = [plan([], units=[], bits=DeterministicBits(seed)).noisy[0].values[0] for seed in range(4000)]
    # relative standard error of a standard deviation with kurtosis 6: sqrt(5 / 4 / 4000) = 1.8%; five of them
    assert np.std(draws) == pytest.approx(plan.expected_error(0), rel=0.09)


def test_under_replace_the_rows_that_are_not_null_are_private() -> None:
    tables = list(product([1, None], repeat=3))
    exact = [count(list(table), epsilon=1000, bits=DeterministicBits(1)).scalar(unsafe=True) for table in tables]
    moved = [
        abs(one - other)
        for (table, one), (neighbour, other) in product(zip(tables, exact, strict=True), repeat=2)
        if sum(a != b for a, b in zip(table, neighbour, strict=True)) == 1
    ]
    assert max(moved) == 1 == Count(epsilon=1, relation=Replace).sensitivity.linf
    assert Count(epsilon=1, relation=Replace, rows=2).sensitivity.linf == 2
