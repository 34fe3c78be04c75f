"""A part of delta that is set apart: failures may come at any time, and cost little until they do."""

import pytest

from deniable.errors import BudgetExceededError
from deniable.privacy import AddRemove, ApproximateLoss, Budget, GaussianLoss, PureLoss, compose
from deniable.privacy.budget import Filter
from deniable.privacy.budget.budget import Budget as Rules
from deniable.privacy.loss import PrivacyLoss

BUDGET = Budget(epsilon=1, delta="1e-5")


def admitted(first: PrivacyLoss, name: str) -> int:
    """How many equal losses a rule of the budget admits."""
    rule, count = BUDGET.rule(name=name), 0
    while rule.admits(first.charge() * (count + 1)):
        count += 1
    return count


def test_the_reserve_costs_about_three_percent_of_the_questions() -> None:
    assert (admitted(PureLoss("0.01"), "concentrated"), admitted(PureLoss("0.01"), "reserved")) == (611, 592)
    counts = [admitted(GaussianLoss(80), name) for name in ("gaussian", "reserved gaussian")]
    assert 0.965 * counts[0] < counts[1] < counts[0]


@pytest.mark.parametrize("first", [PureLoss("0.1"), GaussianLoss(100)])
def test_what_may_fail_is_paid_after_what_cannot(first: PrivacyLoss) -> None:
    """It was refused: the first charge chose sums without room for failures."""
    searches = [
        ApproximateLoss("0.1", "1e-6"),
        compose([GaussianLoss(30), ApproximateLoss(0, "1e-6")]).stated(epsilon="0.3", delta="2e-6"),
    ]
    account = Filter(BUDGET, relation=AddRemove)
    account.charge(first)
    for search in searches:
        account.charge(search)
    assert account.spent.failure == searches[0].failure * 2
    with pytest.raises(BudgetExceededError, match="failure=5e-07"):
        account.charge(searches[0])
    assert Rules.from_data(account.to_data()["budget"]).rule(name=account.rule.name).admits(account.spent)
    assert Filter.from_data(account.to_data()).spent == account.spent
