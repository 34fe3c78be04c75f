"""Privacy odometers: bounds on the loss so far that hold at every moment at once."""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from deniable.errors import BudgetExceededError, InvalidParameterError, UnprovedError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, positive_rational, probability
from deniable.privacy.budget.filter import proved_for
from deniable.privacy.budget.rules import divergence
from deniable.privacy.composition.compose import Composed
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.notions.conversion import checked_order
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE
from deniable.privacy.relation import Relation

_REAL_LINE = Interval(-1e300, 1e300)  # no restriction on certified numbers


class Odometer(ABC):
    """Running bound on the privacy loss; it never refuses, so no budget is needed.

    Base class of `ConcentratedOdometer` and `RenyiOdometer`. Call `add(loss)` before each mechanism; `epsilon(delta)`
    at any moment, for a delta that was fixed before the first answer (for several deltas at once, add them).

    Args:
        relation: the neighbouring relation that is protected; losses must be proved for it.

    Guarantee: let E_n be `epsilon(delta).upper` after n answers and P, Q the laws of the conversation for neighbouring
        data. Whatever the analyst does, with probability at least 1 - delta under P, ln(P/Q) of the first n answers is
        at most E_n for all n at once. So a conversation that is stopped anywhere is (E_n, delta)-DP in the sense that
        the integral of (P - exp(E_n) Q)_+ is at most delta. With failures only this last statement holds.
    Source: Rogers, Roth, Ullman, Vadhan (2016), arXiv:1605.08294, for the definition; Whitehouse, Ramdas, Rogers, Wu
        (2023), arXiv:2203.05481; proofs in docs/theory/privacy/budget.md, theorem 5.

    >>> from deniable.privacy import AddRemove, PureLoss
    >>> odometer: Odometer = RenyiOdometer(orders=[8], relation=AddRemove)
    >>> odometer.add(PureLoss("0.1"))
    >>> print(odometer.epsilon("1e-6").upper)
    0.1
    """

    def __init__(self, relation: Relation) -> None:
        self.relation = Relation.checked(relation)
        self._plain: Fraction | None = Fraction(0)  # the sum of epsilons, which costs no delta
        self._counted: Counter[PrivacyLoss] = Counter()

    def add(self, loss: PrivacyLoss) -> None:
        """Count one more mechanism; call it before the mechanism runs.

        Raises: UnprovedError if the loss has no proved cost here or is proved for another relation.
        """
        plain = self._count(proved_for(self.relation, loss))
        self._plain = None if plain is None or self._plain is None else self._plain + plain
        self._counted[loss] += 1

    def epsilon(self, delta: Real) -> Interval:
        """Return an upper bound on epsilon that holds at every moment at once.

        The lower end is 0; for a better one see `fixed_in_advance`.

        Args:
            delta: in [0, 1), the same at every call.
        """
        bound = math.inf if self._plain is None else Interval.around(self._plain).upper
        target = probability("delta", delta)
        return Interval(0.0, min(bound, self._bound(target)))

    def fixed_in_advance(self, delta: Real, *, tolerance: float = DEFAULT_TOLERANCE) -> Interval:
        """Return epsilon at `delta` of the losses so far, had they been fixed in advance.

        Args:
            delta: in [0, 1).
            tolerance: width of the answer, as in `PrivacyLoss.epsilon`.

        Guarantee: no odometer can read less than the lower end. The reading E_n depends on the losses alone, and one
            analyst asks for these n whatever the answers are; stopped there, the integral of (P - exp(E_n) Q)_+ must be
            at most delta, so E_n is at least the epsilon of the composition. The upper end is no reading: it holds for
            that analyst, and not for one who chooses when to stop or what to ask.
        """
        return PrivacyLoss(Composed(self._counted.items())).epsilon(delta, tolerance=tolerance)

    @abstractmethod
    def _count(self, loss: PrivacyLoss) -> Fraction | None:
        """Add the loss to the sums; return its epsilon, up to a failure that is counted.

        None when it has no epsilon.
        """

    @abstractmethod
    def _bound(self, delta: Fraction) -> float:
        """Return the bound on epsilon that the sums give at `delta`."""


class ConcentratedOdometer(Odometer):
    """Odometer for sums of rho, by a mixture of martingales over all orders.

    Args:
        sharpest_at: the sum of rho near which the bound is to be sharpest; a guess, which enters no guarantee.
        failure: the largest sum of failure probabilities, a part of delta; losses beyond it are refused.
        relation: the neighbouring relation that is protected.

    >>> from deniable.privacy import AddRemove, GaussianLoss
    >>> odometer = ConcentratedOdometer(sharpest_at="0.1", relation=AddRemove)
    >>> for _ in range(10):
    ...     odometer.add(GaussianLoss(10))
    >>> print(odometer.epsilon("1e-6"))
    [0, 1.80849]
    """

    def __init__(self, *, sharpest_at: Real, failure: Real = 0, relation: Relation) -> None:
        super().__init__(relation)
        self._peak = positive_rational("sharpest_at", sharpest_at)
        self._failure = probability("failure", failure)
        self._rho, self._failed = Fraction(0), Fraction(0)

    def _count(self, loss: PrivacyLoss) -> Fraction | None:
        """Add rho and failure to the sums; return the epsilon up to the failure."""
        charge = loss.charge()
        rho, failed = charge.failing_rho, charge.failure
        if rho is None:
            raise UnprovedError(
                f"{loss!r} has no proved rho. Use RenyiOdometer, or state a pair: loss.stated(epsilon=..., delta=...)."
            )
        if self._failed + failed > self._failure:
            raise BudgetExceededError(
                f"{loss!r} fails with probability {float(failed):.3g}, and failures may sum to {self._failure} in this "
                "odometer. Nothing was counted. Open it with a larger failure=."
            )
        self._rho = self._rho + rho
        self._failed = self._failed + failed
        return charge.failing_epsilon

    def epsilon(self, delta: Real) -> Interval:
        """Return an upper bound on epsilon at every moment; infinite below the failure."""
        target = probability("delta", delta)
        return super().epsilon(delta) if target >= self._failure else NONNEGATIVE

    def _bound(self, delta: Fraction) -> float:
        """Return rho + u sqrt(2 rho + g), where u solves the equation of the mixture.

        The equation: exp(u^2/2) 2 Phi(u) = sqrt((2 rho + g)/g) / rest.
        """
        rest = (delta - self._failure) / (1 - self._failure)
        if rest <= 0:
            return math.inf
        twice = 2 * math.log(1 / float(rest))
        precision = Fraction(2 * float(self._peak) / (twice + math.log1p(twice))) if twice > 0 else 2 * self._peak
        spread = 2 * self._rho + precision

        def excess(u: float) -> Arb:
            x = ball(Fraction(u))
            doubled = 1 + (x / ball(Fraction(2)).sqrt()).erf()
            return x**2 / 2 + doubled.log() - (ball(spread / precision).log() / 2 - ball(rest).log())

        u = _least_positive(excess)
        total = certified(lambda: ball(self._rho) + ball(Fraction(u)) * ball(spread).sqrt(), within=_REAL_LINE)
        return total.upper


class RenyiOdometer(Odometer):
    """Odometer for sums of Rényi divergences, by the mean of exponential martingales.

    Args:
        orders: Rényi orders above 1, at each of which divergences are added.
        relation: the neighbouring relation that is protected.

    >>> from deniable.privacy import AddRemove, GaussianLoss
    >>> odometer = RenyiOdometer(orders=[8, 16, 32], relation=AddRemove)
    >>> for _ in range(100):
    ...     odometer.add(GaussianLoss(1).poisson_sampled(rate="0.001"))
    >>> print(odometer.epsilon("1e-6"))
    [0, 2.13129]
    """

    def __init__(self, *, orders: Sequence[Real], relation: Relation) -> None:
        super().__init__(relation)
        self._sums = {order: Fraction(0) for order in sorted({checked_order(order) for order in orders})}
        if not self._sums:
            raise InvalidParameterError("orders must name at least one order above 1, got none")

    def _count(self, loss: PrivacyLoss) -> Fraction | None:
        """Add the divergences at all orders to the sums; return the pure epsilon."""
        known = {order: value for order in self._sums if (value := divergence(loss, order)) is not None}
        if len(known) < len(self._sums):
            raise UnprovedError(
                f"{loss!r} has no proved Rényi divergence at {'some' if known else 'any'} of these orders. Leave them "
                "out, use ConcentratedOdometer with failure=, or state a pair: loss.stated(epsilon=..., delta=...)."
            )
        self._sums = {order: spent + known[order] for order, spent in self._sums.items()}
        return loss.pure_epsilon

    def _bound(self, delta: Fraction) -> float:
        """Return the x at which the mean of exp((order - 1)(x - sum)) is 1 / delta."""
        if delta == 0:
            return math.inf

        def excess(x: float) -> Arb:
            terms = [(ball(order - 1) * ball(Fraction(x) - spent)).exp() for order, spent in self._sums.items()]
            return sum(terms[1:], terms[0]) / len(terms) - 1 / ball(delta)

        return _least_positive(excess)


def _least_positive(excess: Callable[[float], Arb]) -> float:
    """Return a number >= 0, near the least, where an increasing function is positive."""
    below, above = 0.0, 1.0
    while not _is_positive(excess, above):
        below = above
        above = 2 * above
        if above > 1e300:
            return math.inf
    while above - below > 1e-13 * above:
        middle = (below + above) / 2
        if _is_positive(excess, middle):
            above = middle
        else:
            below = middle
    return above


def _is_positive(excess: Callable[[float], Arb], x: float) -> bool:
    """Return whether a certified number is positive."""
    return certified(lambda: excess(x), within=_REAL_LINE).lower > 0
