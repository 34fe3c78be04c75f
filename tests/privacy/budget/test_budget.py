"""Budgets: which rule they choose, what is left, and their text."""

from fractions import Fraction

import pytest

from deniable.errors import UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    Filter,
    GaussianLoss,
    PrivacyLoss,
    PureLoss,
    of_count,
)
from deniable.privacy.budget.rule import Remaining
from deniable.privacy.calibration.calibrate import gaussian_sigma_squared
from deniable.privacy.charge import Charge
from deniable.privacy.notions.concentrated import largest_rho
from deniable.privacy.notions.gaussian_dp import largest_mu_squared

ONE = of_count(rows=1, groups=1, relation=AddRemove)


def after(budget: Budget, first: Charge | None, total: Charge) -> Remaining:
    return budget.rule(first).left(total)


def admits(budget: Budget, first: Charge, total: Charge) -> bool:
    return budget.rule(first).admits(total)


def test_a_renyi_budget_pays_for_sampled_noise() -> None:
    budget = Budget(renyi="1/2", order=8)
    step = budget.price(GaussianLoss(1).poisson_sampled(rate="0.01"))
    assert step.renyi is not None
    assert Fraction("0.000893643907606") <= step.renyi <= Fraction("0.000893643907608")
    assert budget.rule(step).name == "renyi"
    assert admits(budget, step, step * 559)
    assert not admits(budget, step, step * 560)
    assert after(budget, step, step).renyi == Fraction(1, 2) - step.renyi
    assert str(after(budget, step, step * 0)) == "renyi=0.5"
    assert str(budget) == "renyi=0.5, order=8"


def test_the_first_charge_fixes_the_rule() -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    for loss, name in (
        (PureLoss("0.1"), "concentrated"),
        (PureLoss("1"), "concentrated"),
        (DiscreteGaussianLoss(400, ONE), "gaussian"),
        (ConcentratedLoss("0.001"), "concentrated"),
    ):
        reserved = {"concentrated": "reserved", "gaussian": "reserved gaussian"}[name]
        assert budget.rule(loss.charge()).name == reserved
        assert budget.rule(loss.charge(), reserve=False).name == name  # as ledgers chose that named no rule
    most = ConcentratedLoss(budget.rule(name="concentrated").sums["rho"])
    assert budget.rule(most.charge()).name == "concentrated"  # a reserve would leave no room for it
    assert budget.rule(ApproximateLoss("0.1", "1e-7").charge()).name == "pairs"
    assert budget.rule(ApproximateLoss("0.01", "1e-9").charge()).name == "advanced"
    assert budget.rule(ApproximateLoss("0.01", "1e-6").charge()).name == "pairs"  # its delta is all there is
    whole = DiscreteGaussianLoss(gaussian_sigma_squared(ONE, epsilon=1, delta="1e-6"), ONE).stated(
        epsilon=1, delta="1e-6"
    )
    assert budget.rule(whole.charge()).name == "pairs"  # its mu is a little above what the pair allows
    assert admits(budget, whole.charge(), whole.charge())
    assert not admits(budget, whole.charge(), whole.charge() * 2)


def test_gaussian_questions_in_an_approximate_budget_add_up_by_rho() -> None:
    """Ninety questions at a tenth of epsilon fit where basic sums would stop at ten."""
    budget = Budget(epsilon=1, delta="1e-6")
    one = DiscreteGaussianLoss(gaussian_sigma_squared(ONE, epsilon="0.1", delta="1e-7"), ONE).stated(
        epsilon="0.1", delta="1e-7"
    )
    assert admits(budget, one.charge(), one.charge() * 90)
    assert not admits(budget, one.charge(), one.charge() * 110)


def test_many_small_failing_questions_add_up_by_squares() -> None:
    """458 questions at (0.01, 1e-9) where pairs stop at 100; other noise may follow, and failures are counted."""
    budget = Budget(epsilon=1, delta="1e-6")
    one = ApproximateLoss("0.01", "1e-9").charge()
    assert admits(budget, one, one * 458)
    assert not admits(budget, one, one * 459)
    assert admits(budget, one, one * 100 + GaussianLoss(10).charge())
    assert not admits(budget, one, one + ApproximateLoss("0.001", "5e-7").charge())
    assert after(budget, one, one * 100).failure == Fraction(4, 10**7)
    assert str(after(budget, one, one * 100)) == "epsilon=0 or rho=~0.0179374, with failure=4e-07"
    assert admits(budget, one, one + ApproximateLoss("0.9", "4e-7").charge())  # plain sums are still open
    assert not admits(budget, one, one * 20 + ApproximateLoss("0.9", "4e-7").charge())
    run = GaussianLoss(2).poisson_sampled(rate="0.01").stated(epsilon="0.2", delta="8e-9").charge()
    assert (run.failing_rho, run.failure, run.rho) == (Fraction(1, 50), Fraction(8, 10**9), None)
    sampled = GaussianLoss(2).poisson_sampled(rate="0.01").charge()
    assert not budget.rule(one).proves(one + sampled)


def test_unproved_currencies_are_refused_with_a_remedy() -> None:
    gauss, approximate = DiscreteGaussianLoss(400, ONE), ApproximateLoss("0.1", "1e-9")
    pair = Budget(epsilon=1, delta="1e-6")
    cases: list[tuple[Budget, list[PrivacyLoss], str]] = [
        (Budget(epsilon=1), [gauss], "Laplace"),
        (Budget(epsilon=1), [approximate], "delta"),
        (Budget(mu=1), [approximate], r"Budget\(rho"),
        (pair, [gauss, ConcentratedLoss("0.001")], "squares of mu"),
        (pair, [gauss, GaussianLoss(2).poisson_sampled(rate="0.01")], "squares of mu"),
        (Budget(rho=1), [approximate], r"Budget\(epsilon"),
        (pair, [ApproximateLoss("0.9", "1e-9"), ConcentratedLoss("1e-5")], "State one pair"),
        (Budget(renyi=1, order=2), [approximate], "may fail"),
    ]
    for budget, (*before, refused), remedy in cases:
        account = Filter(budget, relation=AddRemove)
        for loss in before:
            account.charge(loss)
        with pytest.raises(UnprovedError, match=remedy):
            account.admits(refused)


def test_what_is_left_is_exact() -> None:
    tenth = PureLoss(0.1).charge()
    assert after(Budget(epsilon=1), tenth, tenth * 3).epsilon == Fraction(7, 10)
    assert str(after(Budget(epsilon=1), tenth, tenth * 3)) == "epsilon=0.7"
    assert after(Budget(rho=1), tenth, tenth * 2).rho == 1 - Fraction(1, 100)
    empty = after(Budget(epsilon=1, delta="1e-6"), None, Charge.nothing())
    assert (empty.epsilon, empty.delta) == (1, Fraction(1, 10**6))
    gauss = GaussianLoss(100).charge()
    left = after(Budget(epsilon=1, delta="1e-6"), gauss, gauss)
    assert left.epsilon is left.rho is None
    low, high = (Fraction(3, 4 * 10**6) * Fraction(n, 1000) for n in (999, 1001))  # a quarter of delta is set apart
    assert left.mu_squared is not None
    assert largest_mu_squared(Fraction(1), low) < left.mu_squared + Fraction(1, 10000)
    assert largest_mu_squared(Fraction(1), high) > left.mu_squared + Fraction(1, 10000)
    assert left.failure == Fraction(1, 4 * 10**6)
    rho = ConcentratedLoss("0.001").charge()
    left = after(Budget(epsilon=1, delta="1e-6"), rho, rho)
    assert left.rho is not None
    assert largest_rho(Fraction(1), low) < left.rho + Fraction(1, 1000) < largest_rho(Fraction(1), high)
    both = after(Budget(epsilon=1, delta="1e-6"), tenth, tenth)
    assert both.epsilon == Fraction(9, 10)
    assert str(both).startswith("epsilon=0.9 or rho=")
    assert after(Budget(mu=1), gauss, gauss).mu_squared == 1 - Fraction(1, 10000)
    basic = ApproximateLoss("0.1", "1e-7").charge()
    assert str(after(Budget(epsilon=1, delta="1e-6"), basic, basic)) == "epsilon=0.9, delta=9e-07"
