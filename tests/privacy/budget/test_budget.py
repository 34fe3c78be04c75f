"""Budgets against the worst analyst: every adaptive strategy on small mechanisms is played out exactly."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    PureLoss,
    of_count,
)
from deniable.privacy.around.stated import Stated
from deniable.privacy.budget.budget import Rule
from deniable.privacy.budget.renyi import renyi_delta
from deniable.privacy.calibration.calibrate import gaussian_sigma_squared
from deniable.privacy.charge import Charge
from deniable.privacy.currencies.concentrated import concentrated_delta, largest_rho
from deniable.privacy.currencies.gaussian_dp import gaussian_delta, largest_mu_squared

ONE = of_count(rows=1, groups=1, relation=AddRemove)
Mechanism = tuple[Charge, list[tuple[float, float]]]  # the charge, and (P, Q) of every outcome


def response(epsilon: str) -> Mechanism:
    """Randomised response."""
    e = math.exp(float(Fraction(epsilon)))
    return PureLoss(epsilon).charge(), [(e / (1 + e), 1 / (1 + e)), (1 / (1 + e), e / (1 + e))]


def gaussian(sigma_squared: int, cuts: tuple[int, ...]) -> Mechanism:
    """Discrete Gaussian noise on 1 against 0, of which only the bin between the cuts is seen."""
    k = np.arange(-400, 401)
    law = np.exp(-(k**2) / (2 * sigma_squared))
    law /= law.sum()
    bins = [float(part.sum()) for part in np.split(law, [400 + cut for cut in cuts])]
    moved = [float(part.sum()) for part in np.split(law, [399 + cut for cut in cuts])]
    return DiscreteGaussianLoss(sigma_squared, ONE).charge(), list(zip(moved, bins, strict=True))


def failing(epsilon: str, delta: str) -> Mechanism:
    """The worst (epsilon, delta)-DP mechanism: one outcome never happens under Q, one never under P."""
    d = float(Fraction(delta))
    _, pairs = response(epsilon)
    return ApproximateLoss(epsilon, delta).charge(), [((1 - d) * p, (1 - d) * q) for p, q in pairs] + [(d, 0), (0, d)]


def worst_delta(menu: list[Mechanism], admits: Callable[[Charge, Charge], bool], epsilon: float, rounds: int) -> float:
    """delta at epsilon of the best analyst against the rule, by backward recursion over all conversations."""

    def best(p: float, q: float, first: Charge | None, total: Charge, left: int) -> float:
        value = max(p - math.exp(epsilon) * q, 0.0)
        if left == 0:
            return value
        for charge, outcomes in menu:
            try:
                allowed = admits(first or charge, total + charge)
            except UnprovedError:
                allowed = False
            if allowed:
                value = max(
                    value,
                    sum(best(p * a, q * b, first or charge, total + charge, left - 1) for a, b in outcomes),
                )
        return value

    return best(1.0, 1.0, None, Charge.nothing(), rounds)


PURES = [response("1/4"), response("1/2"), response("3/4")]
MIXED = [response("1/2"), gaussian(4, (1,)), gaussian(9, (-2, 4))]


def test_a_pure_budget_leaves_no_delta() -> None:
    assert worst_delta(PURES, Budget(epsilon=1).admits, 1.0, 4) <= 1e-12
    assert worst_delta(PURES, Budget(epsilon=1).admits, 0.74, 4) > 0.05  # the analyst is able


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_a_rho_budget_keeps_its_curve(epsilon: float) -> None:
    rho = Fraction(3, 10)
    found = worst_delta(MIXED, Budget(rho=rho).admits, epsilon, 4)
    assert found <= concentrated_delta(rho, Fraction(epsilon))


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("menu", [PURES, MIXED])
def test_a_mu_budget_keeps_its_curve(menu: list[Mechanism], epsilon: float) -> None:
    mu = Fraction(13, 10)
    found = worst_delta(menu, Budget(mu=mu).admits, epsilon, 4)
    assert found <= gaussian_delta(mu**2, Fraction(epsilon)).upper
    if epsilon == 0.0:
        assert found >= 0.3  # the game comes close to the bound 0.484


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_a_renyi_budget_keeps_its_curve(epsilon: float) -> None:
    budget = Budget(renyi="3/4", order="5/2")
    losses = [PureLoss("1/2"), DiscreteGaussianLoss(4, ONE), DiscreteGaussianLoss(9, ONE)]
    menu = [(budget.price(loss), outcomes) for loss, (_, outcomes) in zip(losses, MIXED, strict=True)]
    found = worst_delta(menu, budget.admits, epsilon, 4)
    assert found <= renyi_delta(Fraction(5, 2), Fraction(3, 4), Fraction(epsilon))
    if epsilon == 0.0:
        assert found > 0.2


def test_a_renyi_budget_pays_for_sampled_noise() -> None:
    budget = Budget(renyi="1/2", order=8)
    step = budget.price(GaussianLoss(1).poisson_sampled(rate="0.01"))
    assert step.renyi is not None
    assert Fraction("0.000893643907606") <= step.renyi <= Fraction("0.000893643907608")
    assert budget.rule(step) is Rule.RENYI
    assert budget.admits(step, step * 559)
    assert not budget.admits(step, step * 560)
    assert budget.left(step, step).renyi == Fraction(1, 2) - step.renyi
    assert 0.5 < budget.fraction_spent(step, step * 300) < 0.55
    assert str(budget.left(step, step * 0)) == "renyi=0.5"
    assert str(budget) == "renyi=0.5, order=8"
    refused = budget.price(ApproximateLoss("0.1", "1e-9"))
    with pytest.raises(UnprovedError, match="may fail"):
        budget.admits(refused, refused)


@pytest.mark.parametrize(("epsilon", "delta"), [("3/4", "1/10"), ("1", "1/20"), ("3/2", "1/50")])
def test_an_approximate_budget_keeps_its_pair_in_every_branch(epsilon: str, delta: str) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    menu = [*MIXED, response("1/4"), failing("1/4", "1/200"), failing("1/4", "1/50")]
    found = worst_delta(menu, budget.admits, float(Fraction(epsilon)), 4)
    assert 0 < found <= float(Fraction(delta)) * (1 + 1e-9)


def test_a_rule_that_may_be_chosen_late_is_caught() -> None:
    """The twin: adding the basic pair sums to the other two, whichever fits at the moment, breaks the budget."""
    epsilon, delta = Fraction(3, 4), Fraction(1, 10)
    budget = Budget(epsilon=epsilon, delta=delta)

    def late(first: Charge, total: Charge) -> bool:
        doubled = Charge(epsilon=total.epsilon, delta=total.delta / 2, rho=total.rho, mu_squared=None)
        basic = total.epsilon is not None and total.epsilon <= 2 * epsilon and doubled.delta <= delta
        return basic or (total.delta == 0 and budget.admits(first, total))

    menu = [response("1/2"), failing("1/4", "1/10")]
    assert worst_delta(menu, late, float(epsilon), 3) > float(delta)


def test_the_first_charge_fixes_the_rule() -> None:
    budget = Budget(epsilon=1, delta="1e-6")
    assert budget.rule(PureLoss("0.1").charge()) is Rule.CONCENTRATED
    assert budget.rule(PureLoss("1").charge()) is Rule.CONCENTRATED
    assert budget.rule(DiscreteGaussianLoss(400, ONE).charge()) is Rule.GAUSSIAN
    assert budget.rule(ConcentratedLoss("0.001").charge()) is Rule.CONCENTRATED
    assert budget.rule(ApproximateLoss("0.1", "1e-7").charge()) is Rule.BASIC
    assert budget.rule(ApproximateLoss("0.01", "1e-9").charge()) is Rule.ADVANCED
    assert budget.rule(ApproximateLoss("0.01", "1e-6").charge()) is Rule.BASIC  # its delta is all there is
    whole = Stated(DiscreteGaussianLoss(gaussian_sigma_squared(ONE, epsilon=1, delta="1e-6"), ONE), 1, "1e-6")
    assert budget.rule(whole.charge()) is Rule.BASIC  # its mu is a little above what the pair allows
    assert budget.admits(whole.charge(), whole.charge())
    assert not budget.admits(whole.charge(), whole.charge() * 2)


def test_ten_tenths_fit_in_one_and_an_eleventh_does_not() -> None:
    for budget in (Budget(epsilon=1), Budget(epsilon=1, delta="1e-9")):
        tenth = PureLoss(0.1).charge()
        assert budget.admits(tenth, tenth * 10)
        assert not budget.admits(tenth, tenth * 11) or budget.delta


def test_gaussian_questions_in_an_approximate_budget_add_up_by_rho() -> None:
    """Ninety questions at a tenth of epsilon fit where basic sums would stop at ten."""
    budget = Budget(epsilon=1, delta="1e-6")
    one = Stated(DiscreteGaussianLoss(gaussian_sigma_squared(ONE, epsilon="0.1", delta="1e-7"), ONE), "0.1", "1e-7")
    assert budget.admits(one.charge(), one.charge() * 90)
    assert not budget.admits(one.charge(), one.charge() * 110)


def test_many_small_failing_questions_add_up_by_squares() -> None:
    """458 questions at (0.01, 1e-9) where pairs stop at 100; other noise may follow, and failures are counted."""
    budget = Budget(epsilon=1, delta="1e-6")
    one = ApproximateLoss("0.01", "1e-9").charge()
    assert budget.admits(one, one * 458)
    assert not budget.admits(one, one * 459)
    assert budget.admits(one, one * 100 + GaussianLoss(10).charge())
    assert not budget.admits(one, one + ApproximateLoss("0.001", "5e-7").charge())
    assert budget.left(one, one * 100).failure == Fraction(4, 10**7)
    assert str(budget.left(one, one * 100)) == "epsilon=0 or rho=~0.0179374, with failure=4e-07"
    assert budget.admits(one, one + ApproximateLoss("0.9", "4e-7").charge())  # plain sums are still open
    assert not budget.admits(one, one * 20 + ApproximateLoss("0.9", "4e-7").charge())
    assert 0.2 < budget.fraction_spent(one, one * 100) < 0.22
    run = Stated(GaussianLoss(2).poisson_sampled(rate="0.01"), "0.2", "8e-9").charge()
    assert (run.failing_rho, run.failure, run.rho) == (Fraction(1, 50), Fraction(8, 10**9), None)
    with pytest.raises(UnprovedError, match="rhos and failures"):
        budget.admits(one, one + GaussianLoss(2).poisson_sampled(rate="0.01").charge())


@pytest.mark.parametrize(("epsilon", "delta"), [("1/2", "1/3"), ("3/4", "1/5"), ("1", "1/5")])
def test_a_budget_of_rhos_and_failures_keeps_its_pair(epsilon: str, delta: str) -> None:
    budget = Budget(epsilon=epsilon, delta=delta)
    menu = [failing("1/4", "1/200"), failing("1/4", "1/25"), response("1/4"), MIXED[1]]
    first = menu[0][0]
    assert budget.rule(first) is Rule.ADVANCED

    def admits(_first: Charge, total: Charge) -> bool:
        return budget.admits(first, total)  # whichever comes first, the rule under test

    found = worst_delta(menu, admits, float(Fraction(epsilon)), 4)
    assert float(Fraction(delta)) / 20 < found <= float(Fraction(delta)) * (1 + 1e-9)


def test_unproved_currencies_are_refused_with_a_remedy() -> None:
    gauss = DiscreteGaussianLoss(400, ONE).charge()
    approximate = ApproximateLoss("0.1", "1e-9").charge()
    cases = [
        (Budget(epsilon=1), gauss, gauss, "Laplace"),
        (Budget(epsilon=1), approximate, approximate, "delta"),
        (Budget(mu=1), approximate, approximate, r"Budget\(rho"),
        (Budget(epsilon=1, delta="1e-6"), gauss, gauss + ConcentratedLoss("0.001").charge(), "squares of mu"),
        (Budget(rho=1), approximate, approximate, r"Budget\(epsilon"),
        (Budget(epsilon=1, delta="1e-6"), approximate, approximate + gauss, "with epsilon and delta"),
        (Budget(epsilon=1, delta="1e-6"), PureLoss("0.1").charge(), PureLoss("0.1").charge() + approximate, "rho"),
    ]
    for budget, first, total, remedy in cases:
        with pytest.raises(UnprovedError, match=remedy):
            budget.admits(first, total)


def test_what_is_left_is_exact() -> None:
    tenth = PureLoss(0.1).charge()
    assert Budget(epsilon=1).left(tenth, tenth * 3).epsilon == Fraction(7, 10)
    assert str(Budget(epsilon=1).left(tenth, tenth * 3)) == "epsilon=0.7"
    assert Budget(rho=1).left(tenth, tenth * 2).rho == 1 - Fraction(1, 100)
    empty = Budget(epsilon=1, delta="1e-6").left(None, Charge.nothing())
    assert (empty.epsilon, empty.delta) == (1, Fraction(1, 10**6))
    gauss = GaussianLoss(100).charge()
    left = Budget(epsilon=1, delta="1e-6").left(gauss, gauss)
    assert left.epsilon is left.rho is None
    assert left.mu_squared == largest_mu_squared(Fraction(1), Fraction(1, 10**6)) - Fraction(1, 10000)
    rho = ConcentratedLoss("0.001").charge()
    left = Budget(epsilon=1, delta="1e-6").left(rho, rho)
    assert left.rho == largest_rho(Fraction(1), Fraction(1, 10**6)) - Fraction(1, 1000)
    both = Budget(epsilon=1, delta="1e-6").left(tenth, tenth)
    assert both.epsilon == Fraction(9, 10)
    assert str(both).startswith("epsilon=0.9 or rho=")
    assert Budget(mu=1).left(gauss, gauss).mu_squared == 1 - Fraction(1, 10000)
    basic = ApproximateLoss("0.1", "1e-7").charge()
    assert str(Budget(epsilon=1, delta="1e-6").left(basic, basic)) == "epsilon=0.9, delta=9e-07"


def test_the_spent_share_follows_the_rule() -> None:
    tenth = PureLoss(0.1).charge()
    gauss = GaussianLoss(100).charge()
    assert Budget(epsilon=1).fraction_spent(tenth, tenth * 3) == Fraction(3, 10)
    assert Budget(rho=Fraction(1, 10)).fraction_spent(tenth, tenth) == Fraction(1, 20)
    assert Budget(mu="0.1").fraction_spent(gauss, gauss) == Fraction(1, 100)
    assert Budget(epsilon=1).fraction_spent(None, Charge.nothing()) == 0
    basic = ApproximateLoss("0.1", "5e-7").charge()
    assert Budget(epsilon=1, delta="1e-6").fraction_spent(basic, basic) == Fraction(1, 2)
    assert 0 < Budget(epsilon=1, delta="1e-6").fraction_spent(gauss, gauss * 10) < 1
    assert Budget(epsilon=1).fraction_spent(gauss, gauss) == 1


@pytest.mark.parametrize(
    "budget",
    [Budget(epsilon=1), Budget(epsilon=0.1, delta=1e-6), Budget(rho="1/3"), Budget(mu=2), Budget(renyi="0.5", order=8)],
)
def test_budgets_survive_json(budget: Budget) -> None:
    assert Budget.from_json(budget.to_json()) == budget
    assert eval(repr(budget)) == budget


def test_budgets_print_in_the_users_words() -> None:
    assert str(Budget(epsilon=1)) == "epsilon=1"
    assert str(Budget(epsilon=0.5, delta=1e-6)) == "epsilon=0.5, delta=1e-06"


@pytest.mark.parametrize(
    "fields",
    [
        *({}, {"delta": 0.1}, {"epsilon": 1, "rho": 1}, {"rho": 1, "delta": 0.1}, {"mu": 1, "rho": 1}),
        *({"epsilon": 0}, {"epsilon": -1}, {"epsilon": True}, {"epsilon": "much"}, {"epsilon": 1, "delta": 1}),
        *({"epsilon": float("inf")}, {"rho": 0}, {"mu": 0}, {"renyi": 1}, {"order": 2}, {"renyi": 1, "order": 1}),
        *({"renyi": 0, "order": 2}, {"epsilon": 1, "order": 2}, {"renyi": 1, "order": 2, "delta": 0.1}),
    ],
)
def test_bad_budgets_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        Budget(**fields)
