"""Rényi filters: the sum at one order, or at several orders of which some one must stay within its limit."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import decimal_below, exact_rational, positive_rational, probability
from deniable.privacy.around.compose import Composed
from deniable.privacy.budget.filter import Amounts, Filter
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import PureLoss
from deniable.privacy.relation import Relation

if TYPE_CHECKING:
    from flint import arb

_REAL = Interval(-1e300, 1e300)


class RenyiFilter(Filter):
    """The sum of Rényi divergences at one `order` stays at most `limit`, and that of failures at most `failure`.

    The order is chosen before the first answer. `for_pair` sets the limit that implies (epsilon, delta)-DP.

    Guarantee: failure-approximate (order, limit)-RDP.
    Source: Feldman, Zrnic (2021), arXiv:2008.11193; Lécuyer (2021), arXiv:2103.01379; proof in
        docs/theory/privacy/budget.md, theorems 1 and 3.
    """

    kind: ClassVar[str] = "renyi"
    remedy: ClassVar[str] = "No Rényi divergence is proved for it; use ApproximateFilter with a stated pair."

    def __init__(self, *, order: object, limit: object, failure: object = 0, relation: Relation) -> None:
        self.order, self._limit = checked_order(order), positive_rational("limit", limit)
        self._failure = probability("failure", failure)
        super().__init__(relation, {"renyi": self._limit, "failure": self._failure})

    @classmethod
    def for_pair(
        cls, *, epsilon: object, delta: object, order: object, failure: object = 0, relation: Relation
    ) -> "RenyiFilter":
        """The filter at `order` whose guarantee implies (epsilon, delta)-DP; `failure` is a part of delta."""
        failed = probability("failure", failure)
        rest = (probability("delta", delta) - failed) / (1 - failed)
        if rest <= 0:
            raise InvalidParameterError(f"delta must be above failure={failure}, got {delta}")
        limit = largest_divergence(positive_rational("epsilon", epsilon), rest, checked_order(order))
        if limit <= 0:
            raise InvalidParameterError(
                f"no Rényi divergence of order {order} implies epsilon={epsilon} at delta={delta}. Take a larger order."
            )
        return cls(order=order, limit=limit, failure=failure, relation=relation)

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        spent = divergence(loss, self.order)
        if spent is not None:
            return {"renyi": spent, "failure": Fraction(0)}
        charge = loss.charge()
        epsilon, failed = charge.failing_epsilon, charge.failure
        if epsilon is None:
            epsilon, failed = charge.epsilon, charge.delta
        return None if epsilon is None else {"renyi": divergence(PureLoss(epsilon), self.order), "failure": failed}

    def _delta(self, epsilon: Fraction) -> Interval:
        rest = Interval(0.0, renyi_delta(self.order, self._limit, epsilon))
        return Interval(0.0, mixed_with_failure(rest, self._failure).upper)

    def _settings(self) -> dict[str, object]:
        return {"order": str(self.order), "limit": str(self._limit), "failure": str(self._failure)}


class RenyiGridFilter(Filter):
    """Sums of Rényi divergences at several orders, of which at least one must stay within its own limit.

    Each order is promised its share of delta, an equal one: the limit at an order is what implies (epsilon, delta /
    number of orders)-DP. Which order holds in the end may depend on the answers.

    Guarantee: (epsilon, delta)-DP. Without the shares it would be false: the analyst can let the answers choose the
        order, and a test shows 1.7 times delta.
    Source: docs/theory/privacy/budget.md, theorem 5.
    """

    kind: ClassVar[str] = "renyi_grid"
    remedy: ClassVar[str] = RenyiFilter.remedy

    def __init__(self, *, epsilon: object, delta: object, orders: Sequence[object], relation: Relation) -> None:
        self._epsilon, self._whole = positive_rational("epsilon", epsilon), probability("delta", delta)
        self._orders = tuple(sorted({checked_order(order) for order in orders}))
        if not self._orders:
            raise InvalidParameterError("orders must name at least one order above 1, got none")
        share = probability("delta", self._whole / len(self._orders))
        limits = {order: largest_divergence(self._epsilon, share, order) for order in self._orders}
        if max(limits.values()) <= 0:
            raise InvalidParameterError(
                f"no Rényi divergence of these orders implies epsilon={epsilon} at delta={delta}. Take larger orders."
            )
        super().__init__(relation, {_name(order): limit for order, limit in limits.items() if limit > 0})

    def _cost(self, loss: PrivacyLoss) -> Amounts | None:
        spent = {_name(order): divergence(loss, order) for order in self._orders if _name(order) in self._limits}
        return None if all(value is None for value in spent.values()) else spent

    def _fits(self, total: Amounts) -> bool:
        return any(self._within(name, total) for name in self._limits)

    def _delta(self, epsilon: Fraction) -> Interval:
        """The sum of what the orders guarantee, since each may hold on some transcripts."""
        parts = (
            Fraction(renyi_delta(order, self._limits[_name(order)], epsilon))
            for order in self._orders
            if _name(order) in self._limits
        )
        return Interval(0.0, Interval.around(min(sum(parts, Fraction(0)), Fraction(1))).upper)

    def _settings(self) -> dict[str, object]:
        return {
            "epsilon": str(self._epsilon),
            "delta": str(self._whole),
            "orders": [str(order) for order in self._orders],
        }


@lru_cache(maxsize=4096)
def divergence(loss: PrivacyLoss, order: Fraction) -> Fraction | None:
    """An upper bound on the Rényi divergence of a loss, in both directions; None where nothing is proved."""
    from deniable.privacy.currencies.renyi import renyi

    if isinstance(loss, Composed):  # part by part, so that one charge of many is many charges
        known = [(divergence(part, order), count) for part, count in loss.parts]
        found = [value * count for value, count in known if value is not None]
        return sum(found, Fraction(0)) if len(found) == len(known) else None
    bounds = [] if loss.rho is None else [order * loss.rho]
    computed = renyi(loss, order).upper
    if math.isfinite(computed):
        bounds.append(Fraction(computed))
    return min(bounds, default=None)


def renyi_delta(order: Fraction, limit: Fraction, epsilon: Fraction) -> float:
    """An upper bound on delta at `epsilon` of every mechanism with Rényi divergence at most `limit` at `order`.

    Guarantee: exp((order - 1)(limit - epsilon)) (1 - 1/order)^order / (order - 1).
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010; proof in docs/theory/privacy/budget.md, lemma 1.
    """

    def formula() -> "arb":
        return (ball((order - 1) * (limit - epsilon)) + _log_factor(order)).exp()

    return certified(formula).upper


def largest_divergence(epsilon: Fraction, delta: Fraction, order: Fraction) -> Fraction:
    """The largest divergence at `order` (to 12 digits, rounded down) that implies (epsilon, delta)-DP; may be <= 0.

    Guarantee: renyi_delta(order, value, epsilon) <= delta.
    """
    if delta == 0:
        raise InvalidParameterError("delta must be > 0, got 0: a Rényi divergence never implies epsilon-DP")

    def formula() -> "arb":
        return ball(epsilon) + (ball(delta).log() - _log_factor(order)) / ball(order - 1)

    found = certified(formula, within=_REAL).lower
    return decimal_below(Fraction(found), 12)


def checked_order(order: object) -> Fraction:
    """An order above 1, exact."""
    value = exact_rational("order", order)
    if value <= 1:
        raise InvalidParameterError(f"order must be > 1, got {order!r}")
    return value


def _log_factor(order: Fraction) -> "arb":
    a = ball(order)
    return a * (1 - 1 / a).log() - (a - 1).log()


def _name(order: Fraction) -> str:
    return f"order {order}"
