"""Privacy targets of calibration, each as a number that may not be exceeded."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypedDict

from deniable.errors import InvalidParameterError
from deniable.numbers.balls import ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, decimal_text, nonnegative_rational, positive_rational, probability
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.pld.accountant import SMALL_EPSILON

_SHARPER_TOLERANCE = 0.01  # relative, of the search for the best epsilon


class Target(TypedDict, total=False):
    """Privacy target of a calibrated loss, in one of three forms.

    Numbers are read as by `exact_rational`: epsilon, alone or with delta; advantage: the total variation between
    neighbours; or true_positive_rate at false_positive_rate: the power of the best attack.

    epsilon, alone or with delta; advantage: the total variation between neighbours; or true_positive_rate at
    false_positive_rate: the power of the best attack.
    """

    epsilon: Real
    delta: Real
    advantage: object
    true_positive_rate: object
    false_positive_rate: object


@dataclass(frozen=True)
class Goal:
    """Limit, and the cost that may not exceed it.

    Args:
        limit: the largest cost allowed.
        cost: function of a loss and a tolerance.
        proved: a second way to prove that a loss keeps the limit.
        size: factor of an absolute width near the limit.
        sharper: function that returns the goal whose cost is least for losses near the given one.
        infinite: the remedy if every loss that was tried has an infinite cost.
        quick: a goal that takes less work and is met by about the same losses.
    """

    limit: Fraction
    cost: Callable[[PrivacyLoss, float], Interval]
    proved: Callable[[PrivacyLoss], bool] = lambda loss: False
    size: float = 1.0
    sharper: "Callable[[PrivacyLoss], Goal] | None" = None
    infinite: str | None = None
    quick: "Goal | None" = None

    def excess(self, loss: PrivacyLoss, tolerance: float) -> float:
        """Return ln(cost / limit); <= 0 only if the limit is kept.

        NaN if the engine cannot compute the cost.
        """
        upper = self._upper(loss, tolerance)
        if not 0 < upper < math.inf:
            return -math.inf if upper == 0 else upper
        logarithm = math.log(Fraction(upper) / self.limit) if upper < 1e300 else math.inf
        if Fraction(upper) <= self.limit:
            return min(logarithm, 0.0)
        if logarithm < 1e-12 and self.proved(loss):  # 0.1 is not a float: the last digit is decided exactly
            return 0.0
        return max(logarithm, math.ulp(0.0))

    def _upper(self, loss: PrivacyLoss, tolerance: float) -> float:
        """Return the upper end of the cost, to the width that its size needs.

        Where a width cannot be reached a coarser one is tried, which shows at least whether the limit is kept by far.

        What cannot be reached is asked for more coarsely, which shows at least whether the limit is kept by far.
        """
        widths = [tolerance, *([tolerance * self.size] if self.size < 1 else []), 1e-3, self.size / 4]
        upper, reached = math.nan, math.inf
        for width in widths:
            if width >= reached:
                continue
            try:
                interval = self.cost(loss, min(max(width, 1e-12), 1.0))
            except InvalidParameterError:
                continue
            upper = interval.upper if math.isnan(upper) else min(interval.upper, upper)
            reached = width
            if interval.upper - interval.lower <= 2 * tolerance * interval.upper or 4 * upper <= self.limit:
                break
        return upper


def goal_of(target: Target) -> Goal:
    """Return the limit and the cost that a target means.

    Raises: InvalidParameterError if the target is incomplete, says two things, or can never or always be met.
    """
    given = {name for name, value in target.items() if value is not None}
    if given in ({"epsilon"}, {"epsilon", "delta"}):
        delta = probability("delta", target.get("delta") or 0)
        epsilon = nonnegative_rational("epsilon", target["epsilon"])
        if epsilon == 0:
            return _advantage(delta)
        return Goal(
            epsilon,
            lambda loss, width: loss.epsilon(delta, tolerance=width),
            lambda loss: loss.proves(epsilon, delta),
            min(float(epsilon) / SMALL_EPSILON, 1.0),
            infinite=f"no setting has a finite epsilon at delta = {decimal_text(delta)}, as Gaussian noise has none at "
            "delta = 0. Give a larger delta, such as delta=1e-6, or use bounded losses, such as LaplaceLoss.",
        )
    if given == {"advantage"}:
        return _advantage(probability("advantage", target["advantage"]))
    if given == {"true_positive_rate", "false_positive_rate"}:
        power = positive_rational("true_positive_rate", target["true_positive_rate"])
        size = probability("false_positive_rate", target["false_positive_rate"])
        if not 0 < size < power < 1:
            raise InvalidParameterError(
                "0 < false_positive_rate < true_positive_rate < 1 is needed, got "
                f"false_positive_rate={float(size):g}, true_positive_rate={float(power):g}"
            )
        return _power(power, size)
    raise InvalidParameterError(
        "a target is epsilon (with or without delta), advantage, or true_positive_rate with false_positive_rate; got "
        f"{', '.join(sorted(given)) or 'none of them'}"
    )


def _advantage(limit: Fraction) -> Goal:
    """Return the goal of an advantage of at most `limit`."""
    if limit == 0:
        raise InvalidParameterError("a target of 0 allows no release at all. Give an epsilon, delta or advantage > 0.")
    return Goal(limit, lambda loss, width: loss.delta(0, tolerance=width))


def _power(power: Fraction, size: Fraction) -> Goal:
    """Return the goal that tests with false positive rate `size` have at most `power`.

    It follows from one value of delta, at any epsilon: the first is best for Gaussian noise, the sharper one for the
    loss that it is searched with. That is one near the setting at which the advantage is that of Gaussian noise with
    this power.

    Any epsilon will do: the first is best for Gaussian noise, the sharper one for the loss that it is searched with.
    That is one near the setting at which the advantage is that of Gaussian noise with this power.
    """
    from scipy import optimize, special

    threshold = -float(special.ndtri(float(size)))
    mu = threshold + float(special.ndtri(float(power)))
    guess = mu * threshold - mu**2 / 2

    def at(epsilon: float) -> Goal | None:
        rounded = Fraction(f"{epsilon:.6g}")
        limit = largest_delta(power, size, rounded)
        return Goal(limit, lambda loss, width: loss.delta(abs(rounded), tolerance=width)) if limit > 0 else None

    first = at(guess)
    assert first is not None  # Gaussian noise with this mu has such a delta

    def sharper(loss: PrivacyLoss) -> Goal:
        def excess(epsilon: float) -> float:
            goal = at(epsilon)
            value = math.inf if goal is None else goal.excess(loss, _SHARPER_TOLERANCE)
            return value if math.isfinite(value) else 1e3

        options = {"bounds": (guess - 2 * mu, guess + 2 * mu), "method": "bounded", "options": {"xatol": 0.02 * mu}}
        best = min(guess, float(optimize.minimize_scalar(excess, **options).x), key=excess)
        return at(best) or first

    return replace(first, sharper=sharper, quick=_advantage(Fraction(2 * float(special.ndtr(mu / 2)) - 1)))


def largest_delta(power: Fraction, size: Fraction, epsilon: Fraction) -> Fraction:
    """Return a delta that proves a true positive rate <= `power` for every test.

    The test has a false positive rate of `size`; <= 0 if no delta proves it.

    Guarantee: a loss with delta(abs(epsilon)) <= this delta has P(S) <= power where Q(S) <= size. From P(S) <= delta +
        e^epsilon Q(S); and for epsilon < 0, from Q(not S) <= delta + e^-epsilon P(not S).
    """
    grown = Fraction(certified(lambda: ball(abs(epsilon)).exp(), within=Interval(1.0, math.inf)).upper)
    return power - grown * size if epsilon >= 0 else 1 - size - (1 - power) * grown
