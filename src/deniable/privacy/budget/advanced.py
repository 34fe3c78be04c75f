"""Sums of rho and of failures for an (epsilon, delta) budget: advanced composition for parameters that are chosen."""

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable.numbers.interval import Interval, round_down
from deniable.privacy.budget.rule import Rule
from deniable.privacy.notions.concentrated import concentrated_delta, largest_rho

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget


class AdvancedRule(Rule):
    """For many small losses of any kind that may fail: pairs, rho, epsilons, and mixtures of these.

    Failures add up to at most a part of delta, half of it unless the budget says how much; and the epsilons to at most
    epsilon, or the rhos, which are at most epsilon_i^2 / 2, to at most the largest rho for which rho-zCDP implies
    (epsilon, rest)-DP, where 1 - delta = (1 - failure)(1 - rest).

    Guarantee: (epsilon, delta)-DP. With S the sum of epsilon_i^2 and failures aside, everything is admitted that the
        rule of Whitehouse et al. admits: S/2 + sqrt(2 S ln(1/rest)) <= epsilon.
    Source: Whitehouse, Ramdas, Rogers, Wu (2023), arXiv:2203.05481; proof in docs/theory/privacy/budget.md, theorem 4.
    """

    name: ClassVar[str] = "advanced"
    failing: ClassVar[bool] = True
    remedy: ClassVar[str] = (
        "this budget adds up rhos and failures, and neither a rho nor a pair is proved for this mechanism. "
        "State one pair that it satisfies: ask for it with epsilon and delta."
    )

    @classmethod
    def under(cls, budget: "Budget") -> Self | None:
        if budget.epsilon is None or not budget.delta or budget.order is not None:
            return None
        if budget.failure is None:  # half of delta is a little less than the rest beside the other half
            failure = rest = budget.delta / 2
        else:
            failure = budget.failure
            rest = Fraction(round_down((budget.delta - failure) / (1 - failure)))
        return cls(cls._limits(budget.epsilon, rest), failure=failure)

    @staticmethod
    def _limits(epsilon: Fraction, rest: Fraction) -> dict[str, Fraction]:
        return {"failing_epsilon": epsilon, "failing_rho": largest_rho(epsilon, rest)}

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        return Interval(0.0, concentrated_delta(self.sums[name], epsilon))
