"""Certified ball arithmetic.

Rationals as balls of python-flint, and the floats around a formula.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from deniable.numbers.interval import PROBABILITIES, Interval
from deniable.numbers.rationals import readable

if TYPE_CHECKING:
    from flint import arb

    Arb: TypeAlias = arb
else:
    Arb = object  # the type of balls in annotations; flint itself is loaded with the first ball

Key = TypeVar("Key", bound=Hashable)

_PRECISIONS = (96, 192, 384, 768, 1536, 6144)  # bits; the next is taken when cancellation ate the last
_ENOUGH = 56  # bits of relative accuracy: one float rounding is then all that is left


def ball(number: Fraction) -> Arb:
    """Return the ball around a rational at the working precision."""
    from flint import arb, fmpq

    return arb(fmpq(number.numerator, number.denominator))


def exp_of_minus(value: Fraction) -> Callable[[], Arb]:
    """Return enclosures of e^-value, each at the precision of the moment."""

    def enclosure() -> Arb:
        return (-ball(value)).exp()

    return enclosure


def certified_floor(value: Callable[[], Arb]) -> int:
    """Return the floor of the real number that `value` encloses.

    The precision grows until the floor is the same for the whole ball.
    """
    from flint import ctx

    precision = 128
    while True:
        with ctx.workprec(precision):
            floor = value().floor().unique_fmpz()
        if floor is not None:
            return int(floor)
        precision *= 2


def exp_below(exponent: Fraction, bits: int) -> Fraction:
    """Return the greatest multiple of 2^-bits that is at most e^exponent."""
    return Fraction(certified_floor(lambda: ball(exponent).exp() * 2**bits), 2**bits)


def certified(formula: Callable[[], Arb], *, within: Interval = PROBABILITIES) -> Interval:
    """Return the floats around a formula in ball arithmetic.

    The formula is evaluated again with more bits until the interval is sharp.

    Args:
        formula: evaluates at the working precision of python-flint; any precision gives a valid ball.
        within: where the value is known to lie.
    """
    from flint import ctx

    result = within
    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            value = formula()
            enclosure = Interval.of_ball(value, within=within)
            result = Interval(max(result.lower, enclosure.lower), min(result.upper, enclosure.upper))
            if value.rel_accuracy_bits() >= _ENOUGH or result.upper <= 2 * math.ulp(0.0):
                break
    return result


def certified_masses(formula: Callable[[], Mapping[Key, "Fraction | arb"]]) -> dict[Key, Fraction | Interval]:
    """Return the floats around every probability of a distribution.

    The formula is evaluated again with more bits until all intervals are sharp.

    Args:
        formula: the whole law at the working precision of python-flint; rationals stay as they are.
    """
    from flint import ctx

    for precision in _PRECISIONS:
        with ctx.workprec(precision):
            masses = formula()
            balls = {key: mass for key, mass in masses.items() if not isinstance(mass, Fraction)}
            intervals = {key: Interval.of_ball(mass, within=PROBABILITIES) for key, mass in balls.items()}
            if all(
                mass.rel_accuracy_bits() >= _ENOUGH or intervals[key].upper <= 2 * math.ulp(0.0)
                for key, mass in balls.items()
            ):
                break
    return {key: readable(mass) if isinstance(mass, Fraction) else intervals[key] for key, mass in masses.items()}
