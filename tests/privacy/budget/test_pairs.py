"""Sums of (epsilon, delta) pairs."""

from fractions import Fraction

import pytest

from deniable.errors import BudgetExceededError
from deniable.privacy import AddRemove, Budget, Filter, GaussianLoss


def test_a_fixed_composition_may_be_stated_as_one_loss() -> None:
    """A training run of fixed parameters is charged at one certified pair; its steps are not."""
    run = (GaussianLoss(2).poisson_sampled(rate="0.01") * 100).stated(epsilon="1/2", delta="1e-6")
    account = Filter(Budget(epsilon=1, delta="1e-5"), relation=AddRemove)
    account.charge(run)
    assert account.rule.name == "pairs"
    assert (account.left.epsilon, account.left.delta) == (Fraction(1, 2), Fraction(9, 10**6))
    account.charge(run)
    with pytest.raises(BudgetExceededError, match="epsilon=0"):
        account.charge(run)
