"""Statements of the lecture notes on statistics that are wrong, with their counterexamples."""

import math

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy.notions.classical import classical_gaussian_sigma
from deniable.statistics.count import Count
from deniable.statistics.sums import Sum


def clamped(size: int, output: int, epsilon: float, ones: int) -> float:
    """P(output) of round(ones + Laplace(1/epsilon)), clamped to [0, size], at its upper end."""
    assert output == size
    return (
        1 - math.exp(-epsilon * (ones - output + 0.5)) / 2
        if ones + 0.5 > output
        else math.exp(-epsilon * (output - 0.5 - ones)) / 2
    )


def test_a_count_clamped_to_the_number_of_rows_gives_the_number_away() -> None:
    """E53: 14 is impossible for 13 rows; for 14 rows it has probability 0.6106, or 5.85e-4 if all of them are 0."""
    assert clamped(14, 14, 0.5, ones=14) == pytest.approx(0.6106, abs=5e-5)
    assert clamped(14, 14, 0.5, ones=0) == pytest.approx(5.85e-4, rel=2e-3)
    plan = Count(epsilon="1/2")
    found = [plan(range(13), bits=DeterministicBits(seed))["count"][0] for seed in range(200)]
    assert max(found) > 13  # ours is clamped below, at 0, and nowhere else
    assert min(plan([], bits=DeterministicBits(seed))["count"][0] for seed in range(50)) == 0


def test_the_error_of_a_gaussian_mean_grows_with_delta_too() -> None:
    """E91: of d coordinates it is d sqrt(2 ln(1.25/delta)) / (n epsilon); without the root, 5.3 times too small."""
    size, dimensions = 1000, 64
    sigma = classical_gaussian_sigma(l2=math.sqrt(dimensions) / size, epsilon=0.5, delta=1e-6)
    stated = dimensions / (size * 0.5)
    assert math.sqrt(dimensions) * float(sigma) / stated == pytest.approx(5.3, abs=0.02)


def test_sums_do_not_depend_on_the_order_of_rows() -> None:
    """E93: after 2^53 a float sum ignores ones, before it it does not; sums on a lattice are the same bit for bit."""
    rows = np.concatenate([[2.0**53], np.ones(4096)])
    naive, other = float(sum(rows.tolist())), float(sum(rows[::-1].tolist()))
    assert other - naive == 4096  # the effect of one row's place, where one row may add 1
    values = np.random.default_rng(3).normal(
        size=70_000
    )  # whose float sum depends on the order too, in its last digits
    assert len({sum(order.tolist()) for order in (values, values[::-1])}) == 2
    plan = Sum(bounds=(-1, 2), epsilon=1)
    assert len({plan(order, bits=DeterministicBits(3)).scalar(unsafe=True) for order in (values, values[::-1])}) == 1
