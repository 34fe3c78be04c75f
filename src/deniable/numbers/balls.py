"""Certified ball arithmetic: rationals as balls of python-flint, and the floats around a formula."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.numbers.interval import PROBABILITIES, Interval

if TYPE_CHECKING:
    from flint import arb

_PRECISIONS = (96, 192, 384, 768, 1536, 6144)  # bits; the next is taken when cancellation ate the last
_ENOUGH = 56  # bits of relative accuracy: one float rounding is then all that is left


def ball(number: Fraction) -> "arb":
    """The ball around a rational at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def certified(formula: Callable[[], "arb"], *, within: Interval = PROBABILITIES) -> Interval:
    """The floats around a formula in ball arithmetic, evaluated again with more bits until it is sharp.

    Args:
        formula: evaluates at the working precision of python-flint; any precision gives a valid ball.
        within: where the value is known to lie.
    """
    from flint import ctx

    result = within
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            value = formula()
            found = Interval.of_ball(value, within=within)
            result = Interval(max(result.lower, found.lower), min(result.upper, found.upper))
            if value.rel_accuracy_bits() >= _ENOUGH or result.upper <= 2 * math.ulp(0.0):
                break
    return result
