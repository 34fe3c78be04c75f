"""Individual filters: each record is charged for what it alone may reveal."""

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.numbers.arrays import Floats
from deniable.numbers.interval import Interval, round_down
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.privacy.budget.budget import Budget
from deniable.privacy.relation import AddRemove, Relation

_SUM_ROUNDED_UP = 1 + 2.0**-51  # a rounded sum times it is at least the exact sum
_MIN_COST = 1e-300  # charged where a square would underflow to 0
_SQUARE_ROUNDED_UP = 1 + 2.0**-49  # exceeds the roundings of (norm / sigma)^2 times a number


class Active:
    """Mask of the records that take part in the next computation: SECRET.

    It depends on what the records hold. Use `exact`, of shape (records,), to select rows before the mechanism runs;
    never show it, count it or branch on it.

    `exact` is the mask. Use it to select rows before the mechanism runs; never show it, count it or branch on it.
    """

    __slots__ = ("exact",)

    def __init__(self, exact: NDArray[np.bool_]) -> None:
        exact.flags.writeable = False
        self.exact = exact

    def __repr__(self) -> str:
        return "Active(secret)"


class IndividualFilter:
    """Budgets of single records, which are private themselves and never printed.

    Before each mechanism, `charge` takes upper bounds on what every record may reveal *through this mechanism, given
    its own data*, and returns the mask of records that take part. A record whose budget would be exceeded is left out
    and charged nothing, so it may take part again in something smaller. A loss that is negative or NaN leaves its
    record out too. Sums are floats, rounded up: a budget that is to be used to its end needs a hair more than the sum.

    Mechanisms and parameters may be chosen from earlier answers. A loss may depend on the record's own data and on
    earlier answers, and on no other record.

    Args:
        budget: the budget of each record: `Budget(rho=...)`, `Budget(mu=...)` or `Budget(renyi=..., order=...)`.
        records: the number of records.
        relation: AddRemove, the only relation for which individual budgets are proved.

    Guarantee: for add/remove of one record, that of the budget. The number of mechanisms does not matter.
    Source: Feldman, Zrnic (2021), arXiv:2008.11193; Koskela, Tobaben, Honkela (2023), arXiv:2209.15596, for GDP; proof
        in docs/theory/privacy/budget.md, theorem 6.

    >>> from deniable.privacy import Budget
    >>> each = IndividualFilter(Budget(rho="0.5"), records=3)
    >>> active = each.charge_gaussian([1, 3, 10], sigma=10)  # clipped norms of three records
    >>> print(each.epsilon("1e-6"))
    [4.88655, 5.22154]
    """

    def __init__(self, budget: Budget, *, records: int, relation: Relation = AddRemove) -> None:
        if relation is not AddRemove:
            raise UnprovedError(
                f"individual budgets are proved for add/remove, got {relation}: under replace the two records of a "
                "pair have different budgets. Use AddRemove, or a filter for the worst record."
            )
        if not isinstance(budget, Budget) or budget.epsilon is not None or budget.failure is not None:
            raise InvalidParameterError(f"budget must be a Budget of rho, mu or renyi, without failure, got {budget!r}")
        self.budget = budget
        self._rule = budget.rule()
        ((currency, limit),) = self._rule.sums.items()
        half_order = float(np.nextafter(float((budget.order or Fraction(0)) / 2), np.inf))
        self._per_mu_squared = {"rho": 0.5, "mu_squared": 1.0, "renyi": half_order}[currency]
        self._limit = round_down(limit)
        self._spent = np.zeros(positive_integer("records", records))

    def charge(self, losses: ArrayLike) -> Active:
        """Charge every record for one mechanism; return the mask of those that take part.

        Args:
            losses: shape (records,), each at least what the record reveals in the currency of the budget; squares of mu
                where that is mu.
        """
        asked = self._read(losses)
        with np.errstate(over="ignore"):
            after = self._spent + asked
            after *= _SUM_ROUNDED_UP
        active: NDArray[np.bool_] = after <= self._limit
        np.copyto(self._spent, after, where=active & (asked > 0))
        active |= asked == 0  # what reveals nothing costs nothing
        return Active(active)

    def charge_gaussian(self, norms: ArrayLike, *, sigma: Real) -> Active:
        """Charge for Gaussian noise of standard deviation `sigma` on a sum of vectors.

        Args:
            norms: shape (records,), at least the l2 norm of what each record adds to the sum, in the unit of `sigma`.
            sigma: the standard deviation of the noise on every coordinate.

        Args:
            norms: shape (records,), at least the l2 norm of what each record adds to the sum, in the unit of `sigma`.
        """
        known_norms = self._read(norms)
        with np.errstate(over="ignore"):  # what overflows is infinite, and left out
            costs = (known_norms / round_down(positive_rational("sigma", sigma))) ** 2
            costs *= self._per_mu_squared * _SQUARE_ROUNDED_UP
        np.maximum(costs, _MIN_COST, out=costs, where=known_norms > 0)
        return self.charge(costs)

    @property
    def exact_spent(self) -> Floats:
        """Amounts that the records have spent, shape (records,): SECRET; a copy."""
        return self._spent.copy()

    def delta(self, epsilon: Real) -> Interval:
        """Return the delta for which everything is (epsilon, delta)-DP under add/remove."""
        return self._rule.delta(epsilon)

    def epsilon(self, delta: Real) -> Interval:
        """Return the epsilon for which everything is (epsilon, delta)-DP under add/remove."""
        return self._rule.epsilon(delta)

    def _read(self, losses: ArrayLike) -> Floats:
        """Return losses as floats, with invalid ones made infinite.

        Messages name no value: all of them are private.
        """
        try:
            given = np.asarray(losses, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidParameterError("losses must be an array of numbers, one for each record") from None
        if given.shape != self._spent.shape:
            raise InvalidParameterError("losses must hold exactly one number for each record")
        return np.where(given >= 0, given, np.inf)

    def __repr__(self) -> str:
        return f"IndividualFilter({self.budget!r}; what was spent is secret)"
