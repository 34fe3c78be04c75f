"""Privacy filters: the cost so far, and whether one more mechanism fits."""

import json
from collections.abc import Mapping
from threading import Lock

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, read_json
from deniable.privacy.budget.budget import Budget
from deniable.privacy.budget.rule import Remaining, Rule
from deniable.privacy.charge import Charge
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.relation import Relation


class Filter:
    """Account in memory that admits mechanisms until its budget is spent.

    Each mechanism *and its parameters* may be chosen after seeing earlier answers. Call `charge(loss)` before the
    mechanism runs: it charges, or raises and changes nothing. `delta` and `epsilon` give the guarantee of the whole
    interaction, whatever was asked. A ledger is a filter whose sums are kept in a file.

    Args:
        budget: the total that may be spent.
        relation: the neighbouring relation that is protected; losses must be proved for it.

    Guarantee: that of the budget, by the rule that the budget chooses at the first charge. Sums are exact.

    >>> from deniable.privacy import AddRemove, LaplaceLoss
    >>> spending = Filter(Budget(epsilon=1), relation=AddRemove)
    >>> spending.charge(LaplaceLoss(4))  # scale 4 times the sensitivity
    >>> print(spending.left)
    epsilon=0.75
    >>> spending.admits(LaplaceLoss(1))
    False
    """

    def __init__(self, budget: Budget, *, relation: Relation) -> None:
        if not isinstance(budget, Budget):
            raise InvalidParameterError(
                f"budget must be a Budget, got {type(budget).__name__}. Write Budget(epsilon=1)."
            )
        self.budget = budget
        self.relation = Relation.checked(relation)
        self._rule: Rule | None = None
        self._total = Charge.nothing()
        self._lock = Lock()

    @classmethod
    def resumed(cls, budget: Budget, *, relation: Relation, rule: Rule | None, total: Charge) -> "Filter":
        """Return the filter of an interaction that was saved: its rule and total charge."""
        made = cls(budget, relation=relation)
        made._rule, made._total = rule, total
        return made

    @property
    def rule(self) -> Rule:
        """Rule by which charges add up; before the first, that of the promised pair."""
        return self._rule or self.budget.rule()

    @property
    def spent(self) -> Charge:
        """Sum of all charges, in every currency, exact."""
        return self._total

    @property
    def left(self) -> Remaining:
        """Amounts that the next mechanisms may still cost."""
        return self.rule.left(self._total)

    def admits(self, loss: PrivacyLoss) -> bool:
        """Return whether `loss` fits into what is left.

        Raises: UnprovedError if the loss has no proved cost in this currency, or is proved for another relation.
        """
        return self._after(self._priced(loss))[2]

    def charge(self, loss: PrivacyLoss) -> None:
        """Charge for `loss`; call it before the mechanism runs.

        Raises: BudgetExceededError if it does not fit; UnprovedError as `admits`. Both change nothing.
        """
        self.charge_amount(self._priced(loss))

    def charge_amount(self, charge: Charge, *, remedy: str = "or end the conversation") -> None:
        """Charge an amount that the budget has priced, as `charge` does for a loss.

        Args:
            charge: the price, from `budget.price(loss)`.
            remedy: what the error suggests, besides asking for less.

        Args:
            cure: what one can do, other than ask for less, when it does not fit.
        """
        with self._lock:
            rule, total, fits = self._after(charge)
            if not fits:
                raise BudgetExceededError(
                    f"This question would cost {rule.cost(charge)}, but only {self.left} of the budget "
                    f"{self.budget} is left. Nothing was spent. Ask for less, {remedy}."
                )
            self._rule, self._total = rule, total

    def delta(self, epsilon: Real) -> Interval:
        """Return the delta for which the whole interaction is (epsilon, delta)-DP."""
        return self.rule.delta(epsilon)

    def epsilon(self, delta: Real) -> Interval:
        """Return the epsilon for which the whole interaction is (epsilon, delta)-DP.

        It is infinite where none is proved.
        """
        return self.rule.epsilon(delta)

    def _priced(self, loss: PrivacyLoss) -> Charge:
        """Return the charge of a loss, after checking its relation."""
        return self.budget.price(proved_for(self.relation, loss))

    def _after(self, charge: Charge) -> tuple[Rule, Charge, bool]:
        """Return rule and total after one more charge, and whether the total is admitted."""
        rule = self._rule or self.budget.rule(charge)
        total = self._total + charge
        if not rule.proves(total):
            raise UnprovedError(
                f"{rule.remedy} A composed privacy-loss distribution cannot replace it: where parameters depend on "
                "answers it is not a valid filter (arXiv:2602.06756)."
            )
        return rule, total, rule.admits(total)

    def to_data(self) -> dict[str, object]:
        """Return plain data for JSON: budget, rule and sums, rationals as text."""
        return {
            "budget": self.budget.to_data(),
            "relation": self.relation.name,
            "rule": self._rule.name if self._rule else None,
            "spent": self._total.to_data(),
        }

    @classmethod
    def from_data(cls, data: object) -> "Filter":
        """Return the filter that `to_data` wrote; every check runs again."""
        names = {"budget", "relation", "rule", "spent"}
        if not isinstance(data, Mapping) or set(data) != names or data["relation"] not in Relation.__members__:
            raise InvalidParameterError(f"a filter has the fields {sorted(names)}, got {data!r}")
        budget = Budget.from_data(data["budget"])
        total = Charge.from_data(data["spent"])
        rule = None if data["rule"] is None else budget.rule(name=str(data["rule"]))
        made = cls.resumed(budget, relation=Relation[str(data["relation"])], rule=rule, total=total)
        if rule is None and total != Charge.nothing():
            raise InvalidParameterError("a filter that has spent names the rule of its first charge, got none")
        if not made.rule.admits(total):
            raise InvalidParameterError(f"what was spent, {made.rule.cost(total)}, is above the budget {budget}")
        return made

    def to_json(self) -> str:
        """Return canonical JSON text."""
        return json.dumps(self.to_data(), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> "Filter":
        """Return the filter that `to_json` wrote."""
        return cls.from_data(read_json(text, "a filter"))

    def __repr__(self) -> str:
        return f"Filter({self.budget!r}, {self.relation}; left {self.left})"


def proved_for(relation: Relation, loss: PrivacyLoss) -> PrivacyLoss:
    """Return the loss, after checking that it is proved for the relation.

    Raises: UnprovedError if it is not proved for the relation.
    """
    if not isinstance(loss, PrivacyLoss):
        raise InvalidParameterError(f"loss must be a privacy loss, such as PureLoss(1), got {type(loss).__name__}")
    if relation not in loss.relations:
        raise UnprovedError(
            f"{loss!r} is not proved for {relation}, which is protected here. State the loss for that relation."
        )
    return loss
