"""Targets of a calibration: what they bound, and the one value of delta behind a bound on attacks."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval
from deniable.privacy import GaussianLoss, LaplaceLoss, PureLoss
from deniable.privacy.calibration.target import Goal, goal_of, largest_delta


def test_the_excess_says_on_which_side_of_the_target_a_loss_is() -> None:
    goal = goal_of({"epsilon": 1})
    assert goal.excess(PureLoss(1), 1e-3) == 0
    assert goal.excess(PureLoss(2), 1e-3) == pytest.approx(math.log(2))
    assert goal.excess(PureLoss("0.5"), 1e-3) == pytest.approx(-math.log(2))
    assert goal.excess(GaussianLoss(1), 1e-3) == math.inf  # no epsilon at delta = 0
    assert goal_of({"epsilon": 1, "delta": "0.5"}).excess(PureLoss(1), 1e-3) == -math.inf  # epsilon 0


def test_a_tenth_is_met_by_a_tenth() -> None:
    """The float nearest to 0.1 is above 1/10; the last digit is decided exactly."""
    goal = goal_of({"epsilon": "0.1"})
    assert goal.excess(LaplaceLoss(10), 1e-3) == 0
    assert 0 < goal.excess(LaplaceLoss("9.99999999999999999"), 1e-3) < 1e-12


def test_an_advantage_is_delta_at_0() -> None:
    loss = GaussianLoss(3)
    for target in ({"advantage": "0.1"}, {"epsilon": 0, "delta": "0.1"}):
        assert goal_of(target).excess(loss, 1e-3) == pytest.approx(math.log(loss.delta(0).upper / 0.1))  # type: ignore[arg-type]


@given(
    st.fractions(Fraction(1, 1000), Fraction(9, 10)),
    st.fractions(Fraction(1, 100), 3),
    st.fractions(Fraction(1, 4), 4),
)
def test_one_value_of_delta_bounds_every_test(alarms: Fraction, place: Fraction, noise: Fraction) -> None:
    """Against the closed form of Gaussian noise: what the best test finds, a value of delta never denies."""
    best = GaussianLoss(noise).tradeoff().true_positive_rate(float(alarms))
    for epsilon in (place, -place):
        for hits in (Fraction(best.lower) * Fraction(999, 1000), (Fraction(best.lower) + 1) / 2):
            proved = Fraction(GaussianLoss(noise).delta(abs(epsilon)).upper) <= largest_delta(hits, alarms, epsilon)
            assert not proved or hits >= Fraction(best.lower) * (1 - Fraction(1, 10**12))


def test_the_best_epsilon_is_the_limit_of_gaussian_noise() -> None:
    """0.38914 hits at 0.1 are just proved for mu = 1 at epsilon z - 1/2, with z the upper tenth of a normal law."""
    place = Fraction("0.781551565545")
    assert Fraction(GaussianLoss(1).delta(place).upper) <= largest_delta(Fraction("0.389144"), Fraction(1, 10), place)
    assert Fraction(GaussianLoss(1).delta(place).lower) > largest_delta(Fraction("0.389140"), Fraction(1, 10), place)


@pytest.mark.parametrize("target", [{}, {"epsilon": None}, {"delta": 0.1}, {"advantage": 0.1, "epsilon": 1}])
def test_half_a_target_or_two_are_refused(target: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match="a target is epsilon"):
        goal_of(target)  # type: ignore[arg-type]


def test_a_limit_is_kept_exactly_or_by_a_second_proof() -> None:
    """The float 0.1 is above one tenth."""
    at = Interval.around(Fraction(1, 10))
    for proved, private in ((False, False), (True, True)):
        goal = Goal(Fraction(1, 10), lambda loss, width: Interval(at.lower, 0.1), lambda loss, yes=proved: yes)
        assert Fraction(0.1) > goal.limit
        assert (goal.excess(PureLoss(1), 0.01) <= 0) is private
