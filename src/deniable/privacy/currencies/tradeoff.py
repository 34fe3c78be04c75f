"""What an attacker can achieve: the trade-off between false alarms and misses, and what follows from it.

An attacker decides from the release whether one unit was in the data. Everything here bounds the best such attacker,
with all other rows known to them.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval, round_down, round_up
from deniable.numbers.rationals import exact_rational, probability
from deniable.privacy.currencies.tradeoff_curve import Rates, TradeOffCurve
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.accountant import CURVE_TOLERANCE, checked_tolerance

if TYPE_CHECKING:
    from flint import arb
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


_UNIT = 2.0**-53
_LEAST_RATE, _MU_RATE, _MU_POINTS, _MU_ROUNDS = 1e-12, 1e-4, 20, 2  # of the rates at which a mu is searched


class TradeOff:
    """Certified bounds on what the best attack on a loss achieves: error rates, and numbers that follow from them.

    Guarantee: the error rates are those of the largest symmetric f for which the loss is f-DP (`TradeOffCurve`).
    Error: the share of hits is known to a relative width of about `tolerance`, where delta is.
    Source: Dong, Roth, Su (2019), arXiv:1905.02383; proofs in docs/theory/privacy/currencies.md.
    """

    def __init__(self, loss: PrivacyLoss, *, tolerance: float = CURVE_TOLERANCE) -> None:
        self.loss, self.tolerance = loss, checked_tolerance(tolerance)
        self._curve = TradeOffCurve(loss, self.tolerance)

    def __repr__(self) -> str:
        return f"TradeOff({self.loss!r}, tolerance={self.tolerance:g})"

    # --- error rates ---------------------------------------------------------------------------------------------

    def false_negative_rates(self, false_positive_rates: ArrayLike) -> Rates:
        """Bounds on the least share of misses for each share of false alarms in [0, 1]."""
        return self._curve.misses(_checked_rates(false_positive_rates))

    def true_positive_rates(self, false_positive_rates: ArrayLike) -> Rates:
        """Bounds on the largest share of hits for each share of false alarms in [0, 1]; sharp also where it is tiny."""
        return self._curve.hits(_checked_rates(false_positive_rates))

    def false_negative_rate(self, false_positive_rate: float) -> Interval:
        """The least share of misses of a test with this share of false alarms."""
        return _only(self.false_negative_rates([false_positive_rate]))

    def true_positive_rate(self, false_positive_rate: float) -> Interval:
        """The largest share of hits of a test with this share of false alarms."""
        return _only(self.true_positive_rates([false_positive_rate]))

    # --- single numbers ------------------------------------------------------------------------------------------

    def advantage(self) -> Interval:
        """The largest difference between hits and false alarms: the total variation distance, delta(0)."""
        return self.loss.delta(0)

    def bayes_risk(self, prior: object) -> Interval:
        """The least probability of a wrong decision when the unit was in the data with probability `prior`.

        Guarantee: p (1 - delta(ln((1 - p)/p))) with p the smaller of prior and 1 - prior.
        """
        share = _checked_prior(prior)
        share = min(share, 1 - share)
        found = delta_between(self.loss, lambda: _log(ball(1 - share) / ball(share)))
        ends = [share * (1 - Fraction(end)) for end in (found.upper, found.lower)]
        return Interval(max(round_down(ends[0]), 0.0), min(round_up(ends[1]), 0.5))

    def precision(self, prior: object, *, false_positive_rate: float) -> Interval:
        """The largest share of right ones among the alarms of a test, when units are in the data with rate `prior`.

        It is also the belief, after an alarm, of an attacker who believed `prior` before.
        """
        share = _checked_prior(prior)
        hits = self.true_positive_rate(false_positive_rate)
        alarms = (1 - share) * Fraction(false_positive_rate)
        ends = [share * Fraction(hit) for hit in (hits.lower, hits.upper)]
        low, high = (hit / (hit + alarms) if hit + alarms else Fraction(1) for hit in ends)
        return Interval(round_down(low), round_up(high))

    def posterior(self, prior: object, *, failure: object = 0) -> Interval:
        """The least belief that the attacker's belief exceeds with probability at most `failure`, whatever is true.

        Guarantee: with l the quantile of the privacy loss, prior e^l / (prior e^l + 1 - prior); for failure 0 the loss
            is at most epsilon(0). P(L > l) lies between delta(l) and delta(e) / (1 - exp(e - l)) for every e < l.
        """
        share, allowed = _checked_prior(prior), probability("failure", failure)
        limit = _loss_quantile(self.loss, allowed)
        return Interval(_believed(share, limit.lower).lower, _believed(share, limit.upper).upper)

    def mu(self, *, least_rate: object = 0) -> Interval:
        """The least mu for which the loss is mu-GDP wherever both error rates are at least `least_rate`.

        Infinite for least_rate 0 when the loss may be infinite, or unbounded and not that of real Gaussian noise; take
        the smallest rate that matters, and say it beside the result.

        Guarantee: a convex curve is below a convex polygon when it is below its corners, so mu is the greatest of
            -Phi^-1(a) - Phi^-1(b) over the corners (a, b) of the bound on misses.
        Source: Dong, Roth, Su (2019), arXiv:1905.02383; Gomez et al. (2025), arXiv:2503.10945.
        """
        least = probability("least_rate", least_rate)
        if least == 0 and self.loss.infinite_mass > 0:
            return Interval(math.inf, math.inf)
        exact = self._curve.mu_squared
        if exact is not None:
            return certified(lambda: _root(ball(exact)), within=Interval(0.0, math.inf))
        hopeless = least == 0 and self.loss.pure_epsilon is None
        reached = max(float(least), _MU_RATE if hopeless else _LEAST_RATE)
        places: Floats = np.geomspace(reached, 0.5, _MU_POINTS)
        for _ in range(1 if hopeless else _MU_ROUNDS):
            edges = self._curve.corners_below(places, least)
            places = np.clip([float(a) for a, _ in edges] or [0.5], reached, 0.5)
        upper = max((_mu_of(a, b).upper for a, b in edges), default=0.0)
        attained = zip(places, self.false_negative_rates(places).upper, strict=True)
        lower = max(_mu_of(Fraction(float(a)), Fraction(float(b))).lower for a, b in attained)
        return Interval(min(lower, upper), upper)

    def plot(self, *, points: int = 97, ax: "Axes | None" = None) -> "Axes":
        """Draw misses against false alarms, both bounds; needs the extra `plot`."""
        from deniable.privacy.reports.plot import draw_tradeoff

        return draw_tradeoff(self, points=points, ax=ax)


def delta_between(loss: PrivacyLoss, formula: Callable[[], "arb"]) -> Interval:
    """delta of a loss at a certified epsilon >= 0."""
    at = certified(formula, within=Interval(0.0, math.inf))
    return Interval(
        loss.delta(Fraction(at.upper)).lower if math.isfinite(at.upper) else 0.0,
        loss.delta(Fraction(at.lower)).upper,
    )


def _log(value: "arb") -> "arb":
    return value.log()


def _root(value: "arb") -> "arb":
    return value.sqrt()


def _loss_quantile(loss: PrivacyLoss, failure: Fraction) -> Interval:
    """Around the least l with P(L > l) <= failure."""
    found = loss.epsilon(failure)
    if failure == 0:
        return found
    ends = [loss.epsilon(failure / share).upper - math.log1p(-1 / share) + 1e-12 for share in (2, 10, 100)]
    return Interval(found.lower, max(min(loss.epsilon(0).upper, *ends) * (1 + 4 * _UNIT), found.lower))


def _mu_of(alarms: Fraction, misses_: Fraction) -> Interval:
    """-Phi^-1(alarms) - Phi^-1(misses), at least 0: the mu whose curve passes through the point."""
    if alarms + misses_ >= 1:
        return Interval(0.0, 0.0)
    if alarms <= 0 or misses_ <= 0:
        return Interval(math.inf, math.inf)

    def formula() -> "arb":
        from flint import arb

        return arb(2).sqrt() * ((1 - 2 * ball(alarms)).erfinv() + (1 - 2 * ball(misses_)).erfinv())

    return certified(formula, within=Interval(0.0, math.inf))


def _believed(prior: Fraction, loss: float) -> Interval:
    """prior e^loss / (prior e^loss + 1 - prior)."""
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


def _checked_prior(prior: object) -> Fraction:
    share = exact_rational("prior", prior)
    if not 0 < share < 1:
        raise InvalidParameterError(f"prior must be in (0, 1), got {prior!r}")
    return share
