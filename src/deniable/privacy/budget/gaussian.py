"""Sums of squared mu."""

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Self

from deniable.numbers.interval import Interval
from deniable.privacy.budget.rule import Rule
from deniable.privacy.notions.gaussian_dp import gaussian_delta, largest_mu_squared

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget


class GaussianRule(Rule):
    """The sum of squared mu stays at most mu^2.

    Under an (epsilon, delta) budget the limit is the largest mu^2 for which mu-GDP implies the pair; or, while
    everything is pure, the sum of epsilons stays at most epsilon.

    Guarantee: mu-GDP; or (epsilon, delta)-DP. Nothing is lost for Gaussian noise: the curve is that of the same noise
        with fixed parameters.
    Source: Smith, Thakurta (2022), arXiv:2210.17520; proof in docs/theory/privacy/budget.md, theorems 1 and 2.
    """

    name: ClassVar[str] = "gaussian"
    failing: ClassVar[bool] = False
    remedy: ClassVar[str] = (
        "this budget adds up squares of mu, and no mu is proved for this mechanism. Use Laplace or Gaussian noise, or "
        "a budget of rho, Budget(rho=...), or of a pair, Budget(epsilon=..., delta=...), that begins with a mechanism "
        "of this kind."
    )

    @classmethod
    def under(cls, budget: "Budget") -> Self | None:
        if budget.mu is not None:
            return cls({"mu_squared": budget.mu**2})
        if budget.pair is None:
            return None
        return cls({"pure_epsilon": budget.pair[0], "mu_squared": largest_mu_squared(*budget.pair)})

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        return gaussian_delta(self.sums[name], epsilon)
