"""Sums of Rényi divergences at one order."""

import math
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Self

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import decimal_above, decimal_below
from deniable.privacy.budget.rule import Rule
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.pure import PureLoss
from deniable.privacy.notions.conversion import renyi_delta
from deniable.privacy.notions.gaussian_dp import DIGITS

if TYPE_CHECKING:
    from deniable.privacy.budget.budget import Budget

_REAL = Interval(-1e300, 1e300)


class RenyiRule(Rule):
    """The sum of Rényi divergences at one order, fixed before the first answer, stays within its limit.

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
    def under(cls, budget: "Budget") -> Self | None:
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
        return Interval(0.0, renyi_delta(self.order, self.sums[name], epsilon))


def renyi_charge(loss: PrivacyLoss, order: Fraction, *, failing: bool) -> Charge:
    """The charge of a loss with its divergence at an order; where budgets allow failures, also one up to a failure."""
    charge, found = loss.charge(), divergence(loss, order)
    if failing and found is not None:  # it holds surely
        charge = replace(charge, failing_epsilon=None, failing_rho=None, failing_mu_squared=None, failure=Fraction(0))
    elif failing and charge.failing_rho is not None:
        found = order * charge.failing_rho
        if charge.failing_epsilon is not None:
            found = divergence(PureLoss(charge.failing_epsilon), order)
    return replace(charge, renyi=decimal_above(found, DIGITS) if found else found)


@lru_cache(maxsize=4096)
def divergence(loss: PrivacyLoss, order: Fraction) -> Fraction | None:
    """An upper bound on the Rényi divergence of a loss, in both directions; None where nothing is proved."""
    from deniable.privacy.notions.renyi import renyi

    if loss.composition != ((loss, 1),):  # part by part, so that one charge of many is many charges
        known = [(divergence(part, order), count) for part, count in loss.composition]
        found = [value * count for value, count in known if value is not None]
        return sum(found, Fraction(0)) if len(found) == len(known) else None
    bounds = [] if loss.rho is None else [order * loss.rho]
    computed = renyi(loss, order).upper
    if math.isfinite(computed):
        bounds.append(Fraction(computed))
    return min(bounds, default=None)


def largest_divergence(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """The largest divergence at `order` (to 12 digits, rounded down) that implies (epsilon, delta)-DP; may be <= 0.

    Guarantee: renyi_delta(order, value, epsilon) <= delta.
    """
    if delta == 0:
        raise InvalidParameterError("delta must be > 0, got 0: a Rényi divergence never implies epsilon-DP")

    def formula() -> Arb:
        return ball(epsilon) + (ball(delta).log() - _log_factor(order)) / ball(order - 1)

    found = certified(formula, within=_REAL).lower
    return decimal_below(Fraction(found), 12)


def _log_factor(order: Fraction) -> Arb:
    a = ball(order)
    return a * (1 - 1 / a).log() - (a - 1).log()
