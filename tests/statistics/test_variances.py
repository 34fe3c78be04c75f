from math import sqrt

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.statistics.variances import StandardDeviation, Variance, standard_deviation, variance


def test_three_sums_beat_three_shares_of_the_price() -> None:
    """Noise of n, the sum of t and the sum of t^2 at a third of epsilon = 1 each, t from -1 to 1; times n^2.

    The mean square over values at two places, for every mean and half distance that fit.
    """
    for middle in np.linspace(0, 1, 21):
        for half in np.linspace(0, min(middle, 1 - middle), 5):
            square = middle**2 + half**2
            gradient = np.array([2 * middle**2 - square, 2 * middle**2 - middle - square, 0])
            gradient[2] = 1 - 2 * middle - square + 2 * middle**2
            ours = 2 * (gradient**2).sum()
            mean, mean_square = 2 * middle - 1, (2 * middle - 1) ** 2 + 4 * half**2
            thirds = 2 * 9 * (1 + 4 * mean**2 + (mean_square - 2 * mean**2) ** 2) / 16
            assert ours <= 2
            assert ours < thirds


def test_the_expected_error_is_the_worst_up_to_a_factor() -> None:
    """Values at one end: the gradient is (0, 0, 1) there, sqrt(6) = 2.4 times that of evenly spread values."""
    plan = Variance(bounds=(0, 1), epsilon=1)
    assert plan.expected_error(10**6) == pytest.approx(sqrt(2 / 6) / 10**6, rel=1e-6)
    assert plan.expected_error(0) == 1 / 4
    assert StandardDeviation(bounds=(0, 1), epsilon=1).expected_error(0) <= 1 / 2


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
def test_answers_are_possible(spread: float) -> None:
    values = np.random.default_rng(1).normal(0, spread, 50)
    for seed in range(30):
        bits = DeterministicBits(seed)
        assert 0 <= variance(values, bounds=(-1, 1), epsilon="0.2", bits=bits).scalar() <= 1
        assert 0 <= standard_deviation(values, bounds=(-1, 1), epsilon="0.2", bits=bits).scalar() <= 1
