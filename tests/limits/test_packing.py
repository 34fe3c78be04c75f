"""Packings against the best mechanisms on tiny domains."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.limits import histogram_error, packed_error, packed_success, threshold_error
from deniable.numbers.rationals import Real
from deniable.privacy import ApproximateLoss, ConcentratedLoss, PrivacyLoss, PureLoss
from tests.limits.programs import best_worst_case, histograms

LOSSES = [(PureLoss(1), 1.0, 0.0), (PureLoss(2), 2.0, 0.0), (ApproximateLoss(1, "0.01"), 1.0, 0.01)]


@pytest.mark.parametrize(("loss", "epsilon", "delta"), LOSSES)
def test_no_mechanism_names_the_common_cell_more_often_and_one_comes_within_a_third(
    loss: PrivacyLoss, epsilon: float, delta: float
) -> None:
    """Three rows in four cells: tables of one cell ask for it, all others for nothing."""
    tables, pairs = histograms(4, 3)
    losses = np.full((len(tables), 4), math.inf)
    for place, counts in enumerate(tables):
        if max(counts) == 3:
            losses[place] = [count != 3 for count in counts]
    success = 1 - best_worst_case(losses, pairs, epsilon=epsilon, delta=delta)
    bound = packed_success(loss, sets=4, units=3)
    assert success - 1e-9 <= bound < success * 4 / 3


@pytest.mark.parametrize(("loss", "epsilon", "delta"), LOSSES)
def test_no_private_histogram_is_right_more_often(loss: PrivacyLoss, epsilon: float, delta: float) -> None:
    """Four rows in three cells; an answer is right on a table if no cell is off by 2 rows or more."""
    tables, pairs = histograms(3, 4)
    losses = np.array([[max(abs(x - y) for x, y in zip(a, b, strict=True)) >= 2 for b in tables] for a in tables])
    success = 1 - best_worst_case(losses.astype(float), pairs, epsilon=epsilon, delta=delta)
    assert success <= packed_success(loss, sets=3, units=4) + 1e-9


@pytest.mark.parametrize(("loss", "epsilon", "delta"), LOSSES)
def test_no_private_learner_finds_a_threshold_more_often(loss: PrivacyLoss, epsilon: float, delta: float) -> None:
    """Two rows with values 0..3 and labels: half of them on each side of a secret threshold of 1..3."""
    tables, pairs = histograms(8, 2)  # cell 2 v + label
    losses = np.full((len(tables), 4), math.inf)
    for place, counts in enumerate(tables):
        for secret in (1, 2, 3):
            if counts[2 * (secret - 1)] == 1 and counts[2 * secret + 1] == 1:
                losses[place] = [named != secret for named in range(4)]
    success = 1 - best_worst_case(losses, pairs, epsilon=epsilon, delta=delta)
    assert success <= packed_success(loss, sets=3, units=2) + 1e-9
    assert packed_success(loss, sets=3, units=2) < success * 1.6


def test_the_inequality_of_the_notes_holds() -> None:
    """epsilon k >= ln(P (1 - beta)) for P sets at distance k with disjoint good answers (item 220)."""
    for sets in (10, 10**6):
        found = packed_error(PureLoss("0.5"), sets=sets, rows=10_000, failure="0.05")
        assert found * 2 * 10_000 * 0.5 >= math.log(sets * 0.95) - 0.5


def test_pure_grows_with_cells_and_delta_ends_it() -> None:
    """Items 217 and 221: beyond ln(1 / delta) cells cost nothing more under approximate privacy."""
    pure = [histogram_error(PureLoss(1), rows=1000, cells=cells) for cells in (10**3, 10**6, 10**12)]
    assert pure[1] / pure[0] == pytest.approx(16.7 / 9.8, rel=0.15)
    assert pure[2] > 1.5 * pure[1]
    mixed = [histogram_error(ApproximateLoss(1, "1e-6"), rows=1000, cells=cells) for cells in (10**3, 10**6, 10**12)]
    assert mixed[0] == pure[0]
    assert mixed[2] == mixed[1] < pure[1]
    assert histogram_error(ConcentratedLoss(rho="0.5"), rows=1000, cells=10**6) > 0


@pytest.mark.parametrize("size", [11, 1000, 10**6])
@pytest.mark.parametrize("epsilon", ["1/3", 1, 2])
def test_pure_bounds_are_the_inequality_of_the_notes_solved_for_rows(size: int, epsilon: Real) -> None:
    """An answer within k / 2 rows with probability 95%: between epsilon k < ln((sets - 1) 0.95 / 0.05), which looks at
    delta 0 alone, and all points of the curve of k rows, that of geometric noise shifted by k."""
    loss, rate = PureLoss(epsilon), float(Fraction(epsilon))
    for others, found in (
        (size - 1, 2000 * histogram_error(loss, rows=1000, cells=size)),
        (size - 2, 2000 * threshold_error(loss, rows=1000, domain=size)),  # an even number of rows
    ):
        least = most = math.ceil(math.log(others * 19) / rate) - 1
        while True:
            e = np.linspace(0, (most + 1) * rate, 2000)
            masses = np.exp(-rate * np.abs(np.arange(-most - 60, 2 * most + 60))) * math.tanh(rate / 2)
            shifted = np.roll(masses, most + 1)
            delta = np.maximum(masses - np.exp(e)[:, None] * shifted, 0).sum(axis=1)
            weights = others * np.exp(-e)
            if ((1 + weights * delta) / (1 + weights)).min() >= 0.95:
                break
            most += 1
        assert least - (others == size - 2) <= round(found) <= most <= least + 2 / rate


def test_what_deniable_does_is_within_stated_factors() -> None:
    """Laplace noise on a histogram and the exponential mechanism for thresholds: four times."""
    for rows, size in ((10_000, 1000), (10**5, 10**6)):
        achieved = 2 / rows * math.log(size / 0.05)
        assert histogram_error(PureLoss(1), rows=rows, cells=size) < achieved
        assert achieved < 4 * histogram_error(PureLoss(1), rows=rows, cells=size)
        assert achieved < 4.5 * threshold_error(PureLoss(1), rows=rows, domain=size)


def test_bad_input_is_refused_and_small_tables_are_hopeless() -> None:
    for failure in (0, "0.6"):
        with pytest.raises(InvalidParameterError, match="failure"):
            packed_error(PureLoss(1), sets=5, rows=10, failure=failure)
    with pytest.raises(InvalidParameterError, match="sets"):
        packed_success(PureLoss(1), sets=1, units=1)
    assert packed_error(PureLoss("0.01"), sets=10, rows=7, failure="0.1") == 0.5
    assert packed_error(PureLoss(100), sets=3, rows=7, failure="0.1") == 0
