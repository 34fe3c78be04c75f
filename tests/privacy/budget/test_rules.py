"""The advanced rule against sums of pairs and against the published rule."""

import math
from fractions import Fraction

import pytest

from deniable.privacy import ApproximateLoss, Budget, ConcentratedLoss, GaussianLoss, PureLoss
from deniable.privacy.budget.rules import AdvancedRule
from deniable.privacy.notions.concentrated import largest_rho
from tests.privacy.budget.conversation import failing, response, worst_delta


def test_many_small_failing_questions_fit_where_pairs_stop() -> None:
    """(0.01, 1e-9)-DP: 100 by basic sums, 333 by the published rule, 458 with the better conversion of rho."""
    budget = Budget(epsilon=1, delta="1e-6")
    small = ApproximateLoss("0.01", "1e-9").charge()
    pairs, squares = (budget.rule(name=name) for name in ("pairs", "advanced"))
    published = max(
        count
        for count in range(1, 5000)
        if (s := count * 1e-4) / 2 + math.sqrt(2 * s * math.log(1 / 5e-7)) <= 1 and count * 1e-9 <= 5e-7
    )
    assert published == 333
    assert pairs.admits(small * 100)
    assert not pairs.admits(small * 101)
    assert squares.admits(small * 458)
    assert not squares.admits(small * 459)
    assert not squares.admits(ApproximateLoss("0.0001", "1e-9").charge() * 501)  # failures are up


def test_pure_and_gaussian_ways_of_the_advanced_rule() -> None:
    rule = Budget(epsilon=1, delta="1e-6").rule(name="advanced")
    half, gauss = PureLoss("1/2").charge(), GaussianLoss(100).charge()
    assert rule.admits(half * 2)
    assert not rule.admits(half * 2 + PureLoss("1/1000").charge())
    assert not rule.admits(gauss + half)  # Gaussian noise has closed the way of plain sums
    assert rule.left(gauss).epsilon is None
    mixed = half + ConcentratedLoss("0.01").charge() + ApproximateLoss("0.1", "1e-9").charge()
    assert mixed.failing_rho == Fraction(1, 8) + Fraction(1, 100) + Fraction(1, 200)


def test_a_delta_that_is_spent_twice_is_caught() -> None:
    """The twin: all of delta for failures, and all of it for the squares."""
    budget = Budget(epsilon="1/2", delta="1/5")
    honest = budget.rule(name="advanced")
    assert budget.pair is not None
    greedy = AdvancedRule({**honest.sums, "failing_rho": largest_rho(*budget.pair)}, failure=budget.delta)
    menu = [failing("0", "1/5"), failing("0", "1/10"), response("1/3")]
    assert worst_delta(menu, budget, 0.5, 5, rule=honest) <= 0.2 < worst_delta(menu, budget, 0.5, 5, rule=greedy) / 1.1


@pytest.mark.parametrize("failure", [None, "1e-9", "1e-6", "9e-6"])
def test_failures_and_the_rest_are_both_in_delta(failure: str | None) -> None:
    budget = Budget(epsilon=1, delta="1e-5", failure=failure)
    rule = AdvancedRule.under(budget)
    assert rule is not None
    assert rule.failure is not None
    rest = (Fraction("1e-5") - rule.failure) / (1 - rule.failure)
    assert rule.sums["failing_rho"] <= largest_rho(Fraction(1), rest)
    assert rule.failure == (Fraction("5e-6") if failure is None else Fraction(failure))
