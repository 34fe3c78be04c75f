"""Sums of rho or of squared mu for an (epsilon, delta) budget, with a part of delta set apart for failures."""

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable.numbers.interval import Interval, round_down
from deniable.privacy.budget.advanced import AdvancedRule
from deniable.privacy.budget.rule import Rule
from deniable.privacy.notions.gaussian_dp import gaussian_delta, largest_mu_squared

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget

RESERVE = Fraction(1, 4)  # of delta


class ReservedRule(AdvancedRule):
    """For ledgers that begin with mechanisms that cannot fail, and may ask later for some that can.

    As the advanced rule with a quarter of delta for failures: what is left of delta costs about 3% of the rho that all
    of it would allow, and a search for groups, say, can be paid for at any time.

    Guarantee: (epsilon, delta)-DP.
    Source: as the advanced rule; proof in docs/theory/privacy/budget.md, theorem 4.
    """

    name: ClassVar[str] = "reserved"
    failing: ClassVar[bool] = False

    @classmethod
    def under(cls, budget: "Budget") -> Self | None:
        if budget.pair is None:
            return None
        epsilon, delta = budget.pair
        failure = delta * RESERVE
        rest = Fraction(round_down((delta - failure) / (1 - failure)))
        return cls(cls._limits(epsilon, rest), failure=failure)


class ReservedGaussianRule(ReservedRule):
    """The same with sums of squared mu, which lose nothing for Gaussian noise.

    Guarantee: (epsilon, delta)-DP.
    Source: Smith, Thakurta (2022), arXiv:2210.17520; proof in docs/theory/privacy/budget.md, theorems 2 and 3.
    """

    name: ClassVar[str] = "reserved gaussian"
    remedy: ClassVar[str] = (
        "this budget adds up squares of mu and failures, and neither a mu nor a pair is proved for this mechanism. "
        "State one pair that it satisfies: ask for it with epsilon and delta; or take a budget of rho, Budget(rho=...)."
    )

    @staticmethod
    def _limits(epsilon: Fraction, rest: Fraction) -> dict[str, Fraction]:
        return {"failing_epsilon": epsilon, "failing_mu_squared": largest_mu_squared(epsilon, rest)}

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        return Interval(0.0, gaussian_delta(self.sums[name], epsilon).upper)


def keeps_a_reserve(rule: Rule) -> bool:
    """Whether a rule is one of this file."""
    return isinstance(rule, ReservedRule)
