"""Individual budgets against the worst analyst, to the last bit, and without a word about any record."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import Budget, Replace
from deniable.privacy.budget.individual import IndividualFilter
from tests.privacy.budget.conversation import Mechanism, gaussian, response

MENU = [response("1/2"), response("1/4"), gaussian(4, (1,)), gaussian(9, (-2, 4))]


def rho_of(mechanism: Mechanism) -> float:
    assert mechanism.loss.statement.kind in ("pure", "discrete_gaussian")
    return math.nextafter(float(mechanism.loss.rho), math.inf)


def worst_delta(takes_part: Callable[[Sequence[float], float], bool], epsilon: float, rounds: int) -> float:
    """delta of the best analyst when the record joins only where `takes_part` says so, given what it spent before."""

    def best(p: float, q: float, spent: tuple[float, ...], left: int) -> float:
        value = max(p - math.exp(epsilon) * q, 0.0)
        for mechanism in MENU if left else []:
            cost = rho_of(mechanism)
            if takes_part(spent, cost):  # left out, both data sets give the same law and nothing is learned
                then = (*spent, cost)
                value = max(value, sum(best(p * a, q * b, then, left - 1) for a, b in mechanism.outcomes))
        return value

    return best(1.0, 1.0, (), rounds)


def filtered(spent: Sequence[float], cost: float) -> bool:
    one = IndividualFilter(Budget(rho="3/20"), records=1)
    for earlier in spent:
        one.charge([earlier])
    return bool(one.charge([cost]).exact[0])


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_every_record_keeps_its_promise(epsilon: float) -> None:
    promised = IndividualFilter(Budget(rho="3/20"), records=1).delta(epsilon).upper
    assert promised / 20 < worst_delta(filtered, epsilon, 3) <= promised


def test_a_record_that_pays_after_taking_part_is_caught() -> None:
    """The twin: "take part while the budget is not yet exceeded" lets the last mechanism through."""
    promised = IndividualFilter(Budget(mu="1/2"), records=1).delta(0).upper

    def late(spent: Sequence[float], _cost: float) -> bool:
        return sum(spent) <= 0.125

    assert worst_delta(late, 0.0, 3) > promised


def test_records_drop_out_one_by_one_and_come_back_for_less() -> None:
    one = IndividualFilter(Budget(mu=1), records=4)
    norms = np.array([0.0, 0.5, 1.0, 3.0])
    steps = [one.charge_gaussian(norms, sigma=2).exact.tolist() for _ in range(5)]
    assert steps[0] == [True, True, True, False]  # 9/4 > 1: never
    assert steps[3] == [True, True, False, False]  # 4 * 1/4, rounded up, is just above 1
    assert steps[4] == [True, True, False, False]
    assert one.charge_gaussian(norms / 10, sigma=2).exact.tolist() == [True, True, True, True]


def test_a_small_record_serves_longer_than_the_worst_case() -> None:
    """What individual budgets are for: a norm ten times below the bound takes part a hundred times longer."""
    one = IndividualFilter(Budget(rho=1), records=2)
    norms, served = np.array([0.1, 1.0]), np.zeros(2, dtype=int)
    for _ in range(1000):
        served += one.charge_gaussian(norms, sigma=2).exact
    assert served.tolist() == [799, 7]  # 800 and 8 would fit without rounding up


def test_sums_are_never_below_the_exact_ones() -> None:
    bits = np.random.default_rng(7)  # a test stream
    one = IndividualFilter(Budget(order=4, renyi=10**6), records=200)
    exact = [Fraction(0)] * 200
    for _ in range(50):
        losses = bits.exponential(size=200) * 10.0 ** bits.integers(-12, 3, size=200)
        assert one.charge(losses).exact.all()
        exact = [total + Fraction(float(loss)) for total, loss in zip(exact, losses, strict=True)]
    spent = one.exact_spent
    for total, sum_ in zip(exact, spent, strict=True):
        assert total <= Fraction(float(sum_)) <= total * (1 + Fraction(300, 2**52))


@pytest.mark.parametrize("sigma", ["1/3", "2", "7.7"])
def test_gaussian_losses_are_rounded_up(sigma: str) -> None:
    norms = np.random.default_rng(11).exponential(size=100)  # a test stream
    for one, factor in (
        (IndividualFilter(Budget(mu=1000), records=100), Fraction(1)),
        (IndividualFilter(Budget(rho=10**6), records=100), Fraction(1, 2)),
        (IndividualFilter(Budget(order="7/3", renyi=10**6), records=100), Fraction(7, 6)),
    ):
        one.charge_gaussian(norms, sigma=sigma)
        for norm, paid in zip(norms, one.exact_spent, strict=True):
            due = (Fraction(float(norm)) / Fraction(sigma)) ** 2 * factor
            assert due <= Fraction(float(paid)) <= due * (1 + Fraction(1, 2**48))


def test_what_is_no_loss_leaves_the_record_out() -> None:
    one = IndividualFilter(Budget(rho=1), records=5)
    active = one.charge([0.5, math.nan, -0.1, math.inf, 0.0])
    assert active.exact.tolist() == [True, False, False, False, True]
    assert one.exact_spent.tolist() == pytest.approx([0.5, 0, 0, 0, 0], rel=1e-15)


def test_extreme_norms_are_charged_or_left_out_without_a_warning() -> None:
    one = IndividualFilter(Budget(mu=1), records=3)
    assert one.charge_gaussian([1e-200, 1e200, 1e308], sigma="1e-3").exact.tolist() == [True, False, False]
    assert one.exact_spent[0] > 0
    assert IndividualFilter(Budget(mu="1e160"), records=1).charge([1.7e308]).exact.tolist() == [True]


def test_nothing_about_a_record_is_shown() -> None:
    one = IndividualFilter(Budget(rho=1), records=3)
    active = one.charge([0.25, 0.5, 2.0])
    for text in (repr(active), str(active), repr(one), f"{active}"):
        assert "secret" in text
        assert not any(number in text for number in ("0.25", "0.5", "True", "False", "2.0"))
    with pytest.raises(ValueError, match="read-only"):
        active.exact[0] = False
    for wrong in ([0.25], [[0.25] * 3], ["0.25x", "1", "2"], None):
        with pytest.raises(InvalidParameterError) as caught:
            one.charge(wrong)  # type: ignore[arg-type]
        assert not any(letter.isdigit() for letter in str(caught.value))
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("budget", [Budget(renyi="1/2", order=8), Budget(rho="1/8"), Budget(mu="1/2")])
def test_the_promise_is_that_of_the_budget(budget: Budget) -> None:
    one = IndividualFilter(budget, records=2)
    assert one.delta(1) == budget.rule().delta(1)
    assert one.epsilon("1e-6") == budget.rule().epsilon("1e-6")


def test_replacing_a_record_is_not_proved() -> None:
    with pytest.raises(UnprovedError, match="different budgets"):
        IndividualFilter(Budget(rho=1), records=1, relation=Replace)
    with pytest.raises(InvalidParameterError, match="records"):
        IndividualFilter(Budget(rho=1), records=0)
    for budget in (Budget(epsilon=1), Budget(rho=1, failure="1e-6"), 1):
        with pytest.raises(InvalidParameterError, match="without failure"):
            IndividualFilter(budget, records=1)  # type: ignore[arg-type]
