"""Charges: the cost of one mechanism, in every currency with a proof."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import nonnegative_rational, quotient_text, read_json
from deniable.privacy.warning import warning_about

_Bound = Annotated[Fraction | None, nonnegative_rational]
_FIELDS = ("epsilon", "delta", "rho", "mu_squared")
_LATER = {
    "failing_epsilon",
    "failing_rho",
    "failing_mu_squared",
    "failure",
    "renyi",
}  # of newer ledgers, where they say something


@dataclass(frozen=True, kw_only=True)
class Charge:
    """Cost of one mechanism in each currency: exact upper bounds, None where unproved.

    Charges add: each field by basic composition of its own currency.

    Args:
        epsilon: with `delta`, a pair for which (epsilon, delta)-DP holds; None when the loss is unbounded and no pair
            was stated.
        delta: see epsilon.
        rho: rho-zCDP holds.
        mu_squared: mu-GDP holds, given as mu^2.
        failing_epsilon: epsilon-DP holds up to `failure`; without a failure the pure epsilon.
        failing_rho: rho-zCDP holds up to `failure`; without a failure `rho`.
        failing_mu_squared: mu-GDP holds up to `failure`; without a failure `mu_squared`.
        failure: the probability of one part of a mixture, in [0, 1].
        renyi: a bound on the Rényi divergence at the order of the budget that is charged.

    >>> from deniable.privacy import LaplaceLoss
    >>> print((LaplaceLoss(4).charge() * 3).epsilon)
    0.75
    """

    epsilon: _Bound
    delta: Annotated[Fraction, nonnegative_rational]
    rho: _Bound
    mu_squared: _Bound
    failing_epsilon: _Bound = None
    failing_rho: _Bound = None
    failing_mu_squared: _Bound = None
    failure: Annotated[Fraction, nonnegative_rational] = Fraction(0)
    renyi: _Bound = None

    def __post_init__(self) -> None:
        read_fields(self)
        if self.failing_rho is None and self.failure == 0:
            read_fields(self, failing_rho=self.rho, failing_epsilon=self.pure_epsilon)
        if self.failing_mu_squared is None and self.failure == 0:
            read_fields(self, failing_mu_squared=self.mu_squared)
        if self.rho == 0:  # equal laws
            read_fields(self, renyi=Fraction(0))

    @classmethod
    def nothing(cls) -> "Charge":
        """Return the charge of an empty ledger."""
        return cls(epsilon=Fraction(0), delta=Fraction(0), rho=Fraction(0), mu_squared=Fraction(0))

    def __add__(self, other: object) -> "Charge":
        if not isinstance(other, Charge):
            return NotImplemented
        sums = {name: _plus(value, getattr(other, name)) for name, value in vars(self).items()}
        return Charge(**sums)  # type: ignore[arg-type]

    def __mul__(self, count: int) -> "Charge":
        times = {name: None if value is None else value * count for name, value in vars(self).items()}
        return Charge(**times)  # type: ignore[arg-type]

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON; later fields only where they say something new.

        Rationals are text.
        """
        data = {name: getattr(self, name) for name in _FIELDS}
        plain = not self.failure and (self.failing_epsilon, self.failing_rho) == (self.pure_epsilon, self.rho)
        if not plain:
            data |= {name: getattr(self, name) for name in ("failing_epsilon", "failing_rho", "failure")}
        if self.failing_mu_squared != self.mu_squared:
            data["failing_mu_squared"] = self.failing_mu_squared
        if self.renyi:
            data["renyi"] = self.renyi
        return {name: None if value is None else quotient_text(value) for name, value in data.items()}

    @classmethod
    def from_data(cls, data: object) -> "Charge":
        """Return the charge that `to_data` wrote."""
        if not isinstance(data, Mapping) or set(data) - _LATER != set(_FIELDS):
            raise InvalidParameterError(f"a charge needs the fields {sorted(_FIELDS)}, got {data!r}")
        return cls(**data)

    @property
    def warning(self) -> str:
        """Warning about unusual amounts, in a sentence; empty for ordinary ones."""
        if self.epsilon is None:
            return warning_about(rho=self.rho)
        return warning_about(epsilon=self.epsilon, delta=self.delta)

    @property
    def pure_epsilon(self) -> Fraction | None:
        """Epsilon where there is no delta beside it; None otherwise."""
        return None if self.delta else self.epsilon

    def to_json(self) -> str:
        """Return canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Charge":
        """Return the charge that `to_json` wrote."""
        return cls.from_data(read_json(text, "a charge"))


def _plus(a: Fraction | None, b: Fraction | None) -> Fraction | None:
    """Return a sum; None if a summand is unknown."""
    return None if a is None or b is None else a + b
