"""Trade-off between error rates of the best attack, and numbers derived from it.

An attacker decides from the release whether one unit was in the data. Everything here bounds the best such attacker,
with all other rows known to them.

An attacker decides from the release whether one unit was in the data. Everything here bounds the best such attacker,
with all other rows known to them.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import INFINITE, NONNEGATIVE, Interval, round_down, round_up
from deniable.numbers.rationals import Real, exact_rational, nonnegative_rational, probability
from deniable.privacy.notions.tradeoff_curve import Rates, TradeOffCurve
from deniable.privacy.pld.accountant import CURVE_TOLERANCE, checked_tolerance
from deniable.privacy.reports.plot import draw_tradeoff
from deniable.privacy.statement import Stated, Statement, statement_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_UNIT = 2.0**-53  # largest relative error of one rounding
_SEARCH_ROUNDS = 9  # of a search on the curve
_SEARCH_SECTIONS = 17  # rates in each round of a search
_MAX_LOSS = 600  # which floats can exponentiate
_MIN_RATE = 1e-12  # at which curves are compared
_HOPELESS_RATE = 1e-4  # least rate of a lower bound on mu, where the upper one is infinite
_MU_POINTS = 20  # rates at which a mu is searched
_MU_ROUNDS = 2  # of that search


class TradeOff:
    """Certified bounds on the best attack on a loss: error rates, risks and beliefs.

    Args:
        loss: the loss, or its statement; usually made by `loss.tradeoff()`.
        tolerance: relative width of the true positive rate.

    Guarantee: the error rates are those of the largest symmetric f for which the loss is f-DP (`TradeOffCurve`).
    Error: the true positive rate is known to a relative width of about `tolerance`, where delta is.
    Source: Dong, Roth, Su (2019), arXiv:1905.02383; proofs in docs/theory/privacy/notions.md.

    >>> from deniable.privacy import GaussianLoss
    >>> curve = GaussianLoss(noise_multiplier=1).tradeoff()
    >>> print(f"{curve.true_positive_rate(0.01):.3f}")
    [0.092, 0.093]
    """

    def __init__(self, loss: Stated, *, tolerance: float = CURVE_TOLERANCE) -> None:
        self.loss = statement_of("loss", loss)
        self.tolerance = checked_tolerance(tolerance)
        self._curve = TradeOffCurve(self.loss, self.tolerance)

    def __repr__(self) -> str:
        return f"TradeOff({self.loss!r}, tolerance={self.tolerance:g})"

    # --- error rates ---------------------------------------------------------------------------------------------

    def false_negative_rates(self, false_positive_rates: ArrayLike) -> Rates:
        """Return bounds on the least false negative rate at each false positive rate.

        Args:
            false_positive_rates: numbers in [0, 1], of any shape.
        """
        return self._curve.misses(_checked_rates(false_positive_rates))

    def true_positive_rates(self, false_positive_rates: ArrayLike) -> Rates:
        """Return bounds on the largest true positive rate at each false positive rate.

        They are sharp also where it is tiny.

        Args:
            false_positive_rates: numbers in [0, 1], of any shape.
        """
        return self._curve.hits(_checked_rates(false_positive_rates))

    def false_negative_rate(self, false_positive_rate: float) -> Interval:
        """Return the least false negative rate of a test with this false positive rate."""
        return _only(self.false_negative_rates([false_positive_rate]))

    def true_positive_rate(self, false_positive_rate: float) -> Interval:
        """Return the largest true positive rate of a test with this false positive rate."""
        return _only(self.true_positive_rates([false_positive_rate]))

    def false_positive_rate(self, false_negative_rate: float) -> Interval:
        """Return the least false positive rate of a test with this false negative rate.

        This is the inverse of the curve.

        Guarantee: f is symmetric, so it is its own inverse.
        """
        return self.false_negative_rate(false_negative_rate)

    def conjugate(self, slope: Real) -> Interval:
        """Return the convex conjugate f*(y) = max over a of (y a - f(a)), at y < 0.

        Guarantee: f*(-e^epsilon) = delta(epsilon) - 1 for epsilon >= 0, and f*(y) = -y f*(1/y) by symmetry.
        Source: Dong, Roth, Su (2019), arXiv:1905.02383, Proposition 2.12.
        """
        steep = -exact_rational("slope", slope)
        if steep <= 0:
            raise InvalidParameterError(f"slope must be < 0, got {slope!r}")
        rate = max(steep, 1 / steep)
        delta = delta_between(self.loss, lambda: ball(rate).log())
        ends = [min(steep, Fraction(1)) * (Fraction(end) - 1) for end in (delta.lower, delta.upper)]
        return Interval(round_down(ends[0]), round_up(ends[1]))

    def dominates(self, other: "TradeOff", *, least_rate: Real = "1e-6") -> bool:
        """Return whether attacks on this loss err at most as often as on `other`.

        That is compared at every rate. Then `other` is the more private: it has the smaller delta at every epsilon up
        to the one that `least_rate` reaches. Curves that touch cannot be told apart by certified numbers.

        Then `other` is the more private: it has the smaller delta at every epsilon up to the one that `least_rate`
        reaches. Curves that touch cannot be told apart by certified numbers.

        Args:
            least_rate: error rates below it are not compared.

        Guarantee: a convex curve is below a convex polygon when it is below its corners.
        Raises: InvalidParameterError where the curves are nearer to each other than they are known.
        """
        min_rate = probability("least_rate", least_rate)
        rates: Floats = np.geomspace(max(float(min_rate), _MIN_RATE), 0.5, _MU_POINTS)
        mine = self.false_negative_rates(rates)
        theirs = other.false_negative_rates(rates)
        if np.any(mine.lower > theirs.upper):
            return False
        corners = other._curve.corners_below(rates, min_rate)
        reached = self.false_negative_rates([float(a) for a, _ in corners]).upper
        if all(Fraction(float(above)) <= b for above, (_, b) in zip(reached, corners, strict=True)):
            return True
        raise InvalidParameterError(
            f"neither curve is proved to be below the other at tolerance={self.tolerance:g}: they touch or cross "
            "within what is known. Ask for a smaller tolerance."
        )

    # --- single numbers ------------------------------------------------------------------------------------------

    def advantage(self) -> Interval:
        """Return the largest true positive rate less the false positive rate of a test.

        It is the total variation distance, delta(0).
        """
        return self.loss.delta_at(Fraction(0))

    def minimax_error(self) -> Interval:
        """Return the least value of the larger error rate of a test: the two-point bound.

        Of two data sets that differ by k units, `loss.group(k).tradeoff().minimax_error()` bounds every estimator that
        must tell them apart.

        Of two data sets that differ by k units, `loss.group(k).tradeoff().minimax_error()` bounds every estimator that
        must tell them apart.

        Guarantee: the rate c with f(c) = c, the greatest of (1 - delta(e)) / (1 + exp(e)) over e >= 0.
        Source: Le Cam (1973); Acharya, Sun, Zhang (2021), arXiv:2004.07839, for private tests.

        >>> from deniable.privacy import PureLoss
        >>> print(f"{PureLoss(epsilon=1).tradeoff().minimax_error():.4f}")     # 1 / (1 + e)
        [0.2689, 0.2690]
        """
        low, high = 0.0, 0.5
        for _ in range(_SEARCH_ROUNDS):
            rates: Floats = np.linspace(low, high, _SEARCH_SECTIONS)
            misses = self.false_negative_rates(rates)
            above, below = rates[misses.lower >= rates], rates[misses.upper <= rates]
            fresh = float(above.max(initial=low)), float(below.min(initial=high))
            if fresh == (low, high):
                break
            low, high = fresh
        return Interval(low, high)

    def loss_above(self, epsilon: Real) -> Interval:
        """Return the largest P(L > epsilon) over all post-processing of a release.

        It is the delta of probabilistic privacy. It stands beside delta(epsilon), which it is never below: outcomes
        whose loss exceeds epsilon have together at most this probability, also where they are merged with others.

        It stands beside delta(epsilon), which it is never below: outcomes whose loss exceeds epsilon have together at
        most this probability, also where they are merged with others.

        Guarantee: with h the share of hits, the h(a) for which h(a) = a e^epsilon; equal to the least of
            delta(e) / (1 - exp(e - epsilon)) over e < epsilon.
        Source: Meiser (2018); Kasiviswanathan, Smith (2014), arXiv:0803.3946; proof in
            docs/theory/privacy/notions.md.
        """
        number = nonnegative_rational("epsilon", epsilon)
        if self.loss.pure_epsilon is not None and number >= self.loss.pure_epsilon:
            return Interval(0.0, 0.0)
        if number > _MAX_LOSS:
            return Interval(round_down(self.loss.infinite_mass), self.loss.delta_at(Fraction(_MAX_LOSS - 1)).upper * 2)
        exp_epsilon = Interval.of_ball(ball(number).exp())
        # logarithms of the share of false alarms would be nearer to its scale
        low = 1e-280
        high = 1.0
        best = float(self.loss.infinite_mass)
        top = 1.0
        for _ in range(_SEARCH_ROUNDS):
            rates = np.exp(np.linspace(math.log(low), math.log(high), _SEARCH_SECTIONS))
            powers = self.true_positive_rates(np.minimum(rates, 1.0))
            meets = powers.lower > rates * exp_epsilon.upper * (1 + 4 * _UNIT)
            fails = powers.upper <= rates * exp_epsilon.lower * (1 - 4 * _UNIT)
            best = max(best, float(powers.lower[meets].max(initial=0.0)))
            top = min(top, float(powers.upper[fails].min(initial=1.0)))
            fresh = float(rates[meets].max(initial=low)), float(rates[fails].min(initial=high))
            if fresh == (low, high):
                break
            low, high = fresh
        return Interval(min(best, top), top)

    def bayes_risk(self, prior: Real) -> Interval:
        """Return the least probability of a wrong decision, given the prior of membership.

        Guarantee: p (1 - delta(ln((1 - p)/p))) with p the smaller of prior and 1 - prior.
        """
        share = _checked_prior(prior)
        share = min(share, 1 - share)
        delta = delta_between(self.loss, lambda: (ball(1 - share) / ball(share)).log())
        ends = [share * (1 - Fraction(end)) for end in (delta.upper, delta.lower)]
        return Interval(max(round_down(ends[0]), 0.0), min(round_up(ends[1]), 0.5))

    def precision(self, prior: Real, *, false_positive_rate: float) -> Interval:
        """Return the largest precision of a test, if units are members at rate `prior`.

        It is the share of true alarms among all alarms, and also the belief, after an alarm, of an attacker who
        believed `prior` before.

        It is also the belief, after an alarm, of an attacker who believed `prior` before.
        """
        share = _checked_prior(prior)
        hits = self.true_positive_rate(false_positive_rate)
        alarms = (1 - share) * Fraction(false_positive_rate)
        ends = [share * Fraction(hit) for hit in (hits.lower, hits.upper)]
        low, high = (hit / (hit + alarms) if hit + alarms else Fraction(1) for hit in ends)
        return Interval(round_down(low), round_up(high))

    def posterior(self, prior: Real, *, failure: Real = 0) -> Interval:
        """Return the belief that an attacker exceeds with probability at most `failure`.

        It is the least such bound, whatever is true.

        Guarantee: with l the quantile of the privacy loss, prior e^l / (prior e^l + 1 - prior); for failure 0 the loss
            is at most epsilon(0). P(L > l) lies between delta(l) and delta(e) / (1 - exp(e - l)) for every e < l.
        """
        share = _checked_prior(prior)
        allowed = probability("failure", failure)
        limit = _loss_quantile(self.loss, allowed)
        return Interval(_believed(share, limit.lower).lower, _believed(share, limit.upper).upper)

    def mu(self, *, least_rate: Real = 0) -> Interval:
        """Return the least mu for which the loss is mu-GDP at error rates >= `least_rate`.

        Infinite for least_rate 0 when the loss may be infinite, or unbounded and not that of real Gaussian noise; take
        the smallest rate that matters, and say it beside the result.

        Infinite for least_rate 0 when the loss may be infinite, or unbounded and not that of real Gaussian noise; take
        the smallest rate that matters, and say it beside the result.

        Guarantee: a convex curve is below a convex polygon when it is below its corners, so mu is the greatest of
            -Phi^-1(a) - Phi^-1(b) over the corners (a, b) of the bound on misses.
        Source: Dong, Roth, Su (2019), arXiv:1905.02383; Gomez et al. (2025), arXiv:2503.10945.
        """
        min_rate = probability("least_rate", least_rate)
        if min_rate == 0 and self.loss.infinite_mass > 0:
            return INFINITE
        exact = self._curve.mu_squared
        if exact is not None:
            return certified(lambda: ball(exact).sqrt(), within=NONNEGATIVE)
        hopeless = min_rate == 0 and self.loss.pure_epsilon is None
        reached = max(float(min_rate), _HOPELESS_RATE if hopeless else _MIN_RATE)
        rates: Floats = np.geomspace(reached, 0.5, _MU_POINTS)
        for _ in range(1 if hopeless else _MU_ROUNDS):
            edges = self._curve.corners_below(rates, min_rate)
            rates = np.clip([float(a) for a, _ in edges] or [0.5], reached, 0.5)
        upper = max((_mu_of(a, b).upper for a, b in edges), default=0.0)
        attained = zip(rates, self.false_negative_rates(rates).upper, strict=True)
        lower = max(_mu_of(Fraction(float(a)), Fraction(float(b))).lower for a, b in attained)
        return Interval(min(lower, upper), upper)

    def plot(self, *, points: int = 97, ax: "Axes | None" = None) -> "Axes":
        """Draw false negatives against false positives; needs the extra `plot`."""
        return draw_tradeoff(self, points=points, ax=ax)


def delta_between(loss: Statement, formula: Callable[[], Arb]) -> Interval:
    """Return delta of a loss at a certified epsilon >= 0."""
    at = certified(formula, within=NONNEGATIVE)
    return Interval(
        loss.delta_at(Fraction(at.upper)).lower if math.isfinite(at.upper) else 0.0,
        loss.delta_at(Fraction(at.lower)).upper,
    )


def _loss_quantile(loss: Statement, failure: Fraction) -> Interval:
    """Return bounds around the least l with P(L > l) <= failure."""
    epsilon = loss.epsilon_at(failure)
    if failure == 0:
        return epsilon
    ends = [loss.epsilon_at(failure / share).upper - math.log1p(-1 / share) + 1e-12 for share in (2, 10, 100)]
    return Interval(epsilon.lower, max(min(loss.epsilon_at(Fraction(0)).upper, *ends) * (1 + 4 * _UNIT), epsilon.lower))


def _mu_of(alarms: Fraction, misses_: Fraction) -> Interval:
    """Return the mu whose curve passes through a point: -Phi^-1(a) - Phi^-1(b).

    At least 0.
    """
    if alarms + misses_ >= 1:
        return Interval(0.0, 0.0)
    if alarms <= 0 or misses_ <= 0:
        return INFINITE

    def formula() -> Arb:
        from flint import arb

        return arb(2).sqrt() * ((1 - 2 * ball(alarms)).erfinv() + (1 - 2 * ball(misses_)).erfinv())

    return certified(formula, within=NONNEGATIVE)


def _believed(prior: Fraction, loss: float) -> Interval:
    """Return the posterior prior e^loss / (prior e^loss + 1 - prior)."""
    if math.isinf(loss):
        return Interval(1.0, 1.0)
    return certified(lambda: 1 / (1 + ball((1 - prior) / prior) * ball(Fraction(-loss)).exp()))


def _only(rates: Rates) -> Interval:
    return Interval(float(rates.lower[0]), float(rates.upper[0]))


def _checked_rates(values: ArrayLike) -> Floats:
    rates = np.asarray(values, dtype=np.float64)
    if rates.size == 0 or not np.all((rates >= 0) & (rates <= 1)):
        raise InvalidParameterError("false positive rates must be numbers in [0, 1], and at least one")
    return rates


def _checked_prior(prior: Real) -> Fraction:
    share = exact_rational("prior", prior)
    if not 0 < share < 1:
        raise InvalidParameterError(f"prior must be in (0, 1), got {prior!r}")
    return share
