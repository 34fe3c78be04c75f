"""Coarser levels from noisy counts."""

import numpy as np
import pytest

from deniable.synthesis.bins import merged, smoothed


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
