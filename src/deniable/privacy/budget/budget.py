"""What may still be asked: charges, budgets, and rules that stay valid when questions depend on earlier answers.

Each rule is a filter: the analyst, having seen all earlier answers, chooses the next mechanism and its parameters; the
rule admits it or not; the whole conversation keeps the budget's guarantee. Proofs: docs/theory/privacy/budget.md.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.rationals import decimal_above, decimal_text, positive_rational, probability, read_json
from deniable.privacy.call import InWords
from deniable.privacy.caution import caution, with_caution
from deniable.privacy.charge import Charge
from deniable.privacy.currencies.concentrated import largest_rho
from deniable.privacy.currencies.gaussian_dp import DIGITS, largest_mu_squared

if TYPE_CHECKING:
    from deniable.privacy.loss import PrivacyLoss

__all__ = ["Budget", "Charge", "Remaining", "Rule"]


class Rule(Enum):
    """Which sums a budget watches."""

    PURE = "sum of epsilons"
    BASIC = "sums of epsilons and of deltas"
    CONCENTRATED = "sum of epsilons while everything is pure, or sum of rhos"
    GAUSSIAN = "sum of epsilons while everything is pure, or sum of squared mus"
    ADVANCED = "sum of failures, with that of epsilons or of rhos, where a pair counts as half its squared epsilon"
    RHO = "sum of rhos"
    MU = "sum of squared mus"
    RENYI = "sum of Rényi divergences at one order"


@dataclass(frozen=True, init=False)
class Budget(metaclass=InWords):
    """What a ledger may spend in all, in exactly one currency.

    `Budget(epsilon=1)`, `Budget(epsilon=1, delta=1e-6)`, `Budget(rho=0.5)`, `Budget(mu=1)` or
    `Budget(renyi=0.5, order=8)`.

    Guarantee: if every charge was admitted, everything released together is (epsilon, delta)-DP, rho-zCDP, mu-GDP or
        (order, renyi)-RDP, also when each question and its parameters were chosen after seeing all earlier answers.
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    mu: Fraction | None
    renyi: Fraction | None
    order: Fraction | None

    def __init__(
        self,
        *,
        epsilon: object = None,
        delta: object = None,
        rho: object = None,
        mu: object = None,
        renyi: object = None,
        order: object = None,
    ) -> None:
        sums = {"epsilon": epsilon, "rho": rho, "mu": mu, "renyi": renyi}
        given = [name for name, value in sums.items() if value is not None]
        if len(given) != 1 or (delta is not None and epsilon is None) or (order is None) != (renyi is None):
            raise InvalidParameterError(
                "a budget needs exactly one of epsilon (with or without delta), rho, mu or renyi (with order), got "
                f"{given or 'none'}. Write Budget(epsilon=1), Budget(epsilon=1, delta=1e-6), Budget(rho=0.5), "
                "Budget(mu=1) or Budget(renyi=0.5, order=8)."
            )
        set_field = object.__setattr__
        set_field(self, "epsilon", None if epsilon is None else positive_rational("epsilon", epsilon))
        set_field(self, "delta", None if epsilon is None else probability("delta", 0 if delta is None else delta))
        set_field(self, "rho", None if rho is None else positive_rational("rho", rho))
        set_field(self, "mu", None if mu is None else positive_rational("mu", mu))
        set_field(self, "renyi", None if renyi is None else positive_rational("renyi", renyi))
        set_field(self, "order", None if order is None else _above_one(order))

    def __str__(self) -> str:
        amounts = ", ".join(f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value)
        return with_caution(amounts, self.caution)

    @property
    def caution(self) -> str:
        """What to think twice about before this is spent, in a sentence; empty for ordinary sizes."""
        return caution(**vars(self))

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={str(value)!r}' for name, value in vars(self).items() if value)})"

    def price(self, loss: "PrivacyLoss") -> Charge:
        """What this budget is charged for a loss."""
        if self.order is None:
            return loss.charge()
        from deniable.privacy.budget.renyi import divergence

        found = divergence(loss, self.order)
        return replace(loss.charge(), renyi=decimal_above(found, DIGITS) if found else found)

    def rule(self, first: Charge) -> Rule:
        """The rule of this budget for a ledger whose first charge is `first`.

        Only an (epsilon, delta) budget with delta > 0 has a choice: sums of rho or of mu^2, whichever the first charge
        uses less of, or of (epsilon, delta) pairs if it exceeds both; for a first charge that may fail, sums of pairs
        or of rho and failures. The first charge was made before any answer was seen, so the choice depends on nothing
        private.
        """
        if self.rho is not None:
            return Rule.RHO
        if self.mu is not None:
            return Rule.MU
        if self.renyi is not None:
            return Rule.RENYI
        if not self.delta:
            return Rule.PURE
        if first.failure:
            by_squares, by_pairs = self._advanced_share(first), self._basic_share(first)
            better = by_squares is not None and by_squares <= 1 and (by_pairs is None or by_squares < by_pairs)
            return Rule.ADVANCED if better else Rule.BASIC
        shares = {rule: _share(_spent(first, rule), self._limit(rule)) for rule in (Rule.CONCENTRATED, Rule.GAUSSIAN)}
        known = {rule: share for rule, share in shares.items() if share is not None}
        best = min(known, key=known.__getitem__, default=Rule.BASIC)
        return best if known and self._fits(best, first) else Rule.BASIC

    def admits(self, first: Charge, total: Charge) -> bool:
        """Whether a ledger that began with `first` may come to `total`, the newcomer included.

        Args:
            first: the first charge ever made, or the newcomer itself on an empty ledger.
            total: the sum of all charges made and of the newcomer.

        Raises: UnprovedError if the total is not known in the currency of the rule; the message says what to use.
        """
        rule = self.rule(first)
        if not self._proved(rule, total):
            raise UnprovedError(_REMEDIES[rule])
        return self._fits(rule, total)

    def left(self, first: Charge | None, total: Charge) -> "Remaining":
        """What is left after `total`, for display; `first` is None on an empty ledger."""
        epsilon = delta = rho = mu_squared = failure = None
        rule = self.rule(first or total)
        if first is None and self.epsilon is not None:
            rule = Rule.BASIC  # the pair that was promised, until the first charge decides how to add
        if rule in (Rule.PURE, Rule.BASIC) or (self.epsilon is not None and self._fits_purely(total)):
            epsilon = _minus(self._number("epsilon"), total.epsilon)
        if rule is Rule.BASIC and self.delta:
            delta = _minus(self.delta, total.delta)
        if rule in (Rule.RHO, Rule.CONCENTRATED):
            rho = _minus(self._limit(rule), total.rho)
        if rule in (Rule.MU, Rule.GAUSSIAN):
            mu_squared = _minus(self._limit(rule), total.mu_squared)
        if rule is Rule.ADVANCED:
            epsilon = _minus(self._number("epsilon"), total.failing_epsilon)
            rho = _minus(self._limit(rule), total.failing_rho)
            failure = _minus(self._most_failures(), total.failure)
        renyi = None if self.renyi is None else _minus(self.renyi, total.renyi)
        return Remaining(epsilon=epsilon, delta=delta, rho=rho, mu_squared=mu_squared, failure=failure, renyi=renyi)

    def fraction_spent(self, first: Charge | None, total: Charge) -> Fraction:
        """The spent share of the budget in [0, 1], by the sum that leaves the most room."""
        rule = self.rule(first or total)
        by_epsilon = _share(total.epsilon, self.epsilon) if self.epsilon is not None else None
        whole = {Rule.BASIC: self._basic_share, Rule.ADVANCED: self._advanced_share}.get(rule)
        if whole is not None:
            found = whole(total)
            shares = [] if found is None else [found]
        else:
            pure = [by_epsilon] if total.delta == 0 and by_epsilon is not None else []
            summed = _share(_spent(total, rule), self._limit(rule)) if rule not in (Rule.PURE, Rule.BASIC) else None
            shares = pure if summed is None else [*pure, summed]
        return min([Fraction(1), *shares])

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON, rationals as text; only the currency that is used."""
        return {name: str(value) for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_data(cls, data: object) -> "Budget":
        """The inverse of `to_data`."""
        if not isinstance(data, Mapping) or not set(data) <= _CURRENCIES:
            raise InvalidParameterError(f"a budget has some of the fields {sorted(_CURRENCIES)}, got {data!r}")
        return cls(**data)

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Budget":
        """The inverse of `to_json`."""
        return cls.from_data(read_json(text, "a budget"))

    def _proved(self, rule: Rule, total: Charge) -> bool:
        """Whether the total is known in a currency that the rule adds up."""
        if rule is Rule.PURE:
            return total.epsilon is not None and total.delta == 0
        if rule is Rule.BASIC:
            return total.epsilon is not None
        if rule is Rule.ADVANCED:
            return total.failing_rho is not None or total.failing_epsilon is not None
        pure = rule in (Rule.CONCENTRATED, Rule.GAUSSIAN) and total.epsilon is not None and total.delta == 0
        return pure or _spent(total, rule) is not None

    def _fits(self, rule: Rule, total: Charge) -> bool:
        """Whether the total stays inside the rule."""
        if rule is Rule.PURE:
            return self._fits_purely(total)
        if rule is Rule.BASIC:
            within = total.epsilon is not None and total.epsilon <= self._number("epsilon")
            return within and total.delta <= self._number("delta")
        if rule is Rule.ADVANCED:
            share = self._advanced_share(total)
            return share is not None and share <= 1
        spent = _spent(total, rule)
        pure = rule in (Rule.CONCENTRATED, Rule.GAUSSIAN) and self._fits_purely(total)
        return pure or (spent is not None and spent <= self._limit(rule))

    def _fits_purely(self, total: Charge) -> bool:
        return total.delta == 0 and total.epsilon is not None and total.epsilon <= self._number("epsilon")

    def _basic_share(self, total: Charge) -> Fraction | None:
        """The part of the budget that pairs use."""
        if total.epsilon is None:
            return None
        return max(total.epsilon / self._number("epsilon"), total.delta / self._number("delta"))

    def _advanced_share(self, total: Charge) -> Fraction | None:
        """The part of the budget that failures use, and epsilons or rhos, whichever use less."""
        sums = (
            _share(total.failing_epsilon, self._number("epsilon")),
            _share(total.failing_rho, self._limit(Rule.ADVANCED)),
        )
        known = [share for share in sums if share is not None]
        return max(min(known), total.failure / self._most_failures()) if known else None

    def _most_failures(self) -> Fraction:
        """Half of delta is kept for failures under the advanced rule."""
        return self._number("delta") / 2

    def _limit(self, rule: Rule) -> Fraction:
        """How far the sum of rho or mu^2 may go."""
        if rule is Rule.ADVANCED:  # 1 - delta = (1 - failures)(1 - rest), and delta/2 is a little less than that rest
            return largest_rho(self._number("epsilon"), self._number("delta") / 2)
        if rule is Rule.RHO:
            return self._number("rho")
        if rule is Rule.MU:
            return self._number("mu") ** 2
        if rule is Rule.RENYI:
            return self._number("renyi")
        search = largest_rho if rule is Rule.CONCENTRATED else largest_mu_squared
        return search(self._number("epsilon"), self._number("delta"))

    def _number(self, name: str) -> Fraction:
        value = getattr(self, name)
        assert isinstance(value, Fraction)
        return value


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """What is left of a budget, exact; None where the currency does not apply (any more).

    In an (epsilon, delta) budget that is spent by rho or mu^2, `epsilon` is what pure mechanisms may still spend while
    nothing but pure ones was used, and the other what all mechanisms may still spend: either one suffices. Where
    `failure` is given, it must suffice too.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None
    failure: Fraction | None = None
    renyi: Fraction | None = None

    def __str__(self) -> str:
        parts = [f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value is not None]
        if self.failure is not None:
            return f"{' or '.join(parts[:-1])}, with {parts[-1]}"  # failure is the last one, as renyi is not with it
        either = self.epsilon is not None and self.delta is None
        return " or ".join(parts) if either else ", ".join(parts)


_CURRENCIES = {"epsilon", "delta", "rho", "mu", "renyi", "order"}

_REMEDIES = {
    Rule.PURE: (
        "a budget of epsilon alone pays for mechanisms with a finite epsilon and no delta, such as Laplace noise. "
        "Use one of these, or open a ledger with Budget(epsilon=..., delta=...)."
    ),
    Rule.BASIC: (
        "this ledger adds up (epsilon, delta) pairs, and this mechanism was asked for without one. "
        "Ask for it with epsilon and delta, or open a ledger with Budget(rho=...)."
    ),
    Rule.CONCENTRATED: (
        "this ledger adds up rho, and no rho is proved for a mechanism that is known by its (epsilon, delta) alone. "
        "Use Laplace or Gaussian noise, or open a ledger whose first question is of that kind."
    ),
    Rule.GAUSSIAN: (
        "this ledger adds up squares of mu, and no mu is proved for this mechanism. "
        "Use Laplace or Gaussian noise, or open a ledger whose first question is of that kind."
    ),
    Rule.ADVANCED: (
        "this ledger adds up rhos and failures, and neither a rho nor a pair is proved for this mechanism. "
        "Ask for it with epsilon and delta."
    ),
    Rule.RHO: (
        "a budget of rho pays for mechanisms with a proved rho, such as Laplace and Gaussian noise. "
        "Use one of these, or open a ledger with Budget(epsilon=..., delta=...)."
    ),
    Rule.MU: (
        "a budget of mu pays for mechanisms with a proved mu, such as Laplace and Gaussian noise. "
        "Use one of these, or open a ledger with Budget(rho=...) or Budget(epsilon=..., delta=...)."
    ),
    Rule.RENYI: (
        "no Rényi divergence is proved for a mechanism that may fail. "
        "Use one without delta, or open a ledger with Budget(epsilon=..., delta=...)."
    ),
}


def _above_one(order: object) -> Fraction:
    value = positive_rational("order", order)
    if value <= 1:
        raise InvalidParameterError(f"order must be > 1, got {order!r}")
    return value


def _minus(whole: Fraction, spent: Fraction | None) -> Fraction:
    """Never below 0: an unknown or excessive sum leaves nothing."""
    return Fraction(0) if spent is None else max(whole - spent, Fraction(0))


def _spent(total: Charge, rule: Rule) -> Fraction | None:
    if rule is Rule.RENYI:
        return total.renyi
    return total.rho if rule in (Rule.RHO, Rule.CONCENTRATED) else total.mu_squared


def _share(spent: Fraction | None, whole: Fraction) -> Fraction | None:
    return None if spent is None else spent / whole
