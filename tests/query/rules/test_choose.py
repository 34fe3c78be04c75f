"""`choose`, before and after: bounded parts with a price, and their noise."""

from fractions import Fraction

import pytest

from deniable.errors import UnprovedError
from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.price import Price
from deniable.privacy import Budget
from deniable.query.rules.choose import choose
from deniable.query.rules.plan import Plan
from deniable.query.rules.price import PRICING, applied
from deniable.query.sql import parse
from tests.query.rules.plans import tables

MANY_COLUMNS = ", ".join(f"SUM(LEAST(GREATEST(big, 0), {n})) AS s{n}" for n in range(1, 41))


def before(columns: str, price: Price, budget: Budget | None = None) -> Plan:
    plan = Plan(queries=(parse(f"SELECT {columns} FROM t", tables()),), price=price, budget=budget, weights={})
    return applied(PRICING[:-1], plan)


@pytest.mark.parametrize(
    ("columns", "price", "noise"),
    [
        ("COUNT(*)", Price(epsilon=Fraction(1)), Laplace),
        ("COUNT(*)", Price(rho=Fraction(1)), Gaussian),
        ("COUNT(*)", Price(epsilon=Fraction(1), delta=Fraction(1, 10**6)), Laplace),
        (MANY_COLUMNS, Price(epsilon=Fraction(1), delta=Fraction(1, 10**6)), Gaussian),
    ],
    ids=["epsilon", "rho", "one total with delta", "many totals with delta"],
)
def test_the_noise_of_least_error_is_chosen(columns: str, price: Price, noise: type) -> None:
    plan = before(columns, price)
    assert plan.priced == ()
    (priced,) = choose(plan).priced
    assert {type(part.mechanism) for part in priced.parts} == {noise}  # type: ignore[attr-defined]
    assert priced.loss == choose(plan).loss


def test_the_next_choice_is_taken_where_the_budget_cannot_pay_for_the_first() -> None:
    delta = Price(epsilon=Fraction(1), delta=Fraction(1, 10**6))
    (priced,) = choose(before(MANY_COLUMNS, delta, Budget(epsilon=1))).priced
    assert {type(part.mechanism) for part in priced.parts} == {Laplace}  # type: ignore[attr-defined]


def test_a_budget_that_can_pay_for_nothing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = before("COUNT(*)", Price(epsilon=Fraction(1)), Budget(epsilon=3))
    monkeypatch.setattr(Budget, "can_price", lambda *_: False)
    with pytest.raises(UnprovedError, match="cannot pay for the noise"):
        choose(plan)
