"""What every filter promises: exact sums, refusals that change nothing, JSON; and that a ledger is the same filter."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import BudgetExceededError, DeniableError, InvalidParameterError, UnprovedError
from deniable.ledger import Entry, Ledger
from deniable.privacy import (
    AddRemove,
    ApproximateLoss,
    Budget,
    ConcentratedLoss,
    DiscreteLaplaceLoss,
    Filter,
    GaussianLoss,
    LaplaceLoss,
    PrivacyLoss,
    PrivacyUnit,
    PureLoss,
    Replace,
    of_count,
)

T = TypeVar("T")

BUDGETS = {
    "epsilon": Budget(epsilon=1),
    "pair": Budget(epsilon=1, delta="1e-6"),
    "pair, failing": Budget(epsilon=1, delta="1e-6", failure="1e-8"),
    "pair, order": Budget(epsilon=1, delta="1e-6", order=32),
    "rho": Budget(rho="0.1"),
    "rho, failing": Budget(rho="0.1", failure="1e-9"),
    "mu": Budget(mu="1/2"),
    "renyi": Budget(renyi="1/2", order=8),
    "renyi, failing": Budget(renyi="1/2", order=8, failure="1e-9"),
}
every = pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS)
SMALL = PureLoss("1/20")
SAMPLED = GaussianLoss(2).poisson_sampled(rate="0.01")
LOSSES = [
    *(SMALL, PureLoss("1/2"), LaplaceLoss(10), GaussianLoss(10), GaussianLoss(40) * 3, ConcentratedLoss("0.01")),
    *(
        ApproximateLoss("0.01", "1e-9"),
        ApproximateLoss("0.3", "4e-7"),
        SAMPLED,
        SAMPLED.stated(epsilon="0.2", delta="8e-9"),
    ),
    *(GaussianLoss(40).stated(epsilon="0.1", delta="1e-6"), PureLoss("1/5") + ApproximateLoss("0.001", "1e-10")),
]


def small(budget: Budget) -> Filter:
    return Filter(budget, relation=AddRemove)


@every
def test_what_is_admitted_can_be_charged_until_it_cannot(budget: Budget) -> None:
    account = small(budget)
    count = 0
    while account.admits(SMALL):
        account.charge(SMALL)
        count += 1
        assert count < 1000
    before = account.spent
    with pytest.raises(BudgetExceededError, match=r"only .* is left. Nothing was spent. Ask for less, or end"):
        account.charge(SMALL)
    assert account.spent == before
    assert count >= 15
    assert account.admits(SMALL * 0)


@every
def test_one_charge_of_many_is_many_charges(budget: Budget) -> None:
    once, often = small(budget), small(budget)
    once.charge(SMALL * 7)
    for _ in range(7):
        often.charge(SMALL)
    assert str(once.left) == str(often.left)
    assert once.rule.name == often.rule.name
    assert budget.order is not None or once.spent == often.spent  # a divergence is rounded to 12 digits


@every
def test_filters_survive_json_with_what_was_spent(budget: Budget) -> None:
    account = small(budget)
    assert Filter.from_json(account.to_json()).to_json() == account.to_json()
    account.charge(SMALL)
    again = Filter.from_json(account.to_json())
    assert again.to_json() == account.to_json()
    assert (again.spent, again.rule.name, again.left) == (account.spent, account.rule.name, account.left)
    assert repr(account).startswith("Filter(Budget(")
    data = account.to_data() | {"spent": (budget.price(SMALL) * 1000).to_data()}
    with pytest.raises(InvalidParameterError, match="above the budget"):
        Filter.from_data(data)


@every
def test_the_guarantee_falls_and_inverts(budget: Budget) -> None:
    account = small(budget)
    for _ in range(2):  # before the first charge and after
        values = [account.delta(x).upper for x in (0, Fraction(1, 2), 1, 2, 4)]
        assert values == sorted(values, reverse=True)
        found = account.epsilon("1e-3").upper
        assert 0 < found < 3
        assert account.delta(found).upper <= 1e-3 * (1 + 1e-9)
        account.charge(SMALL)


@every
def test_a_loss_for_the_other_relation_is_refused(budget: Budget) -> None:
    loss = DiscreteLaplaceLoss(1000, of_count(rows=1, groups=1, relation=Replace))
    with pytest.raises(UnprovedError, match="not proved for add/remove"):
        small(budget).admits(loss)
    with pytest.raises(InvalidParameterError, match="privacy loss"):
        small(budget).charge(0.1)  # type: ignore[arg-type]


@every
def test_a_sampled_gaussian_has_no_filter_without_an_order(budget: Budget) -> None:
    """Its tight composition is a privacy-loss distribution; that theorem does not exist."""
    account = small(budget)
    if budget.order is None:
        with pytest.raises(UnprovedError, match=r"2602\.06756"):
            account.charge(SAMPLED)
        assert account.to_json() == small(budget).to_json()
    else:
        account.charge(SAMPLED)


def opened(budget: Budget) -> Ledger:
    return Ledger.open(None, budget=budget, relation=AddRemove, unit=PrivacyUnit(), dataset="d")


def outcome(pay: Callable[[T], object], cost: T) -> str:
    try:
        pay(cost)
    except DeniableError as error:
        return type(error).__name__
    return "paid"


@given(st.sampled_from(list(BUDGETS.values())), st.lists(st.sampled_from(LOSSES), min_size=1, max_size=8))
def test_a_ledger_and_a_filter_admit_the_same(budget: Budget, losses: list[PrivacyLoss]) -> None:
    ledger, account = opened(budget), small(budget)
    for loss in losses:
        entry = Entry(question="ab" * 32, text="q", loss=loss)
        assert outcome(ledger.reserve, entry) == outcome(account.charge, loss)
        assert (ledger.spent(), ledger.left()) == (account.spent, account.left)
        account = Filter.from_json(account.to_json())
    ledger.verify()


def test_training_with_parameters_that_depend_on_answers() -> None:
    """DP-SGD steps of any noise and rate, chosen on the way: the tight composition of fixed steps is no filter."""
    account = small(Budget(epsilon=3, delta="1e-5", order=8))
    steps = [GaussianLoss(s).poisson_sampled(rate=q) for s, q in (("1", "0.01"), ("3/2", "0.01"), ("2", "0.03"))]
    for step in steps:
        for _ in range(100):
            account.charge(step)
    fixed = sum((step * 100 for step in steps[1:]), steps[0] * 100)
    assert fixed.epsilon("1e-5").upper < account.epsilon("1e-5").upper <= 3 * (1 + 1e-10)
    assert account.left.renyi


GOOD = Filter(Budget(epsilon=1), relation=AddRemove).to_data()


@pytest.mark.parametrize(
    "data",
    [
        *(3, {}, {"budget": {"epsilon": "1"}, "relation": "ADD_REMOVE"}),
        *(
            {"budget": {"epsilon": "1"}, "relation": "ADD_REMOVE", "rule": None, "spent": {"epsilon": "0"}},
            {
                "budget": {"epsilon": "1"},
                "relation": "ADD_REMOVE",
                "rule": "pld",
                "spent": PureLoss(0).charge().to_data(),
            },
            {"budget": {"epsilon": "1"}, "relation": "BOTH", "rule": None, "spent": PureLoss(0).charge().to_data()},
            {"budget": {"epsilon": "1"}, "relation": "ADD_REMOVE", "rule": "pure", "spent": {"epsilon": "-1"}},
        ),
    ],
)
def test_text_that_is_no_filter_is_refused(data: object) -> None:
    with pytest.raises(InvalidParameterError):
        Filter.from_data(data)


def test_a_conversation_that_began_cannot_choose_its_rule_anew() -> None:
    account = Filter(Budget(epsilon=1, delta="1e-6"), relation=AddRemove)
    assert Filter.from_data(account.to_data()).spent == account.spent
    account.charge(LaplaceLoss(10))
    with pytest.raises(InvalidParameterError, match="names the rule"):
        Filter.from_data(account.to_data() | {"rule": None})


def test_a_budget_and_a_relation_must_be_given() -> None:
    with pytest.raises(InvalidParameterError, match="relation must be"):
        Filter(Budget(epsilon=1), relation="add/remove")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="must be a Budget"):
        Filter(1, relation=AddRemove)  # type: ignore[arg-type]
