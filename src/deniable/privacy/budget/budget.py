"""Budgets: the total that may be spent in one currency, and its rule."""

from dataclasses import dataclass

from deniable.arguments import InWords
from deniable.errors import InvalidParameterError
from deniable.privacy.budget.amounts import Amounts
from deniable.privacy.budget.rule import RULES, Rule
from deniable.privacy.budget.rules import renyi_charge
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss


@dataclass(frozen=True, init=False, repr=False)
class Budget(Amounts, metaclass=InWords):
    """Total that a ledger or a filter may spend, in exactly one currency.

    `Budget(epsilon=1)`, `Budget(epsilon=1, delta=1e-6)`, `Budget(rho=0.5)`, `Budget(mu=1)` or `Budget(renyi=0.5,
    order=8)`.

    Args:
        epsilon: the epsilon of a guarantee of (epsilon, delta)-DP.
        delta: a probability below 1; 0 unless given.
        rho: the rho of a guarantee of rho-zCDP.
        mu: the mu of a guarantee of mu-GDP.
        renyi: the largest Rényi divergence at `order`.
        order: a Rényi order above 1; beside epsilon and delta: the pair is kept by adding divergences at this order,
            which sampled mechanisms have.
        failure: the largest sum of failure probabilities, for mechanisms that keep their bound only up to a failure;
            beside epsilon and delta a part of delta, which is mostly half of it unless given.

    Guarantee: if every charge was admitted, everything released together has the guarantee (up to `failure` for rho and
        renyi), even when each question and its parameters were chosen after seeing all earlier answers.

    >>> budget = Budget(epsilon=1, delta="1e-6")
    >>> print(budget)
    epsilon=1, delta=1e-06
    >>> from deniable.privacy import LaplaceLoss
    >>> budget.can_price(LaplaceLoss(10))
    True
    """

    def _refuse_useless(self) -> None:
        """Refuse limits that no rule can keep, by making the rule once."""
        if self.pair is None:
            self.rule()

    def price(self, loss: PrivacyLoss) -> Charge:
        """Return the charge of a loss, in the currency of this budget."""
        if self.order is None:
            return loss.charge()
        return renyi_charge(loss, self.order, failing=self.failure is not None)

    def can_price(self, loss: PrivacyLoss) -> bool:
        """Return whether this currency can price a loss that comes first.

        How much is left does not matter.
        """
        charge = self.price(loss)
        return self.rule(charge).proves(charge)

    def rule(self, first: Charge | None = None, *, name: str | None = None, reserve: bool = True) -> Rule:
        """Return the rule by which a ledger with this budget adds up charges.

        Only an (epsilon, delta) budget has a choice: of the rules that suit its first charge it takes the one whose
        limits this uses least, and sums of pairs where there is none. The first charge was made before any answer was
        seen, so the choice depends on nothing private.

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
        *others, pairs = sorted(rules, key=lambda rule: rule.promises)
        if first is None:
            return pairs
        others = [rule for rule in others if reserve or not rule.keeps_a_reserve]
        suited = [rule for rule in (pairs, *others) if rule.suits(first)]
        return min(
            suited, key=lambda rule: (not (rule.failing or rule.keeps_a_reserve), rule.share(first)), default=pairs
        )
