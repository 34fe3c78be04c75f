"""Staircase noise: when it pays, the optimal centre, one integer to a step, bad input."""

import math
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace, Staircase
from deniable.privacy import AddRemove, Replace, Sensitivity, of_count

FINE = of_count(rows=1000, groups=1, relation=AddRemove)  # one number on a lattice of 1000 steps to a sensitivity


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 1, 2, 4, 8])
def test_the_mean_size_is_the_published_one_and_below_laplace(epsilon: Fraction | int) -> None:
    """Golden: gamma = 1 / (1 + e^(epsilon/2)), E|X| = e^(epsilon/2) / (e^epsilon - 1) sensitivities (noise.md 3)."""
    found = Staircase.calibrated(FINE, epsilon=epsilon)
    x = float(epsilon)
    assert found.privacy_loss(FINE).pure_epsilon == epsilon
    assert found.centre / 1000 == pytest.approx(1 / (1 + math.exp(x / 2)), abs=2e-3)
    assert found.mean_size() / 1000 == pytest.approx(math.exp(x / 2) / math.expm1(x), rel=1e-3)
    q = math.exp(-x / 1000)
    laplace = 2 * q / (1 - q * q)
    assert found.mean_size() < laplace


def test_at_epsilon_8_laplace_errs_seven_times_as_much() -> None:
    """And at epsilon 1/2 by a hundredth: (2 sinh(epsilon/2)) / epsilon."""
    for epsilon, ratio in ((8, 6.8), (Fraction(1, 2), 1.0104)):
        x = float(epsilon)
        found = 1000 / x / Staircase.calibrated(FINE, epsilon=epsilon).mean_size()
        assert found == pytest.approx(ratio, rel=0.01)
        assert found == pytest.approx(2 * math.sinh(x / 2) / x, rel=0.005)


def test_a_count_gets_laplace_noise() -> None:
    """One integer to a step: the two-sided geometric law, which is optimal there."""
    count = of_count(rows=1, groups=1, relation=AddRemove)
    stairs, laplace = Staircase.calibrated(count, epsilon="1/3"), Laplace.calibrated(count, epsilon="1/3")
    assert stairs.step == stairs.centre == 1
    assert stairs.standard_deviation() == pytest.approx(laplace.standard_deviation())
    assert stairs.half_width(0.95) == laplace.half_width(0.95)


def test_vectors_pay_a_step_for_each_coordinate() -> None:
    reach = of_count(rows=10, groups=3, relation=Replace)
    found = Staircase.calibrated(reach, epsilon=6)
    assert (found.step, found.rate) == (10, 1)
    assert found.privacy_loss(reach).pure_epsilon == 6


def test_no_change_needs_no_noise() -> None:
    still = Sensitivity(l1=0, l2_squared=0, linf=0, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="sensitivity is 0"):
        Staircase.calibrated(still, epsilon=1)


@pytest.mark.parametrize(
    "given",
    [
        {"rate": 0},
        {"rate": "1e400"},
        {"step": 0},
        {"step": 1.5},
        {"step": 2**61},
        {"centre": 0},
        {"centre": 6},
        {"centre": True},
    ],
)
def test_bad_parameters_are_refused_before_anything_is_spent(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(given))} must be"):
        Staircase(**{"rate": 1, "step": 5, "centre": 2, **given})
