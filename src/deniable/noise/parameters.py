"""Checks of what callers pass to the samplers: exact rationals, sizes, levels."""

import math
from fractions import Fraction
from numbers import Rational
from operator import index

from deniable.errors import InvalidParameterError

Size = int | tuple[int, ...] | None


def rational(name: str, value: object, *, lower: Fraction, upper: Fraction) -> Fraction:
    """`value` as a Fraction of [lower, upper].

    Raises: InvalidParameterError if it is no exact rational (a float is not), or outside.
    """
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise InvalidParameterError(
            f"{name} must be an int or a Fraction, got {value!r}. "
            "Noise is drawn from exactly the law that was accounted for: round to a rational first, on the safe side."
        )
    exact = Fraction(int(value.numerator), int(value.denominator))
    if not lower <= exact <= upper:
        raise InvalidParameterError(f"{name} must be in [{_short(lower)}, {_short(upper)}], got {_short(exact)}")
    return exact


def shape(size: Size) -> tuple[int, ...]:
    """The shape of the result; () for None.

    Raises: InvalidParameterError if size holds anything but integers >= 0.
    """
    if size is None:
        return ()
    try:
        dimensions = tuple(index(n) for n in size) if isinstance(size, tuple) else (index(size),)
    except TypeError:
        raise InvalidParameterError(f"size must be an int, a tuple of ints or None, got {size!r}") from None
    if isinstance(size, bool) or any(n < 0 for n in dimensions):
        raise InvalidParameterError(f"size must hold integers >= 0, got {size!r}")
    return dimensions


def probability_level(level: object) -> Fraction:
    """A confidence level as an exact number of [0, 1).

    Raises: InvalidParameterError if it is no real number of [0, 1).
    """
    if isinstance(level, bool) or not isinstance(level, int | float | Fraction) or not 0 <= level < 1:
        raise InvalidParameterError(f"level must be a number in [0, 1), got {level!r}")
    return Fraction(level)


def _short(value: Fraction) -> str:
    """A rational that a reader can take in: a power of two, itself, or its leading digits."""
    top, bottom = value.numerator, value.denominator
    if top > 0 and top & (top - 1) == 0 and bottom & (bottom - 1) == 0 and top * bottom >= 1 << 14:
        return f"2^{top.bit_length() - bottom.bit_length()}"
    text = str(value)
    if len(text) <= 24:
        return text
    digits = (abs(top).bit_length() - bottom.bit_length()) * math.log10(2)
    return f"about {'-' if top < 0 else ''}1e{digits:.0f}"
