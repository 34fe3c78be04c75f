from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace, of_clipped_sum, of_count


def test_calibration_and_loss_are_inverse() -> None:
    reach = of_clipped_sum(lower=0, upper=500, rows=3, groups=2, relation=Replace)
    mechanism = Laplace.calibrated(reach, epsilon="0.1")
    assert mechanism.scale == 60000
    assert mechanism.privacy_loss(reach).pure_epsilon == Fraction(1, 10)


def test_the_loss_of_a_grouped_count() -> None:
    loss = Laplace(scale=4).privacy_loss(of_count(rows=2, groups=3, relation=AddRemove))
    assert loss.charge().epsilon == Fraction(6, 4)


def test_the_error_bar_is_that_of_the_law() -> None:
    """Golden: P[|X| > t] = 2 q^(t+1)/(1+q); query.md section 4.4."""
    mechanism = Laplace(scale=10)
    t = mechanism.half_width(0.95)
    q = np.exp(-0.1)
    assert 2 * q ** (t + 1) / (1 + q) <= 0.05 < 2 * q**t / (1 + q)
    assert mechanism.standard_deviation() == pytest.approx(np.sqrt(2 * q) / (1 - q))
    assert mechanism.quantile(np.array([0.5])).tolist() == [0.0]


@pytest.mark.parametrize("scale", [0, -1, "much", True, float("nan"), Fraction(2**58), Fraction(1, 2**60), "1e400"])
def test_bad_scales_are_refused_before_anything_is_spent(scale: object) -> None:
    with pytest.raises(InvalidParameterError, match="scale must be"):
        Laplace(scale=scale)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), None, True])
def test_an_invalid_epsilon_is_refused_and_not_replaced(epsilon: object) -> None:
    """E54: max(epsilon, 1e-12) in the notes turns -1 and NaN into a scale."""
    with pytest.raises(InvalidParameterError, match="epsilon must be"):
        Laplace.calibrated(of_count(rows=1, groups=1, relation=AddRemove), epsilon=epsilon)


def test_neighbours_reach_the_same_outputs() -> None:
    """E55: with floats 82% of the outputs at 0 cannot come from 1; here every integer can, at any scale."""
    for scale in (Fraction(1, 3), Fraction(2)):
        draws = [Laplace(scale=scale).release(np.full(200_000, x), bits=DeterministicBits(x)).value for x in (0, 1)]
        assert all(values.dtype == np.int64 for values in draws)
        reached = [set(values.tolist()) for values in draws]
        middle = set(range(-2, 4))
        assert middle & reached[0] == middle & reached[1]


def test_the_ratio_of_a_shift_by_one_is_e() -> None:
    """E89: the printed sign would bound it by 1/e. P(0 | 0) / P(0 | 1) at scale 1 is e, and no ratio is above."""
    k = np.arange(-30, 31)
    law = np.exp(-np.abs(k)) / np.exp(-np.abs(k)).sum()
    assert law[30] / law[29] == pytest.approx(np.e)
    loss = Laplace(scale=1).privacy_loss(of_count(rows=1, groups=1, relation=AddRemove))
    assert loss.delta("0.999").lower > 0
    assert loss.delta(1).upper == 0


def test_the_same_noise_costs_more_under_replace() -> None:
    """E60: the sensitivity carries its relation."""
    losses = [Laplace(scale=4).privacy_loss(of_count(rows=1, groups=3, relation=r)) for r in (AddRemove, Replace)]
    assert [loss.pure_epsilon for loss in losses] == [Fraction(3, 4), Fraction(6, 4)]
    assert [loss.relations for loss in losses] == [{AddRemove}, {Replace}]
