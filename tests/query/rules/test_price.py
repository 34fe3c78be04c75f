"""A price is the composition of its parts."""

from fractions import Fraction

import pytest

from deniable.errors import UnprovedError
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.price import Price
from deniable.privacy import Budget, compose
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.sql import parse
from deniable.statistics.count import Count
from tests.query.conftest import frame, table_of


def plan_of(asked: Price, budget: Budget | None = None, *, text: str = "SELECT COUNT(*) FROM t") -> PricedPlan:
    return price(parse(text, {"t": table_of(DuckDBEngine.from_arrow(frame()))}), asked, budget)


def kinds(plan: PricedPlan) -> set[type]:
    return {type(part.mechanism) for part in plan.parts}


def test_the_loss_of_a_plan_is_that_of_its_parts_together() -> None:
    table = table_of(DuckDBEngine.from_arrow(frame()))
    query = parse("SELECT region, COUNT(*), AVG(age), SUM(income) FROM t GROUP BY region", {"t": table})
    plan = price(query, Price(epsilon=Fraction(2)))
    assert len(plan.parts) == 4
    assert plan.loss == compose([part.loss for part in plan.parts])
    assert plan.loss.charge().epsilon == 2
    for part in plan.parts:
        assert part.loss == part.mechanism.privacy_loss(part.sensitivity)
        assert part.loss.charge().epsilon == Fraction(1, 2)


def test_a_pure_budget_is_paid_in_epsilon_also_for_rho() -> None:
    asked = Price(rho=Fraction(1, 100))
    assert kinds(plan_of(asked)) == {Gaussian}
    plan = plan_of(asked, Budget(epsilon=1))
    assert kinds(plan) == {Laplace}
    rho = plan.loss.charge().rho
    assert rho is not None
    assert Fraction(99, 10_000) < rho <= Fraction(1, 100)


def test_a_budget_that_no_noise_can_be_paid_from_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "can_price", lambda *_: False)
    with pytest.raises(UnprovedError, match="cannot pay for the noise"):
        plan_of(Price(rho=Fraction(1, 100)), Budget(epsilon=1))


@pytest.mark.parametrize("asked", [Price(epsilon=Fraction(1, 10)), Price(rho=Fraction(1, 100))])
def test_a_renyi_budget_buys_laplace_and_gaussian_noise(asked: Price) -> None:
    budget = Budget(renyi="0.5", order=8)
    price_of_all = budget.price(plan_of(asked, budget).loss)
    assert price_of_all.renyi is not None
    assert 0 < price_of_all.renyi < Fraction(1, 10)


def test_a_statistic_and_a_query_get_the_same_noise_for_the_same_price() -> None:
    """A count at rho = 0.281: the query took Laplace noise of deviation 1.357, and the statistic Gaussian of 1.334."""
    for asked in (Price(rho=Fraction(281, 1000)), Price(epsilon=Fraction(1), delta=Fraction(1, 10**6))):
        (part,) = plan_of(asked).parts
        assert part.mechanism == Count(epsilon=asked.epsilon, delta=asked.delta, rho=asked.rho).mechanism
