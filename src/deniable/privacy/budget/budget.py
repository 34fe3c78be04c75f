"""A budget: what may be spent in all, in one currency. It chooses the rule that keeps it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, decimal_text, positive_rational, probability, read_json
from deniable.privacy.budget.pairs import PairsRule
from deniable.privacy.budget.renyi import renyi_charge
from deniable.privacy.budget.reserved import keeps_a_reserve
from deniable.privacy.budget.rule import RULES, Rule
from deniable.privacy.call import InWords
from deniable.privacy.caution import caution, with_caution
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.notions.conversion import checked_order


@dataclass(frozen=True, init=False)
class Budget(metaclass=InWords):
    """What a ledger or a filter may spend in all, in exactly one currency.

    `Budget(epsilon=1)`, `Budget(epsilon=1, delta=1e-6)`, `Budget(rho=0.5)`, `Budget(mu=1)` or
    `Budget(renyi=0.5, order=8)`.

    Args:
        epsilon, delta: a promise of (epsilon, delta)-DP; delta is 0 unless given.
        rho, mu, renyi: a promise of rho-zCDP, mu-GDP, or a Rényi divergence of at most `renyi` at `order`.
        order: above 1; with epsilon and delta: the pair is kept by adding divergences at this order, which sampled
            mechanisms have.
        failure: what the failures of mechanisms may sum to, for mechanisms that keep their bound up to a failure; with
            epsilon and delta a part of delta, which is half of it at most times unless it is given.

    Guarantee: if every charge was admitted, everything released together keeps the promise (up to `failure` for rho and
        renyi), also when each question and its parameters were chosen after seeing all earlier answers.
    """

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    mu: Fraction | None
    renyi: Fraction | None
    order: Fraction | None
    failure: Fraction | None

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        mu: Real | None = None,
        renyi: Real | None = None,
        order: Real | None = None,
        failure: Real | None = None,
    ) -> None:
        sums = {"epsilon": epsilon, "rho": rho, "mu": mu, "renyi": renyi}
        given = [name for name, value in sums.items() if value is not None]
        if (
            len(given) != 1
            or (delta is not None and epsilon is None)
            or (renyi is not None and order is None)
            or (order is not None and renyi is None and delta is None)
            or (failure is not None and (mu is not None or (epsilon is not None and delta is None)))
        ):
            raise InvalidParameterError(
                "a budget needs exactly one of epsilon (with or without delta), rho, mu or renyi (with order), got "
                f"{given or 'none'}. Write Budget(epsilon=1), Budget(epsilon=1, delta=1e-6), Budget(rho=0.5), "
                "Budget(mu=1) or Budget(renyi=0.5, order=8); order= may stand beside epsilon and delta, and failure= "
                "beside these, rho and renyi."
            )
        set_field = object.__setattr__
        for name, value in sums.items():
            set_field(self, name, None if value is None else positive_rational(name, value))
        set_field(self, "delta", None if epsilon is None else probability("delta", 0 if delta is None else delta))
        set_field(self, "order", None if order is None else checked_order(order))
        set_field(self, "failure", None if failure is None else probability("failure", failure))
        if self.failure is not None and not 0 < self.failure < (self.delta or 1):
            raise InvalidParameterError(f"failure must be above 0 and below delta={delta or 1}, got {failure}")
        if self.pair is None:
            self.rule()  # limits that promise nothing are refused

    def __str__(self) -> str:
        amounts = ", ".join(f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value)
        return with_caution(amounts, self.caution)

    @property
    def caution(self) -> str:
        """Warning about unusual amounts, in a sentence; empty for ordinary ones."""
        return caution(**vars(self))

    def __repr__(self) -> str:
        return f"Budget({', '.join(f'{name}={str(value)!r}' for name, value in vars(self).items() if value)})"

    @property
    def pair(self) -> tuple[Fraction, Fraction] | None:
        """epsilon and delta, where the first charge chooses how to add up; None where one rule is given."""
        if self.epsilon is None or not self.delta or self.order is not None or self.failure is not None:
            return None
        return self.epsilon, self.delta

    def price(self, loss: PrivacyLoss) -> Charge:
        """What this budget is charged for a loss."""
        if self.order is None:
            return loss.charge()
        return renyi_charge(loss, self.order, failing=self.failure is not None)

    def pays_for(self, loss: PrivacyLoss) -> bool:
        """Whether the currency knows a price for a loss, if it comes first; however much is left."""
        charge = self.price(loss)
        return self.rule(charge).proves(charge)

    def rule(self, first: Charge | None = None, *, name: str | None = None, reserve: bool = True) -> Rule:
        """The rule by which a ledger with this budget adds up.

        Only an (epsilon, delta) budget has a choice: of the rules that suit its first charge it takes the one whose
        limits this uses least, and sums of pairs where there is none. The first charge was made before any answer was
        seen, so the choice depends on nothing private.

        Args:
            first: the first charge ever made; None before it: the rule that says what was promised.
            name: the rule that was chosen before, as a ledger noted it.
            reserve: whether a rule that keeps a part of delta for failures may be chosen, which goes before others.

        Raises: InvalidParameterError if this budget has no rule of that name.
        """
        if name is not None:
            known = RULES[name].under(self) if name in RULES else None
            if known is None:
                raise InvalidParameterError(f"a budget of {self} has no rule {name!r}; a newer version may know it")
            return known
        rules = [rule for kind in RULES.values() if (rule := kind.under(self)) is not None]
        if self.pair is None:
            return rules[0]
        *others, pairs = sorted(rules, key=lambda rule: isinstance(rule, PairsRule))
        if first is None:
            return pairs
        others = [rule for rule in others if reserve or not keeps_a_reserve(rule)]
        suited = [rule for rule in (pairs, *others) if rule.suits(first)]
        return min(
            suited, key=lambda rule: (not (rule.failing or keeps_a_reserve(rule)), rule.share(first)), default=pairs
        )

    def to_data(self) -> dict[str, object]:
        """Plain data for JSON, rationals as text; only the currency that is used."""
        return {name: str(value) for name, value in vars(self).items() if value is not None}

    @classmethod
    def from_data(cls, data: object) -> "Budget":
        """The inverse of `to_data`."""
        names = {field.name for field in fields(cls)}
        if not isinstance(data, Mapping) or not set(data) <= names:
            raise InvalidParameterError(f"a budget has some of the fields {sorted(names)}, got {data!r}")
        return cls(**data)

    def to_json(self) -> str:
        """Canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Budget":
        """The inverse of `to_json`."""
        return cls.from_data(read_json(text, "a budget"))
