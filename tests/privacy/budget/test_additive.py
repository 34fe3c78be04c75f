"""Additive filters against the worst analyst, and what they lose: nothing where it is said."""

from fractions import Fraction

import pytest

from deniable.errors import BudgetExceededError, UnprovedError
from deniable.privacy import AddRemove, ApproximateLoss, ConcentratedLoss, GaussianLoss, PureLoss, Replace
from deniable.privacy.around.stated import Stated
from deniable.privacy.budget.additive import ApproximateFilter, ConcentratedFilter, GaussianFilter, PureFilter
from tests.privacy.budget.conversation import Mechanism, failing, gaussian, response, worst_delta

PURES = [response("1/4"), response("1/2"), response("3/4")]
MIXED = [response("1/2"), gaussian(4, (1,)), gaussian(9, (-2, 4))]
FAILING = [response("1/2"), failing("1/4", "1/50"), failing("0", "1/25")]


@pytest.mark.parametrize("epsilon", ["0", "1/2", "99/100", "1"])
def test_a_pure_filter_is_as_tight_as_one_mechanism(epsilon: str) -> None:
    rule = PureFilter(epsilon=1, relation=AddRemove)
    promised = rule.delta(epsilon)
    found = worst_delta([*PURES, response("1")], rule, float(Fraction(epsilon)), 4)
    assert found <= promised.upper + 1e-12
    assert found >= promised.lower - 1e-12


@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
def test_an_approximate_filter_is_as_tight_as_one_mechanism(epsilon: str) -> None:
    rule = ApproximateFilter(epsilon=1, delta="1/20", relation=AddRemove)
    promised = rule.delta(epsilon)
    found = worst_delta([*FAILING, failing("1", "1/20")], rule, float(Fraction(epsilon)), 3)
    assert promised.lower - 1e-12 <= found <= promised.upper + 1e-12


@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
@pytest.mark.parametrize("menu", [MIXED, FAILING], ids=["noise", "failures"])
def test_a_concentrated_filter_keeps_its_curve(menu: list[Mechanism], epsilon: str) -> None:
    rule = ConcentratedFilter(rho="3/10", failure="1/20", relation=AddRemove)
    assert worst_delta(menu, rule, float(Fraction(epsilon)), 4) <= rule.delta(epsilon).upper


def test_failures_that_are_not_counted_are_caught() -> None:
    """The twin: the same game against a filter that lets four times the failures pass."""
    promised = ConcentratedFilter(rho="3/10", failure="1/20", relation=AddRemove).delta(2).upper
    careless = ConcentratedFilter(rho="3/10", failure="1/5", relation=AddRemove)
    assert worst_delta(FAILING, careless, 2.0, 4) > promised


@pytest.mark.parametrize("epsilon", ["0", "1/2", "1", "2"])
@pytest.mark.parametrize("menu", [PURES, MIXED], ids=["responses", "noise"])
def test_a_gaussian_filter_keeps_its_curve(menu: list[Mechanism], epsilon: str) -> None:
    rule = GaussianFilter(mu="13/10", relation=AddRemove)
    assert worst_delta(menu, rule, float(Fraction(epsilon)), 4) <= rule.delta(epsilon).upper


def test_gaussian_noise_loses_nothing_to_adaptivity() -> None:
    """Nine steps at noise multiplier 3 have mu = 1: the filter admits nine and promises the curve of all nine."""
    rule = GaussianFilter(mu=1, relation=Replace)
    step = GaussianLoss(3)
    for _ in range(9):
        rule.charge(step)
    assert rule.remaining == {"mu_squared": 0}
    assert not rule.admits(GaussianLoss(1000))
    assert rule.delta(1) == (step * 9).delta(1)


def test_each_currency_takes_what_is_proved_in_it() -> None:
    gauss, approximate = GaussianLoss(4), ApproximateLoss("0.1", "1e-9")
    cases = [
        (PureFilter(epsilon=1, relation=AddRemove), PureLoss("0.1"), gauss, "ApproximateFilter"),
        (PureFilter(epsilon=1, relation=AddRemove), PureLoss("0.1"), approximate, "no delta"),
        (ApproximateFilter(epsilon=1, delta="1e-6", relation=AddRemove), approximate, gauss, "State one pair"),
        (GaussianFilter(mu=1, relation=AddRemove), gauss, approximate, "mu"),
        (GaussianFilter(mu=1, relation=AddRemove), gauss, ConcentratedLoss("0.1"), "mu"),
    ]
    for rule, fits, refused, remedy in cases:
        assert rule.admits(fits)
        with pytest.raises(UnprovedError, match=remedy):
            rule.admits(refused)


def test_a_fixed_composition_may_be_stated_as_one_loss() -> None:
    """A training run of fixed parameters is charged at one certified pair; its steps are not."""
    run = GaussianLoss(2) * 4
    rule = ApproximateFilter(epsilon=8, delta="1e-5", relation=AddRemove)
    rule.charge(Stated(run, "5", "1e-6"))
    assert rule.spent == {"epsilon": 5, "delta": Fraction(1, 10**6)}
    with pytest.raises(BudgetExceededError, match="epsilon=3"):
        rule.charge(Stated(run, "5", "1e-6"))


def test_a_pair_counts_as_half_its_square_and_its_delta() -> None:
    rule = ConcentratedFilter(rho=1, failure="1e-6", relation=AddRemove)
    rule.charge(ApproximateLoss("1/2", "1e-7"))
    assert rule.spent == {"rho": Fraction(1, 8), "failure": Fraction(1, 10**7)}
