"""Coarser levels from noisy counts."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deniable.synthesis.bins import merged, onto_simplex, smoothed


def test_the_nearest_counts_are_those_of_a_general_solver() -> None:
    counts = np.array([5.0, -3.0, 1.0, 0.2, 9.0])
    near = onto_simplex(counts, 10.0)
    constraint = {"type": "eq", "fun": lambda x: x.sum() - 10}
    solved = minimize(
        lambda x: ((x - counts) ** 2).sum(), np.full(5, 2.0), bounds=[(0, None)] * 5, constraints=constraint
    )
    assert near == pytest.approx(solved.x, abs=1e-5)
    assert near.sum() == pytest.approx(10)


def test_smoothing_keeps_the_sum_and_peaks_and_removes_noise() -> None:
    """Of 100 flat counts with noise of deviation 5, less than half of the error stays; a peak of 1,000 stays."""
    noise = 5 * np.array([(-1) ** k * (1 + k % 3) / 2 for k in range(100)])
    flat = np.full(100, 50.0)
    assert np.abs(smoothed(flat + noise, 5.0) - flat).mean() < 0.5 * np.abs(noise).mean()
    peak = flat.copy()
    peak[37] = 1_000
    tidy = smoothed(peak + noise, 5.0)
    assert tidy.sum() == pytest.approx((peak + noise).sum())
    assert abs(tidy[37] - 1_000) < 40


def test_bins_of_ordered_levels_are_neighbours_and_large() -> None:
    counts = np.array([0, 0, 7, 1, 1, 9, 30, 0, 2.0])
    bins = merged(counts, ordered=True, min_records=8)
    assert (np.diff(bins) >= 0).all()
    assert (np.bincount(bins, weights=counts) >= 4).all()
    assert merged(counts[:1], ordered=True, min_records=8).tolist() == [0]


def test_small_levels_without_order_share_a_bin() -> None:
    assert merged(np.array([9.0, 3, 50, 2]), ordered=False, min_records=8).tolist() == [0, 2, 1, 2]
    assert merged(np.array([9.0, 1, 50, 0]), ordered=False, min_records=8).tolist() == [0, 0, 1, 0]
    assert merged(np.array([1.0, 1]), ordered=False, min_records=8).tolist() == [0, 0]
