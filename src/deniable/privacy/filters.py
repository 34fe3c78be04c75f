"""What may still be asked: charges, budgets, and rules that stay valid when questions depend on earlier answers.

Each rule is a filter: the analyst, having seen all earlier answers, chooses the next mechanism and its parameters; the
rule admits it or not; the whole conversation keeps the budget's guarantee. Proofs: docs/theory/filters.md.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy.concentrated import largest_rho
from deniable.privacy.exact import decimal_text, nonnegative_rational, positive_rational, probability, read_json
from deniable.privacy.gaussian_dp import largest_mu_squared


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What one mechanism costs in each currency: upper bounds, exact, None where nothing is proved.

    Args:
        epsilon: with `delta`, a pair for which (epsilon, delta)-DP holds; None when the loss is unbounded and no pair
            was stated.
        delta: see epsilon.
        rho: rho-zCDP holds.
        mu_squared: mu-GDP holds.
        failing_epsilon, failing_rho: epsilon-DP and rho-zCDP hold up to `failure`, the probability of one part of a
            mixture; without a failure they are the pure epsilon and `rho`.
        failure: see failing_rho.

    Charges add: each field by basic composition of its own currency.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    mu_squared: Fraction | None
    failing_epsilon: Fraction | None = None
    failing_rho: Fraction | None = None
    failure: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None or name in ("delta", "failure"):
                object.__setattr__(self, name, nonnegative_rational(name, value))
        if self.failing_rho is None and self.failure == 0:
            object.__setattr__(self, "failing_rho", self.rho)
            object.__setattr__(self, "failing_epsilon", self._pure_epsilon)

    @classmethod
    def nothing(cls) -> "Charge":
        """The charge of an empty ledger."""
        return cls(epsilon=Fraction(0), delta=Fraction(0), rho=Fraction(0), mu_squared=Fraction(0))

    def __add__(self, other: object) -> "Charge":
        if not isinstance(other, Charge):
            return NotImplemented
        return Charge(
            epsilon=_plus(self.epsilon, other.epsilon),
            delta=self.delta + other.delta,
            rho=_plus(self.rho, other.rho),
            mu_squared=_plus(self.mu_squared, other.mu_squared),
            failing_epsilon=_plus(self.failing_epsilon, other.failing_epsilon),
            failing_rho=_plus(self.failing_rho, other.failing_rho),
            failure=self.failure + other.failure,
        )

    def __mul__(self, count: int) -> "Charge":
        return Charge(
            epsilon=_times(self.epsilon, count),
            delta=self.delta * count,
            rho=_times(self.rho, count),
            mu_squared=_times(self.mu_squared, count),
            failing_epsilon=_times(self.failing_epsilon, count),
            failing_rho=_times(self.failing_rho, count),
            failure=self.failure * count,
        )

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON, rationals as text; what failures add to it only where there are any."""
        plain = not self.failure and (self.failing_epsilon, self.failing_rho) == (self._pure_epsilon, self.rho)
        shown = {name: value for name, value in vars(self).items() if not (plain and name.startswith("fail"))}
        return {name: None if value is None else str(value) for name, value in shown.items()}

    @classmethod
    def from_data(cls, data: object) -> "Charge":
        """The inverse of `to_data`."""
        names = {"epsilon", "delta", "rho", "mu_squared"}
        if not isinstance(data, Mapping) or set(data) - {"failing_epsilon", "failing_rho", "failure"} != names:
            raise InvalidParameterError(f"a charge needs the fields {sorted(names)}, got {data!r}")
        return cls(**data)

    @property
    def _pure_epsilon(self) -> Fraction | None:
        return None if self.delta else self.epsilon

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Charge":
        """The inverse of `to_json`."""
        return cls.from_data(read_json(text, "a charge"))


class Rule(Enum):
    """Which sums a budget watches."""

    PURE = "sum of epsilons"
    BASIC = "sums of epsilons and of deltas"
    CONCENTRATED = "sum of epsilons while everything is pure, or sum of rhos"
    GAUSSIAN = "sum of epsilons while everything is pure, or sum of squared mus"
    ADVANCED = "sum of failures, with that of epsilons or of rhos, where a pair counts as half its squared epsilon"
    RHO = "sum of rhos"
    MU = "sum of squared mus"


@dataclass(frozen=True, init=False)
class Budget:
    """What a ledger may spend in all, in exactly one currency.

    `Budget(epsilon=1)`, `Budget(epsilon=1, delta=1e-6)`, `Budget(rho=0.5)` or `Budget(mu=1)`.

    Guarantee: if every charge was admitted, everything released together is (epsilon, delta)-DP, rho-zCDP or mu-GDP,
        also when each question and its parameters were chosen after seeing all earlier answers.
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    mu: Fraction | None

    def __init__(self, *, epsilon: object = None, delta: object = None, rho: object = None, mu: object = None) -> None:
        given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
        if len(given) != 1 or (delta is not None and epsilon is None):
            raise InvalidParameterError(
                f"a budget needs exactly one of epsilon (with or without delta), rho or mu, got {given or 'none'}. "
                "Write Budget(epsilon=1), Budget(epsilon=1, delta=1e-6), Budget(rho=0.5) or Budget(mu=1)."
            )
        set_field = object.__setattr__
        set_field(self, "epsilon", None if epsilon is None else positive_rational("epsilon", epsilon))
        set_field(self, "delta", None if epsilon is None else probability("delta", 0 if delta is None else delta))
        set_field(self, "rho", None if rho is None else positive_rational("rho", rho))
        set_field(self, "mu", None if mu is None else positive_rational("mu", mu))

    def __str__(self) -> str:
        return ", ".join(f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value)

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={str(value)!r}' for name, value in vars(self).items() if value)})"

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
        return Remaining(epsilon=epsilon, delta=delta, rho=rho, mu_squared=mu_squared, failure=failure)

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
        if not isinstance(data, Mapping) or not set(data) <= {"epsilon", "delta", "rho", "mu"}:
            raise InvalidParameterError(f"a budget has the fields epsilon, delta, rho or mu, got {data!r}")
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

    def __str__(self) -> str:
        parts = [f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value is not None]
        if self.failure is not None:
            return f"{' or '.join(parts[:-1])}, with {parts[-1]}"
        either = self.epsilon is not None and self.delta is None
        return " or ".join(parts) if either else ", ".join(parts)


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
}


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _times(a: Fraction | None, count: int) -> Fraction | None:
    return None if a is None else a * count


def _minus(whole: Fraction, spent: Fraction | None) -> Fraction:
    """Never below 0: an unknown or excessive sum leaves nothing."""
    return Fraction(0) if spent is None else max(whole - spent, Fraction(0))


def _spent(total: Charge, rule: Rule) -> Fraction | None:
    return total.rho if rule in (Rule.RHO, Rule.CONCENTRATED) else total.mu_squared


def _share(spent: Fraction | None, whole: Fraction) -> Fraction | None:
    return None if spent is None else spent / whole
