"""Sums of (epsilon, delta) pairs."""

from typing import TYPE_CHECKING, ClassVar, Self

from deniable.privacy.budget.rule import Rule

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget


class PairsRule(Rule):
    """The sum of epsilons stays at most epsilon, and that of deltas at most delta.

    A loss without a finite epsilon of its own is charged at the pair that was stated for it: `StatedLoss(loss, epsilon,
    delta)`. A composition of fixed losses may be stated as one.

    Guarantee: (epsilon, delta)-DP; one mechanism may use all of it.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    name: ClassVar[str] = "pairs"
    failing: ClassVar[bool] = True
    failures: ClassVar[str] = "delta"
    remedy: ClassVar[str] = (
        "this budget adds up (epsilon, delta) pairs, and this mechanism was asked for without one. "
        "State one pair that it satisfies, or take a budget of rho."
    )

    @classmethod
    def under(cls, budget: "Budget") -> Self | None:
        if budget.pair is None:
            return None
        epsilon, delta = budget.pair
        return cls({"epsilon": epsilon}, failure=delta)
