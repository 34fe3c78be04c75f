"""One filter per record: each pays what it itself may reveal, and drops out silently when its budget is used up."""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval, round_down
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.privacy.budget.budget import Budget
from deniable.privacy.relation import AddRemove, Relation

_ABOVE = 1 + 2.0**-51  # times a rounded sum: at least the exact sum
_LEAST = 1e-300  # what is charged where a square would underflow
_UP = 1 + 2.0**-49  # more than the roundings of (norm / sigma)^2 times a number


class Active:
    """Which records take part in the next computation: SECRET, as it depends on what they hold.

    `exact` is the mask. Use it to select rows before the mechanism runs; never show it, count it or branch on it.
    """

    __slots__ = ("exact",)

    def __init__(self, exact: NDArray[np.bool_]) -> None:
        exact.flags.writeable = False
        self.exact = exact

    def __repr__(self) -> str:
        return "Active(secret)"


class IndividualFilter:
    """Budgets of single records, which are themselves private: nothing of them is ever printed, and none is written.

    Before each mechanism, `charge` takes what every record may reveal *through this mechanism, given its own data*, as
    upper bounds; it says which records take part. A record whose budget would be exceeded is left out and pays
    nothing, so it may take part again in something smaller. A loss that is no number, or negative, leaves it out too.
    Sums are floats, rounded up: a budget that is to be used to its end needs a hair more than the sum.

    Mechanisms and parameters may be chosen from earlier answers. A loss may depend on the record's own data and on
    earlier answers, and on no other record.

    Args:
        budget: of each record: `Budget(rho=...)`, `Budget(mu=...)` or `Budget(renyi=..., order=...)`.
        records: their number.

    Guarantee: for add/remove of one record, what the budget promises. The number of mechanisms does not matter.
    Source: Feldman, Zrnic (2021), arXiv:2008.11193; Koskela, Tobaben, Honkela (2023), arXiv:2209.15596, for GDP; proof
        in docs/theory/privacy/budget.md, theorem 6.
    """

    def __init__(self, budget: Budget, *, records: int, relation: Relation = AddRemove) -> None:
        if relation is not AddRemove:
            raise UnprovedError(
                f"individual budgets are proved for add/remove, got {relation}: under replace the two records of a "
                "pair have different budgets. Use AddRemove, or a filter for the worst record."
            )
        if not isinstance(budget, Budget) or budget.epsilon is not None or budget.failure is not None:
            raise InvalidParameterError(f"individual budgets are of rho, mu or renyi, without failure, got {budget!r}")
        self.budget, self._rule = budget, budget.rule()
        ((currency, limit),) = self._rule.sums.items()
        half_order = float(np.nextafter(float((budget.order or Fraction(0)) / 2), np.inf))
        self._per_mu_squared = {"rho": 0.5, "mu_squared": 1.0, "renyi": half_order}[currency]
        self._limit = round_down(limit)
        self._spent = np.zeros(positive_integer("records", records))

    def charge(self, losses: ArrayLike) -> Active:
        """Pay, and learn which records take part.

        Args:
            losses: shape (records,), each at least what the record reveals in the currency of the budget; squares of mu
                where that is mu.
        """
        asked = self._read(losses)
        with np.errstate(over="ignore"):
            after = self._spent + asked
            after *= _ABOVE
        active: NDArray[np.bool_] = after <= self._limit
        np.copyto(self._spent, after, where=active & (asked > 0))
        active |= asked == 0  # what reveals nothing costs nothing
        return Active(active)

    def charge_gaussian(self, norms: ArrayLike, *, sigma: Real) -> Active:
        """`charge` for Gaussian noise of standard deviation `sigma` on every coordinate of a sum.

        Args:
            norms: shape (records,), at least the l2 norm of what each record adds to the sum, in the unit of `sigma`.
        """
        reach = self._read(norms)
        with np.errstate(over="ignore"):  # what overflows is infinite, and left out
            costs = (reach / round_down(positive_rational("sigma", sigma))) ** 2
            costs *= self._per_mu_squared * _UP
        np.maximum(costs, _LEAST, out=costs, where=reach > 0)
        return self.charge(costs)

    @property
    def exact_spent(self) -> Floats:
        """What each record has spent, SECRET; a copy."""
        return self._spent.copy()

    def delta(self, epsilon: Real) -> Interval:
        """The delta for which everything together is (epsilon, delta)-DP under add/remove."""
        return self._rule.delta(epsilon)

    def epsilon(self, delta: Real) -> Interval:
        """The epsilon for which everything together is (epsilon, delta)-DP under add/remove."""
        return self._rule.epsilon(delta)

    def _read(self, losses: ArrayLike) -> Floats:
        """Floats, with what is no loss made infinite. Messages name no value: all of them are private."""
        try:
            given = np.asarray(losses, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameterError("losses must be an array of numbers, one for each record") from None
        if given.shape != self._spent.shape:
            raise InvalidParameterError("losses must hold exactly one number for each record")
        return np.where(given >= 0, given, np.inf)

    def __repr__(self) -> str:
        return f"IndividualFilter({self.budget!r}; what was spent is secret)"
