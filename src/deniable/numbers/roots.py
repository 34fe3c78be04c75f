"""Certified inverses of monotone functions.

Where a curve crosses a target, from both sides.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import decimal_below

Curve = Callable[[Fraction], Interval]

_CLOSE = 2.0**-42  # relative width at which the inverse stops
_MOST_STEPS = 400
_MIN_ROOT, _MAX_ROOT = 1e-250, 1e300
_ORDINARY = 1e4  # up to here steps are small: far beyond the answer a curve may be slow to evaluate
_DIGITS = 12  # significant decimal digits of a parameter that is searched for


def inverse(curve: Curve, target: Fraction, *, limit: Fraction | None, unreachable: bool = False) -> Interval:
    """Bound the smallest epsilon >= 0 with curve(epsilon) <= target from both sides.

    Guarantee: curve(upper).upper <= target, or upper = limit, or upper = inf; curve(lower).lower > target, or lower =
        0. Both follow from the curve alone, so the search need not be trusted.

    Args:
        curve: non-increasing; every value holds the truth.
        target: in [0, 1).
        limit: an epsilon at which the truth is known to be at most the target; None when there is none.
        unreachable: the curve's upper end is known to stay above the target.
    """
    if target == 0 and limit is None:
        return Interval(math.inf, math.inf)
    top = math.inf if limit is None else Interval.around(limit).upper
    upper = top if unreachable else _crossing(lambda epsilon: curve(epsilon).upper, target, top)[1]
    lower = _crossing(lambda epsilon: curve(epsilon).lower, target, top, guess=upper)[0]
    return Interval(min(lower, upper), upper)


def largest(private: Callable[[Fraction], bool]) -> Fraction:
    """Return a decimal of 12 digits up to which `private` holds, and beyond which not.

    Args:
        private: holds for every number below one for which it holds.

    Raises: InvalidParameterError if it holds for no number that a float can show.
    """
    below = 1.0
    while not private(Fraction(below)):
        below /= 16
        if below < _MIN_ROOT:
            raise InvalidParameterError("epsilon and delta are out of the reach of floats. Take numbers nearer to 1.")
    above = 4 * below
    while private(Fraction(above)):
        below, above = above, 4 * above
    while above - below > 1e-13 * above:
        middle = (below + above) / 2
        if not below < middle < above:
            break
        if private(Fraction(middle)):
            below = middle
        else:
            above = middle
    number = decimal_below(Fraction(below), _DIGITS)
    while not private(number):
        number = decimal_below(number * (1 - Fraction(1, 10**_DIGITS)), _DIGITS)
    return number


def _crossing(
    end: Callable[[Fraction], float], target: Fraction, top: float, *, guess: float = 1.0
) -> tuple[float, float]:
    """Return close (below, above) with end(below) > target >= end(above).

    below = 0 or above = top may be unchecked.

    The trial points come from false position on log delta, moved by a hundredth of the bracket to either side in turn,
    so that both ends close in.
    """
    goal = float(target) if target else 0.0

    def excess(epsilon: float) -> float:
        value = end(Fraction(epsilon))
        if Fraction(value) <= target:
            return min(_log(value) - _log(goal), 0.0) if goal else -1.0
        return max(_log(value) - _log(goal), 5e-324) if goal else 1.0

    below = 0.0
    high = excess(0.0)
    if high <= 0:
        return 0.0, 0.0
    above = min(guess if 0 < guess < math.inf else 1.0, top)
    low = excess(above)
    factor = 4.0
    while low > 0:
        if above >= min(top, _MAX_ROOT):
            return (above if above < top else below), top
        below, high = above, low
        next_above = min(above * factor, top, _MAX_ROOT)
        factor = factor if above < _ORDINARY else 4 * factor
        above = next_above
        low = excess(above)
    close_below = above * (1 - 2 * _CLOSE)
    if above == guess and below < close_below and (value := excess(close_below)) > 0:
        below, high = close_below, value
    for step in range(_MOST_STEPS):
        width = above - below
        if width <= _CLOSE * above:
            break
        share = high / (high - low) if math.isfinite(high - low) else 0.5
        shift = 0.01 if step % 2 else -0.01
        share = 0.5 if step % 4 == 3 or not goal else min(max(share + shift, 0.005), 0.995)
        trial = below + share * width
        if not below < trial < above:
            break
        value = excess(trial)
        if value > 0:
            below, high = trial, value
        else:
            above, low = trial, value
    return below, above


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -800.0
