"""Sums of epsilons."""

from typing import TYPE_CHECKING, ClassVar, Self

from deniable.privacy.budget.rule import Rule

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget


class PureRule(Rule):
    """The sum of epsilons stays at most epsilon, and nothing has a delta.

    Guarantee: epsilon-DP, exactly: one mechanism may use all of it.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    name: ClassVar[str] = "pure"
    failing: ClassVar[bool] = False
    remedy: ClassVar[str] = (
        "a budget of epsilon alone pays for mechanisms with a finite epsilon and no delta, such as Laplace noise. "
        "Use one of these, or a budget with delta: Budget(epsilon=..., delta=...)."
    )

    @classmethod
    def under(cls, budget: "Budget") -> Self | None:
        return None if budget.epsilon is None or budget.delta else cls({"pure_epsilon": budget.epsilon})
