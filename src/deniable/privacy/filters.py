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
from deniable.privacy.exact import decimal_text, nonnegative_rational, positive_rational, probability


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What one mechanism costs in each currency: upper bounds, exact, None where nothing is proved.

    Args:
        epsilon: with `delta`, a pair for which (epsilon, delta)-DP holds; None when the loss is unbounded and no pair
            was stated.
        delta: see epsilon.
        rho: rho-zCDP holds.
        mu_squared: mu-GDP holds.

    Charges add: epsilon, delta, rho and mu^2 each by basic composition of its own currency.
    """

    epsilon: Fraction | None
    delta: Fraction
    rho: Fraction | None
    mu_squared: Fraction | None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho", "mu_squared"):
            value = getattr(self, name)
            if value is not None or name == "delta":
                object.__setattr__(self, name, nonnegative_rational(name, value))

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
        )

    def __mul__(self, count: int) -> "Charge":
        return Charge(
            epsilon=_times(self.epsilon, count),
            delta=self.delta * count,
            rho=_times(self.rho, count),
            mu_squared=_times(self.mu_squared, count),
        )

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON, rationals as text."""
        return {name: None if value is None else str(value) for name, value in vars(self).items()}

    @classmethod
    def from_data(cls, data: object) -> "Charge":
        """The inverse of `to_data`."""
        names = {"epsilon", "delta", "rho", "mu_squared"}
        if not isinstance(data, Mapping) or set(data) != names:
            raise InvalidParameterError(f"a charge needs the fields {sorted(names)}, got {data!r}")
        return cls(**data)

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Charge":
        """The inverse of `to_json`."""
        return cls.from_data(json.loads(text))


class Rule(Enum):
    """Which sums a budget watches."""

    PURE = "sum of epsilons"
    BASIC = "sums of epsilons and of deltas"
    CONCENTRATED = "sum of epsilons while everything is pure, or sum of rhos"
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

        Only an (epsilon, delta) budget with delta > 0 has a choice. The first charge was made before any answer was
        seen, so the choice depends on nothing private.
        """
        if self.rho is not None:
            return Rule.RHO
        if self.mu is not None:
            return Rule.MU
        if not self.delta:
            return Rule.PURE
        return Rule.CONCENTRATED if self._fits_concentrated(first) else Rule.BASIC

    def admits(self, first: Charge, total: Charge) -> bool:
        """Whether a ledger that began with `first` may come to `total`, the newcomer included.

        Args:
            first: the first charge ever made, or the newcomer itself on an empty ledger.
            total: the sum of all charges made and of the newcomer.

        Raises: UnprovedError if the total is not known in the currency of the rule; the message says what to use.
        """
        rule = self.rule(first)
        if rule is Rule.CONCENTRATED:
            if total.rho is None and total.delta > 0:
                raise UnprovedError(_REMEDIES[rule])
            return self._fits_concentrated(total)
        if rule in (Rule.PURE, Rule.BASIC):
            if total.epsilon is None or (rule is Rule.PURE and total.delta > 0):
                raise UnprovedError(_REMEDIES[rule])
            return total.epsilon <= self._number("epsilon") and total.delta <= self._number("delta")
        spent = total.rho if rule is Rule.RHO else total.mu_squared
        if spent is None:
            raise UnprovedError(_REMEDIES[rule])
        return spent <= (self._number("rho") if rule is Rule.RHO else self._number("mu") ** 2)

    def left(self, first: Charge | None, total: Charge) -> "Remaining":
        """What is left after `total`, for display; `first` is None on an empty ledger."""
        rule = None if first is None and self.delta else self.rule(first or total)
        epsilon = delta = rho = mu_squared = None
        if self.epsilon is not None:
            pure = total.delta == 0 and total.epsilon is not None and total.epsilon <= self.epsilon
            if rule in (Rule.PURE, Rule.BASIC, None) or pure:
                epsilon = _minus(self.epsilon, total.epsilon)
            if rule in (Rule.BASIC, None):
                delta = _minus(self._number("delta"), total.delta)
            if rule is Rule.CONCENTRATED:
                rho = _minus(self._rho_of_pair(), total.rho)
        elif self.rho is not None:
            rho = _minus(self.rho, total.rho)
        else:
            mu_squared = _minus(self._number("mu") ** 2, total.mu_squared)
        return Remaining(epsilon=epsilon, delta=delta, rho=rho, mu_squared=mu_squared)

    def fraction_spent(self, first: Charge | None, total: Charge) -> Fraction:
        """The spent share of the budget in [0, 1], by the sum that leaves the most room."""
        rule = self.rule(first or total)
        shares: list[Fraction | None] = []
        if rule is Rule.RHO:
            shares = [_share(total.rho, self._number("rho"))]
        elif rule is Rule.MU:
            shares = [_share(total.mu_squared, self._number("mu") ** 2)]
        elif rule is Rule.CONCENTRATED:
            shares = [_share(total.rho, self._rho_of_pair())]
            if total.delta == 0:
                shares.append(_share(total.epsilon, self._number("epsilon")))
        else:
            by_epsilon = _share(total.epsilon, self._number("epsilon"))
            by_delta = _share(total.delta, self._number("delta")) if self.delta else Fraction(0)
            shares = [None if by_epsilon is None or by_delta is None else max(by_epsilon, by_delta)]
        known = [share for share in shares if share is not None]
        return min(min(known, default=Fraction(1)), Fraction(1))

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
        return cls.from_data(json.loads(text))

    def _fits_concentrated(self, total: Charge) -> bool:
        """The pure sum or the sum of rhos stays inside an (epsilon, delta) budget."""
        pure = total.epsilon is not None and total.delta == 0 and total.epsilon <= self._number("epsilon")
        return pure or (total.rho is not None and total.rho <= self._rho_of_pair())

    def _rho_of_pair(self) -> Fraction:
        return largest_rho(self._number("epsilon"), self._number("delta"))

    def _number(self, name: str) -> Fraction:
        value = getattr(self, name)
        assert isinstance(value, Fraction)
        return value


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """What is left of a budget, exact; None where the currency does not apply (any more).

    In a (epsilon, delta) budget that is spent by rho, `epsilon` is what pure mechanisms may still spend while nothing
    but pure ones was used, and `rho` what all mechanisms may still spend: either one suffices.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None

    def __str__(self) -> str:
        parts = [f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value is not None]
        return ", ".join(parts) if self.rho is None or self.epsilon is None else " or ".join(parts)


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
    Rule.RHO: (
        "a budget of rho pays for mechanisms with a proved rho, such as Laplace and Gaussian noise. "
        "Use one of these, or open a ledger with Budget(epsilon=..., delta=...)."
    ),
    Rule.MU: (
        "a budget of mu pays for mechanisms with a proved mu. None is proved for discrete Gaussian noise: "
        "use Laplace noise, or open a ledger with Budget(rho=...) or Budget(epsilon=..., delta=...)."
    ),
}


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    return None if a is None or b is None else a + b


def _times(a: Fraction | None, count: int) -> Fraction | None:
    return None if a is None else a * count


def _minus(whole: Fraction, spent: Fraction | None) -> Fraction:
    """Never below 0: an unknown or excessive sum leaves nothing."""
    return Fraction(0) if spent is None else max(whole - spent, Fraction(0))


def _share(spent: Fraction | None, whole: Fraction) -> Fraction | None:
    return None if spent is None else spent / whole
