"""Sums of rho."""

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable.numbers.interval import Interval
from deniable.privacy.budget.rule import Rule
from deniable.privacy.notions.concentrated import concentrated_delta, largest_rho
from deniable.privacy.notions.gaussian_dp import gaussian_delta

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget


class ConcentratedRule(Rule):
    """The sum of rho stays at most rho; in a budget of rho that allows failures, these stay below theirs.

    Under an (epsilon, delta) budget the limit is the largest rho for which rho-zCDP implies the pair; or, while
    everything is pure, the sum of epsilons stays at most epsilon.

    Guarantee: failure-approximate rho-zCDP; or (epsilon, delta)-DP.
    Source: Whitehouse, Ramdas, Rogers, Wu (2023), arXiv:2203.05481; proof in docs/theory/privacy/budget.md, theorems 1
        to 3.
    """

    name: ClassVar[str] = "concentrated"
    failing: ClassVar[bool] = False
    remedy: ClassVar[str] = (
        "this budget adds up rho, and no rho is proved for this mechanism. Use Laplace or Gaussian noise, or a budget "
        "of a pair, Budget(epsilon=..., delta=...), that begins with a mechanism of this kind."
    )

    @classmethod
    def under(cls, budget: "Budget") -> Self | None:
        if budget.rho is not None:
            return cls({"failing_rho" if budget.failure else "rho": budget.rho}, failure=budget.failure)
        if budget.pair is None:
            return None
        return cls({"pure_epsilon": budget.pair[0], "rho": largest_rho(*budget.pair)})

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        rho = self.sums[name]
        return Interval(gaussian_delta(2 * rho, epsilon).lower, concentrated_delta(rho, epsilon))
