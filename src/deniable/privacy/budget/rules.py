"""The rules of budgets: sums of epsilon, pairs, rho, mu^2 or Rényi divergences.

Some leave room for failures.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval, round_down
from deniable.numbers.rationals import decimal_above, decimal_below
from deniable.privacy.budget.amounts import Amounts
from deniable.privacy.budget.rule import Rule
from deniable.privacy.charge import Charge
from deniable.privacy.constructors import PureLoss
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.notions.concentrated import concentrated_delta, largest_rho
from deniable.privacy.notions.conversion import renyi_delta
from deniable.privacy.notions.gaussian_dp import DIGITS, gaussian_delta, largest_mu_squared

RESERVE = Fraction(1, 4)  # share of delta that reserved rules set apart for failures
_REAL_LINE = Interval(-1e300, 1e300)  # no restriction on certified numbers


class AdvancedRule(Rule):
    """Rule for many small losses of any kind that may fail.

    They may have pairs, rho, epsilons, or mixtures of these. Failures add up to at most a part of delta, half of it
    unless the budget says how much; and the epsilons to at most epsilon, or the rhos, which are at most epsilon_i^2 /
    2, to at most the largest rho for which rho-zCDP implies (epsilon, rest)-DP, where 1 - delta = (1 - failure)(1 -
    rest).

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
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule for an (epsilon, delta) budget without an order; None otherwise."""
        if budget.epsilon is None or not budget.delta or budget.order is not None:
            return None
        if budget.failure is not None:
            return cls._beside(budget.failure, budget.epsilon, budget.delta)
        half = budget.delta / 2  # a little less than the rest beside the other half
        return cls(cls._limits(budget.epsilon, half), failure=half)

    @classmethod
    def _beside(cls, failure: Fraction, epsilon: Fraction, delta: Fraction) -> Self:
        """Return the rule that keeps (epsilon, delta) with `failure` set apart.

        The rest of delta satisfies 1 - delta = (1 - failure)(1 - rest).
        """
        rest = Fraction(round_down((delta - failure) / (1 - failure)))
        return cls(cls._limits(epsilon, rest), failure=failure)

    @staticmethod
    def _limits(epsilon: Fraction, rest: Fraction) -> dict[str, Fraction]:
        """Return the limits of the sums for (epsilon, rest)-DP without failures."""
        return {"failing_epsilon": epsilon, "failing_rho": largest_rho(epsilon, rest)}

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        """Return a bound on delta at `epsilon` by zCDP."""
        return Interval(0.0, concentrated_delta(self.sums[name], epsilon))


class ConcentratedRule(Rule):
    """Rule that keeps the sum of rho within rho, and failures within theirs.

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
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule for a budget of rho or of a pair; None otherwise."""
        if budget.rho is not None:
            return cls({"failing_rho" if budget.failure else "rho": budget.rho}, failure=budget.failure)
        if budget.pair is None:
            return None
        return cls({"pure_epsilon": budget.pair[0], "rho": largest_rho(*budget.pair)})

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        """Return bounds on delta at `epsilon`: zCDP above, Gaussian noise below."""
        rho = self.sums[name]
        return Interval(gaussian_delta(2 * rho, epsilon).lower, concentrated_delta(rho, epsilon))


class GaussianRule(Rule):
    """Rule that keeps the sum of squared mu within mu^2.

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
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule for a budget of mu or of a pair; None otherwise."""
        if budget.mu is not None:
            return cls({"mu_squared": budget.mu**2})
        if budget.pair is None:
            return None
        return cls({"pure_epsilon": budget.pair[0], "mu_squared": largest_mu_squared(*budget.pair)})

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon` by GDP."""
        return gaussian_delta(self.sums[name], epsilon)


class PairsRule(Rule):
    """Rule that keeps the sums of epsilon and of delta within the pair.

    A loss without a finite epsilon of its own is charged at the pair that was stated for it: `loss.stated(epsilon=...,
    delta=...)`. A composition of fixed losses may be stated as one.

    Guarantee: (epsilon, delta)-DP; one mechanism may use all of it.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    name: ClassVar[str] = "pairs"
    promises: ClassVar[bool] = True
    failing: ClassVar[bool] = True
    failures: ClassVar[str] = "delta"
    remedy: ClassVar[str] = (
        "this budget adds up (epsilon, delta) pairs, and no pair is stated for this mechanism. "
        "State one pair that it satisfies, or use a budget of rho."
    )

    @classmethod
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule for a budget of a pair; None otherwise."""
        if budget.pair is None:
            return None
        epsilon, delta = budget.pair
        return cls({"epsilon": epsilon}, failure=delta)


class PureRule(Rule):
    """Rule that keeps the sum of epsilons within epsilon; nothing has a delta.

    Guarantee: epsilon-DP, exactly: one mechanism may use all of it.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294; proof in docs/theory/privacy/budget.md, theorem 1.
    """

    name: ClassVar[str] = "pure"
    failing: ClassVar[bool] = False
    remedy: ClassVar[str] = (
        "a budget of epsilon alone covers mechanisms with a finite epsilon and no delta, such as Laplace noise. "
        "Use one of these, or a budget with delta: Budget(epsilon=..., delta=...)."
    )

    @classmethod
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule for a budget of epsilon without delta; None otherwise."""
        return None if budget.epsilon is None or budget.delta else cls({"pure_epsilon": budget.epsilon})


class RenyiRule(Rule):
    """Rule that keeps the sum of Rényi divergences at one order within its limit.

    The order is fixed before the first answer.

    Under an (epsilon, delta) budget with an order the limit is the largest divergence that implies (epsilon,
    rest)-DP, where 1 - delta = (1 - failure)(1 - rest).

    Guarantee: failure-approximate (order, renyi)-RDP; or (epsilon, delta)-DP.
    Source: Feldman, Zrnic (2021), arXiv:2008.11193; Lécuyer (2021), arXiv:2103.01379; proof in
        docs/theory/privacy/budget.md, theorems 1 and 3.
    """

    name: ClassVar[str] = "renyi"
    failing: ClassVar[bool] = False
    remedy: ClassVar[str] = (
        "no Rényi divergence is proved for a mechanism that may fail. Use one without delta, or a budget that allows "
        "failures: Budget(epsilon=..., delta=...), or failure=... beside the order."
    )

    def __init__(self, limit: Fraction, order: Fraction, failure: Fraction | None) -> None:
        super().__init__({"renyi": limit}, failure=failure)
        self.order = order

    @classmethod
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule for a budget with an order; None otherwise."""
        if budget.order is None:
            return None
        if budget.renyi is not None:
            return cls(budget.renyi, budget.order, budget.failure)
        assert budget.epsilon is not None
        assert budget.delta is not None
        failure = budget.failure or Fraction(0)
        limit = largest_divergence(budget.epsilon, (budget.delta - failure) / (1 - failure), budget.order)
        if limit <= 0:
            raise InvalidParameterError(f"no Rényi divergence of this order implies {budget}. Take a larger order.")
        return cls(limit, budget.order, budget.failure)

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        """Return a bound on delta at `epsilon` by the Rényi divergence at the order."""
        return Interval(0.0, renyi_delta(self.order, self.sums[name], epsilon))


def renyi_charge(loss: PrivacyLoss, order: Fraction, *, failing: bool) -> Charge:
    """Return the charge of a loss with its divergence at an order.

    Where budgets allow failures, a divergence up to a failure counts too.
    """
    charge = loss.charge()
    renyi = divergence(loss, order)
    if failing and renyi is not None:  # it holds surely
        charge = replace(charge, failing_epsilon=None, failing_rho=None, failing_mu_squared=None, failure=Fraction(0))
    elif failing and charge.failing_rho is not None:
        renyi = order * charge.failing_rho
        if charge.failing_epsilon is not None:
            renyi = divergence(PureLoss(charge.failing_epsilon), order)
    return replace(charge, renyi=decimal_above(renyi, DIGITS) if renyi else renyi)


@lru_cache(maxsize=4096)
def divergence(loss: PrivacyLoss, order: Fraction) -> Fraction | None:
    """Return an upper bound on the Rényi divergence of a loss, in both directions.

    None where nothing is proved.
    """
    if loss.composition != ((loss, 1),):  # part by part, so that one charge of many is many charges
        known = [(divergence(part, order), count) for part, count in loss.composition]
        totals = [value * count for value, count in known if value is not None]
        return sum(totals, Fraction(0)) if len(totals) == len(known) else None
    bounds = [] if loss.rho is None else [order * loss.rho]
    computed = loss.renyi(order).upper
    if math.isfinite(computed):
        bounds.append(Fraction(computed))
    return min(bounds, default=None)


def largest_divergence(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """Return the largest divergence at `order` that implies (epsilon, delta)-DP.

    Rounded down to 12 digits; it may be <= 0.

    Guarantee: renyi_delta(order, value, epsilon) <= delta.
    """
    if delta == 0:
        raise InvalidParameterError("delta must be > 0, got 0: a Rényi divergence never implies epsilon-DP")

    def formula() -> Arb:
        return ball(epsilon) + (ball(delta).log() - _log_factor(order)) / ball(order - 1)

    largest = certified(formula, within=_REAL_LINE).lower
    return decimal_below(Fraction(largest), 12)


def _log_factor(order: Fraction) -> Arb:
    """Return ln((1 - 1/order)^order / (order - 1))."""
    a = ball(order)
    return a * (1 - 1 / a).log() - (a - 1).log()


class ReservedRule(AdvancedRule):
    """Rule that reserves a part of delta for mechanisms that may fail, added later.

    For ledgers that begin with mechanisms that cannot fail. It is the advanced rule with a quarter of delta for
    failures: what is left of delta costs about 3% of the rho that all of it would allow, and mechanisms that may fail,
    such as a search for groups, can be charged at any time.

    As the advanced rule with a quarter of delta for failures: what is left of delta costs about 3% of the rho that all
    of it would allow, and a search for groups, say, can be paid for at any time.

    Guarantee: (epsilon, delta)-DP.
    Source: as the advanced rule; proof in docs/theory/privacy/budget.md, theorem 4.
    """

    name: ClassVar[str] = "reserved"
    failing: ClassVar[bool] = False
    keeps_a_reserve: ClassVar[bool] = True

    @classmethod
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule with a quarter of delta set apart; None without a pair."""
        if budget.pair is None:
            return None
        epsilon, delta = budget.pair
        return cls._beside(delta * RESERVE, epsilon, delta)


class ReservedGaussianRule(ReservedRule):
    """Reserved rule with sums of squared mu, which lose nothing for Gaussian noise.

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
        """Return the limits of epsilon and mu^2 for (epsilon, rest)-DP without failures."""
        return {"failing_epsilon": epsilon, "failing_mu_squared": largest_mu_squared(epsilon, rest)}

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        """Return a bound on delta at `epsilon` by GDP."""
        return Interval(0.0, gaussian_delta(self.sums[name], epsilon).upper)
