"""Numbers that users type, read as exact rationals."""

import json
import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational
from typing import SupportsFloat, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError

Real: TypeAlias = SupportsFloat | str
"""What a person writes for one number: 1, 0.1, "1/10", Fraction(1, 10), Decimal("0.1"), a scalar of numpy."""

Reals: TypeAlias = Sequence[SupportsFloat] | list[str] | NDArray[np.floating] | NDArray[np.integer]
"""Several of them."""

_SMALLEST_PROBABILITY = Fraction(1, 10**300)
_LARGEST = Fraction(math.nextafter(math.inf, 0.0))
_MOST_DIGITS = 1000  # of a Decimal: "1e999999999" would be written out
_TEXT = re.compile(r"[+-]?(\d{1,400}(/\d{1,400}|\.\d{0,400})?|\.\d{1,400})([eE][+-]?\d{1,3})?", re.ASCII)


class ReadableFraction(Fraction):
    """Fraction that prints as a person types it: 1.1, or '1/3'.

    The decimal is shown where a float stands for the number, otherwise the quotient.

    It is equal to the plain Fraction, hashes and pickles like it, and arithmetic with it gives plain Fractions. Its
    repr, read by `exact_rational`, is the number again. What is stored takes `quotient_text`.

    >>> readable(Fraction(11, 10)), readable(Fraction(10)), readable(Fraction(1, 3))
    (1.1, 10, '1/3')
    """

    __slots__ = ()

    def __str__(self) -> str:
        return _float_text(self) or quotient_text(self)

    def __repr__(self) -> str:
        return _float_text(self) or repr(quotient_text(self))


def readable(number: Fraction) -> ReadableFraction:
    """Return the same number in the class that prints as people type it."""
    if type(number) is ReadableFraction:
        return number
    same = object.__new__(ReadableFraction)  # a third of the time of Fraction(number), which every charge would take
    same._numerator, same._denominator = number._numerator, number._denominator  # type: ignore[attr-defined]
    return same


def quotient_text(number: Fraction) -> str:
    """Return the number as stored texts write it: "11/10", or "10" for an integer."""
    return str(number.numerator) if number.denominator == 1 else f"{number.numerator}/{number.denominator}"


def _float_text(number: Fraction) -> str:
    """Return the shortest text of a float that stands for `number`, or nothing."""
    if number.denominator == 1:
        return str(number.numerator)
    try:
        text = repr(number.numerator / number.denominator)
    except OverflowError:
        return ""
    return text if Fraction(text) == number else ""


def exact_rational(name: str, value: object) -> Fraction:
    """Return the exact rational that a person means by `value`.

    An int, Fraction or Decimal is taken as it is. A float stands for its shortest decimal text, so 0.1 is 1/10 and not
    the binary number beside it. Text is a decimal ("0.1", "1e-6") or a quotient of integers ("1/3").

    Args:
        name: the parameter's name, for the message.
        value: int, Fraction, Decimal, float or text; numpy scalars of these kinds too. A bool is refused.

    Raises: InvalidParameterError for NaN, infinity, a bool, or anything that is not a number.
    """
    if type(value) is ReadableFraction:
        return value
    if isinstance(value, Fraction):
        return readable(value)
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()  # a numpy scalar
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        raise InvalidParameterError(f"{name} must be a number, got {shown(value)}. Write it as 0.1, '1/10' or 1e-6.")
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        raise InvalidParameterError(f"{name} must be a finite number, got {shown(value)}")
    if isinstance(value, Decimal) and abs(value.adjusted()) > _MOST_DIGITS:
        raise InvalidParameterError(f"{name} must be 0 or from 1e-1000 to 1e1000 in size, got {shown(value)}")
    if isinstance(value, float):
        value = repr(value)
    if isinstance(value, str):
        text = value.strip()
        if not _TEXT.fullmatch(text) or ("/" in text and ("e" in text.lower() or not int(text.partition("/")[2]))):
            raise InvalidParameterError(f"{name} must be a number, got {shown(value)}. Write it as 0.1, 1/10 or 1e-6.")
        value = text
    return ReadableFraction(value)


def strict_rational(name: str, value: object, *, lower: Fraction, upper: Fraction) -> Fraction:
    """Return an int or a Fraction of [lower, upper] as a Fraction; floats are refused.

    Samplers read their parameters by it, for they round nothing.

    Raises: InvalidParameterError if it is not an exact rational (a float is not), or outside.
    """
    if isinstance(value, bool) or not isinstance(value, Rational):
        raise InvalidParameterError(
            f"{name} must be an int or a Fraction, got {value!r}. "
            "Noise is drawn from exactly the law that was accounted for: round to a rational first, on the safe side."
        )
    exact = ReadableFraction(int(value.numerator), int(value.denominator))
    if not lower <= exact <= upper:
        raise InvalidParameterError(f"{name} must be in [{_short(lower)}, {_short(upper)}], got {_short(exact)}")
    return exact


def positive_rational(name: str, value: object) -> Fraction:
    """Return the exact rational that a person means, refused unless above 0."""
    number = exact_rational(name, value)
    if number <= 0:
        raise InvalidParameterError(f"{name} must be > 0, got {shown(value)}")
    return within_floats(name, number)


def nonnegative_rational(name: str, value: object) -> Fraction:
    """Return the exact rational that a person means, refused below 0."""
    number = exact_rational(name, value)
    if number.numerator < 0:
        raise InvalidParameterError(f"{name} must be >= 0, got {shown(value)}")
    return within_floats(name, number)


def within_floats(name: str, number: Fraction) -> Fraction:
    """Return the number, refused if it is above the largest float."""
    if number.numerator.bit_length() - number.denominator.bit_length() < 1023:  # it is below 2**1023
        return number
    if number > _LARGEST:
        raise InvalidParameterError(f"{name} must be at most 1.79e308, got {shown(number)}")
    return number


def probability(name: str, value: object) -> Fraction:
    """Return the exact rational that a person means, refused outside [0, 1).

    Above 0 it must be large enough for floats to tell it from 0.
    """
    number = exact_rational(name, value)
    if not 0 <= number < 1:
        raise InvalidParameterError(f"{name} must be in [0, 1), got {shown(value)}")
    if 0 < number < _SMALLEST_PROBABILITY:
        raise InvalidParameterError(f"{name} must be 0 or at least 1e-300, got {shown(value)}")
    return number


def positive_integer(name: str, value: object) -> int:
    """Return an int of at least 1; floats and bools are refused."""
    return whole_number(name, value, lower=1)


def whole_number(name: str, value: object, *, lower: int | None = None, upper: int | None = None) -> int:
    """Return an int within bounds, ends included; floats and bools are refused."""
    if hasattr(value, "dtype") and hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidParameterError(f"{name} must be a whole number, got {shown(value)}")
    if lower is not None and value < lower:
        raise InvalidParameterError(f"{name} must be >= {_power(lower)}, got {shown(value)}")
    if upper is not None and value > upper:
        raise InvalidParameterError(f"{name} must be <= {_power(upper)}, got {shown(value)}")
    return value


def checked_bounds(lower: object, upper: object, *, largest: int) -> tuple[int, int]:
    """Return public bounds in order, whole numbers of at most `largest` in size."""
    low = whole_number("lower", lower, lower=-largest, upper=largest)
    high = whole_number("upper", upper, lower=-largest, upper=largest)
    if low >= high:
        raise InvalidParameterError(f"lower must be below upper, got lower={low}, upper={high}")
    return low, high


def yes_or_no(name: str, value: object) -> bool:
    """Return a bool; 0 and 1 are refused."""
    if not isinstance(value, bool):
        raise InvalidParameterError(f"{name} must be True or False, got {shown(value)}")
    return value


def exact_root(square: Fraction) -> Fraction | None:
    """Return the square root of a number >= 0 where it is rational."""
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return root if root**2 == square else None


def root_above(square: Fraction, digits: int) -> Fraction:
    """Return a multiple of 10^-digits above the square root of a number >= 0.

    It exceeds the root by at most one such step.
    """
    return Fraction(math.isqrt(math.floor(square * 100**digits)) + 1, 10**digits)


def decimal_above(number: Fraction, digits: int) -> Fraction:
    """Return the smallest decimal with that many digits that is at least `number`."""
    return _decimal(number, digits, ROUND_CEILING)


def decimal_below(number: Fraction, digits: int) -> Fraction:
    """Return the largest decimal with that many digits that is at most `number`."""
    return _decimal(number, digits, ROUND_FLOOR)


def read_json(text: str, what: str) -> object:
    """Return the data in a JSON text, refused with the kind of text that was expected."""
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise InvalidParameterError(f"{what} must be JSON text as written by to_json()") from None


def decimal_text(number: Fraction, digits: int = 6) -> str:
    """Return `number` for display: exact if short ("0.1"), else rounded ("~0.3")."""
    if number.denominator == 1 and abs(number) < 10**digits:
        return str(number.numerator)
    short = f"{float(number):.{digits}g}"
    return short if Fraction(short) == number else f"~{short}"


def _decimal(number: Fraction, digits: int, direction: str) -> Fraction:
    context = Context(prec=digits, rounding=direction)
    return ReadableFraction(context.divide(Decimal(number.numerator), Decimal(number.denominator)))


def shown(value: object) -> str:
    """Return a short text for messages: a value that was typed may be a page long."""
    try:
        text = str(value) if isinstance(value, Fraction) else repr(value)
    except ValueError:  # an int of more digits than Python writes
        return f"{type(value).__name__} too long to show"
    text = " ".join(text.split()) if "\n" in text else text  # a frame or an array is written over lines
    return text if len(text) <= 60 else f"{text[:57]}..."


def _power(bound: int) -> str:
    """Return a bound as people write it: large ones as a power of two, if they are."""
    size = abs(bound)
    if size < 2**20 or size & (size - 1):
        return str(bound)
    return f"{'-' if bound < 0 else ''}2^{size.bit_length() - 1}"


def _short(value: Fraction) -> str:
    """Return a rational that a reader can take in.

    A power of two, itself, or its leading digits.
    """
    top, bottom = value.numerator, value.denominator
    if top > 0 and top & (top - 1) == 0 and bottom & (bottom - 1) == 0 and top * bottom >= 1 << 14:
        return f"2^{top.bit_length() - bottom.bit_length()}"
    text = str(value)
    if len(text) <= 24:
        return text
    digits = (abs(top).bit_length() - bottom.bit_length()) * math.log10(2)
    return f"about {'-' if top < 0 else ''}1e{digits:.0f}"
