"""The advanced filter against the worst analyst, against basic sums and against the published rule."""

import math
from fractions import Fraction

import pytest

from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.privacy import AddRemove, ApproximateLoss, ConcentratedLoss, GaussianLoss, PureLoss
from deniable.privacy.around.stated import Stated
from deniable.privacy.budget.additive import ApproximateFilter
from deniable.privacy.budget.advanced import AdvancedFilter
from deniable.privacy.budget.filter import Filter
from tests.privacy.budget.conversation import failing, gaussian, response, worst_delta

MENU = [response("1/4"), response("1/2"), failing("1/4", "1/100"), failing("0", "1/50"), gaussian(4, (1,))]


@pytest.mark.parametrize(("epsilon", "delta"), [("3/4", "1/10"), ("1", "1/20"), ("3/2", "1/5")])
def test_the_promise_holds_at_its_epsilon_and_elsewhere(epsilon: str, delta: str) -> None:
    rule = AdvancedFilter(epsilon=epsilon, delta=delta, relation=AddRemove)
    assert rule.delta(epsilon).upper <= float(Fraction(delta)) * (1 + 1e-9)
    for at in (0.0, float(Fraction(epsilon)), 2.0):
        assert worst_delta(MENU, rule, at, 4) <= rule.delta(at).upper + 1e-12
    assert worst_delta(MENU, rule, float(Fraction(epsilon)), 4) > 0.01


def test_many_small_questions_fit_where_basic_sums_stop() -> None:
    """(0.01, 1e-9)-DP: 100 by basic sums, 333 by the published rule."""
    small = ApproximateLoss("0.01", "1e-9")
    basic = ApproximateFilter(epsilon=1, delta="1e-6", relation=AddRemove)
    advanced = AdvancedFilter(epsilon=1, delta="1e-6", relation=AddRemove)
    published = max(
        count
        for count in range(1, 5000)
        if (s := count * 1e-4) / 2 + math.sqrt(2 * s * math.log(1 / 5e-7)) <= 1 and count * 1e-9 <= 5e-7
    )
    assert published == 333
    assert basic.admits(small * 100)
    assert not basic.admits(small * 101)
    assert advanced.admits(small * published)
    assert advanced.admits(small * 458)  # the better conversion of rho admits more
    assert not advanced.admits(small * 459)
    assert not advanced.admits(ApproximateLoss("0.0001", "1e-9") * 501)  # failures are up


def test_pure_questions_have_both_ways() -> None:
    rule = AdvancedFilter(epsilon=1, delta="1e-6", relation=AddRemove)
    rule.charge(PureLoss("1/2"))
    rule.charge(PureLoss("1/2"))
    assert not rule.admits(PureLoss("1/1000"))
    other = AdvancedFilter(epsilon=1, delta="1e-6", relation=AddRemove)
    other.charge(GaussianLoss(100))
    assert other.spent["epsilon"] is None
    assert not other.admits(PureLoss("1/2"))  # Gaussian noise has closed the way of plain sums
    assert other.remaining["epsilon"] == 0
    assert Filter.from_json(other.to_json()).spent == other.spent


def test_rho_pairs_and_epsilon_mix() -> None:
    rule = AdvancedFilter(epsilon=2, delta="1e-6", failure="1e-8", relation=AddRemove)
    for loss in (PureLoss("0.1"), ConcentratedLoss("0.01"), GaussianLoss(20), ApproximateLoss("0.1", "1e-9")):
        rule.charge(loss)
    rule.charge(Stated(GaussianLoss(2).poisson_sampled(rate="0.01"), "0.2", "8e-9"))
    assert rule.spent["rho"] == sum(
        (Fraction(1, 200), Fraction(1, 100), Fraction(1, 800), Fraction(1, 200), Fraction(1, 50))
    )
    assert rule.spent["failure"] == Fraction(9, 10**9)
    with pytest.raises(BudgetExceededError, match="failure"):
        rule.charge(ApproximateLoss(0, "2e-9"))


@pytest.mark.parametrize("failure", ["1e-6", "1e-5", "-1"])
def test_some_delta_must_be_left_for_the_squares(failure: str) -> None:
    with pytest.raises(InvalidParameterError, match="failure must"):
        AdvancedFilter(epsilon=1, delta="1e-6", failure=failure, relation=AddRemove)
