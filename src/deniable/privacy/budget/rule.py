"""Rules of budgets: limits on sums of charges, and the guarantee that follows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_text, nonnegative_rational, probability
from deniable.numbers.roots import inverse
from deniable.privacy.budget.amounts import Amounts
from deniable.privacy.charge import Charge
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta

RULES: dict[str, type["Rule"]] = {}  # by the name that ledgers keep

_SHOWN_AS = {
    "pure_epsilon": "epsilon",
    "failing_epsilon": "epsilon",
    "failing_rho": "rho",
    "failing_mu_squared": "mu_squared",
}


class Rule(ABC):
    """Limits on sums of charges and failures; one of `sums` must be within its own.

    Base class; a subclass states its limits under a budget and the guarantee of each sum. A budget makes its rule:
    `budget.rule()`.

    Args:
        sums: the limit of each sum, by the name of the field of a charge.
        failure: the limit of the sum of failures; None where the rule has none.

    Guarantee: what `delta` says of the whole conversation, when each mechanism and its parameters are chosen after
        seeing all earlier answers, and the rule before the first; docs/theory/privacy/budget.md, for each by name.
        Mechanisms may be interactive and run at the same time (Haney et al. 2023, arXiv:2309.05901), if each is charged
        before it begins.

    >>> from deniable.privacy import Budget, PureLoss
    >>> rule = Budget(epsilon=1).rule()
    >>> print(rule.left(PureLoss("0.25").charge()))
    epsilon=0.75
    """

    name: ClassVar[str]
    remedy: ClassVar[str]  # what to do about a charge that it cannot add up
    failures: ClassVar[str] = "failure"  # the field of a charge that holds its failure
    promises: ClassVar[bool] = False  # whether it says what a budget with a choice promises, until a charge is made
    keeps_a_reserve: ClassVar[bool] = False  # whether a part of delta is set apart for failures that may come
    failing: ClassVar[bool]  # whether it is for ledgers that begin with a mechanism that may fail

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        RULES[cls.name] = cls

    def __init__(self, sums: Mapping[str, Fraction], *, failure: Fraction | None = None) -> None:
        self.sums = dict(sums)
        self.failure = failure

    @classmethod
    @abstractmethod
    def under(cls, budget: Amounts) -> Self | None:
        """Return the rule with the limits that keep a budget; None if it does not apply."""

    def _curve(self, name: str, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon` if the sum of this name is within its limit.

        Failures are left aside.
        """
        return pure_delta(self.sums[name], epsilon)

    def suits(self, first: Charge) -> bool:
        """Return whether a budget may choose this rule after the first charge of a ledger."""
        return self.failing == bool(first.failure) and self.admits(first)

    def share(self, total: Charge) -> Fraction:
        """Return the share of the limits that a total uses, by the sum least used.

        The pure sum counts last.
        """
        spent = {name: getattr(total, name) for name in self.sums if name != "pure_epsilon"}
        summed = [spent[name] / self.sums[name] for name in spent if spent[name] is not None]
        failed = getattr(total, self.failures) / self.failure if self.failure else Fraction(0)
        return max(min(summed, default=Fraction(1)), failed)

    def proves(self, total: Charge) -> bool:
        """Return whether a total is known in a currency that the rule adds up."""
        return any(getattr(total, name) is not None for name in self.sums)

    def admits(self, total: Charge) -> bool:
        """Return whether a total, the newest charge included, is within the limits."""
        if self.failure is not None and getattr(total, self.failures) > self.failure:
            return False
        return any(_at_most(getattr(total, name), limit) for name, limit in self.sums.items())

    def left(self, total: Charge) -> "Remaining":
        """Return the amounts left after a total, by the sums still within their limits."""
        spent = {name: getattr(total, name) for name in self.sums}
        within = {name: limit - spent[name] for name, limit in self.sums.items() if _at_most(spent[name], limit)}
        return self._shown(within or dict.fromkeys(self.sums, Fraction(0)), total, limit=self.failure)

    def cost(self, charge: Charge) -> "Remaining":
        """Return a charge in the same terms as `left`."""
        return self._shown({name: getattr(charge, name) for name in self.sums}, charge, limit=None)

    def _shown(self, amounts: Mapping[str, Fraction | None], charge: Charge, *, limit: Fraction | None) -> "Remaining":
        """Return amounts by their public names, with failures."""
        shown = {_SHOWN_AS.get(name, name): amount for name, amount in amounts.items()}
        if self.failure is not None:
            failed = getattr(charge, self.failures)
            shown[self.failures] = failed if limit is None else max(limit - failed, Fraction(0))
        return Remaining(**shown)

    def delta(self, epsilon: Real) -> Interval:
        """Return the delta for which the whole interaction is (epsilon, delta)-DP."""
        return self._delta(nonnegative_rational("epsilon", epsilon))

    def epsilon(self, delta: Real) -> Interval:
        """Return the epsilon for which the whole interaction is (epsilon, delta)-DP.

        It is infinite where none is proved.
        """
        target = probability("delta", delta)
        limit = None
        if self.failure is not None and target < self.failure:
            return NONNEGATIVE
        if len(self.sums) == 1:
            limit = next((limit for name, limit in self.sums.items() if name.endswith("epsilon")), None)
        return inverse(self._delta, target, limit=limit)

    def _delta(self, epsilon: Fraction) -> Interval:
        """Return the sum of the deltas of all sums, failures included.

        Which of the sums stays within its limit may depend on the answers, so all of them count.
        """
        curves = [
            Rule._curve(self, name, epsilon) if name.endswith("epsilon") else self._curve(name, epsilon)
            for name in self.sums
        ]
        whole = curves[0]
        if len(curves) > 1:
            total = sum((Fraction(curve.upper) for curve in curves), Fraction(0))
            whole = Interval(0.0, Interval.around(min(total, Fraction(1))).upper)
        return mixed_with_failure(whole, self.failure or Fraction(0))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.left(Charge.nothing())})"


@dataclass(frozen=True, kw_only=True)
class Remaining:
    """Amounts of a budget that are left, exact; None where a currency does not apply.

    In an (epsilon, delta) budget that is spent by rho or mu^2, `epsilon` is what pure mechanisms may still spend while
    only pure ones have been used, and the other amount what all mechanisms may still spend: either one suffices. Where
    `failure` is given, it must suffice too.

    Args:
        epsilon: what is left of epsilon.
        delta: what is left of delta.
        rho: what is left of rho (zCDP).
        mu_squared: what is left of mu^2 (GDP).
        renyi: what is left of the Rényi divergence.
        failure: what is left of the failure probability.
    """

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    rho: Fraction | None = None
    mu_squared: Fraction | None = None
    renyi: Fraction | None = None
    failure: Fraction | None = None

    def __str__(self) -> str:
        parts = [f"{name}={decimal_text(value)}" for name, value in vars(self).items() if value is not None]
        if self.failure is not None:
            return f"{' or '.join(parts[:-1])}, with {parts[-1]}"
        return (", " if self.delta is not None else " or ").join(parts)


def _at_most(spent: Fraction | None, limit: Fraction) -> bool:
    """Return whether a sum is known and within its limit."""
    return spent is not None and spent <= limit
