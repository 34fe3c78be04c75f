"""Gradients of a batch: how far one row moves a sum that is said to move by one norm."""

import math

import pytest
from scipy.stats import norm

from tests.audit.gallery.judging import epsilon, probability


def test_the_noise_is_that_of_the_claim_for_one_norm() -> None:
    """(1, 1e-5) of Gaussian noise by its exact curve, and not with a thousandth less noise."""
    for sigma, holds in ((3.7307, True), (3.727, False)):
        delta = norm.cdf(0.5 / sigma - sigma) - math.e * norm.cdf(-0.5 / sigma - sigma)
        assert (delta <= 1e-5) == holds


def test_a_sort_moves_the_sum_by_a_seventh_of_the_rows() -> None:
    """100 norms of 200 rows, each by itself; 200 rows of which every second has both gradients: 100 / sqrt(2)."""
    name = "gradients attributed by place"
    assert probability(name, True) == pytest.approx(norm.sf((200 * 3 / 7 - 100) / 3.7307))
    shifted = norm.sf((201 * 3 / 7 - 100 / 2**0.5) / 3.7307)
    assert probability(name, True, neighbour=True) == pytest.approx(shifted)
    assert epsilon(name) > 7
    assert epsilon("gradients attributed by row") < 1


def test_half_of_the_rows_drop_out_when_the_median_moves() -> None:
    name = "loss above the median of the batch"
    assert probability(name, True) == pytest.approx(norm.sf(-40 / 3.7307))
    assert probability(name, True, neighbour=True) == pytest.approx(norm.sf((60 - 51) / 3.7307))
    assert epsilon("a running maximum beside noisy gradients") == math.inf
