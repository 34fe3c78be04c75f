"""The mechanism with the least expected error that keeps the request."""

from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import Budget, Sensitivity
from deniable.privacy.relation import AddRemove
from deniable.query.plan import Aggregate, Bounded, Request
from deniable.query.rules.bound import WHOLE
from deniable.query.rules.choose import choose


def part(l1: int, l2_squared: int) -> Bounded:
    reach = Sensitivity(
        l1=Fraction(l1), l2_squared=Fraction(l2_squared), linf=Fraction(1), relation=AddRemove, coordinates=l1
    )
    return Bounded(aggregate=Aggregate("count"), lattice=WHOLE, lower=0, upper=1, centre=0, sensitivity=reach)


ONE, MANY = part(1, 1), part(100, 100)


def test_epsilon_alone_buys_laplace_noise_in_equal_shares() -> None:
    choice = choose([ONE, ONE, MANY], Request(epsilon=Fraction(3)), None)
    assert [type(mechanism).__name__ for mechanism in choice.mechanisms] == ["Laplace"] * 3
    assert [mechanism.scale for mechanism in choice.mechanisms] == [1, 1, 100]  # type: ignore[attr-defined]
    assert choice.loss.charge().epsilon == 3


def test_rho_buys_whichever_is_smaller() -> None:
    assert type(choose([ONE], Request(rho=Fraction(1, 200)), None).mechanisms[0]).__name__ == "Gaussian"
    choice = choose([MANY, ONE], Request(rho=Fraction(1, 2)), None)
    assert {type(mechanism).__name__ for mechanism in choice.mechanisms} == {"Gaussian"}
    assert choice.loss.charge().rho == Fraction(1, 2)


def test_a_pure_budget_is_paid_in_epsilon_also_for_rho() -> None:
    choice = choose([ONE, ONE], Request(rho=Fraction(1, 100)), Budget(epsilon=1))
    assert type(choice.mechanisms[0]).__name__ == "Laplace"
    rho = choice.loss.charge().rho
    assert rho is not None
    assert Fraction(99, 10_000) < rho <= Fraction(1, 100)


@pytest.mark.parametrize("count", [1, 3])
def test_epsilon_and_delta_buy_gaussian_noise_that_keeps_them(count: int) -> None:
    request = Request(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    choice = choose([MANY] * count, request, None)
    assert type(choice.mechanisms[0]).__name__ == "Gaussian"
    assert choice.loss.delta(1).upper <= 1e-6
    charge = choice.loss.charge()
    assert (charge.epsilon, charge.delta) == (1, Fraction(1, 10**6))


def test_a_single_number_at_epsilon_and_delta_is_least_with_laplace() -> None:
    choice = choose([ONE], Request(epsilon=Fraction(1), delta=Fraction(1, 10**6)), None)
    assert type(choice.mechanisms[0]).__name__ == "Laplace"


def test_a_renyi_budget_buys_laplace_and_gaussian_noise() -> None:
    budget = Budget(renyi="0.5", order=8)
    for request in (Request(epsilon=Fraction(1, 10)), Request(rho=Fraction(1, 100))):
        price = budget.price(choose([ONE, ONE], request, budget).loss)
        assert price.renyi is not None
        assert 0 < price.renyi < Fraction(1, 10)


def test_tiny_prices_are_calibrated_or_refused_but_never_rounded_to_nothing() -> None:
    choice = choose([ONE], Request(rho=Fraction(1, 10**14)), Budget(epsilon=1))
    rho = choice.loss.charge().rho
    assert rho is not None
    assert 0 < rho <= Fraction(1, 10**14)
    with pytest.raises((InvalidParameterError, UnprovedError)):
        choose([ONE], Request(rho=Fraction(1, 10**200)), None)
