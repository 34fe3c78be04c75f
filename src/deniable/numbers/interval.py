"""Reals with a direction: intervals that provably hold the truth."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, NoReturn

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, exact_rational

if TYPE_CHECKING:
    import numpy as np
    from flint import arb
    from numpy.typing import NDArray

    from deniable.numbers.rationals import Reals

_MEANT_DIGITS = 12  # a number that somebody wrote has no more
_LARGEST = math.nextafter(math.inf, 0.0)
_SPEC = re.compile(r"(.?[<^>])?(\d+)?(?:\.(\d{1,3}))?([efg%])?")


@dataclass(frozen=True)
class Interval:
    """A closed interval of real numbers that holds the true value, rounding included.

    Publish `upper` as the guarantee; `lower` says how tight it is. Ends are safe as binary numbers and as the shortest
    decimal text that they are read by: 0.3 stands for 3/10, which is above the binary number beside it. What is made
    from an exact value is compared with it both ways; a computed end is moved outward until its text is as safe as it
    is, unless the text has so few digits that it says what is meant. So a copy of an interval is that interval.

    Args:
        lower, upper: the ends, which the interval contains; they may be infinite.
        wide: whether the interval is wider than the tolerance that was asked for.

    >>> epsilon = Interval(2.38078, 2.38226)
    >>> f"{epsilon:.2f}"
    '[2.38, 2.39]'
    >>> epsilon < 2.4
    True
    """

    lower: float
    upper: float
    wide: bool = field(default=False, kw_only=True, compare=False, repr=False)  # than the tolerance that was wished for

    def __post_init__(self) -> None:
        if not self.lower <= self.upper:  # also catches NaN
            raise InvalidParameterError(f"an interval needs lower <= upper, got lower={self.lower}, upper={self.upper}")
        lower = -_printable_up(-float(self.lower)) + 0.0  # never -0.0
        upper = _printable_up(float(self.upper)) + 0.0
        read_fields(self, lower=lower, upper=upper)

    @classmethod
    def around(cls, value: Fraction) -> "Interval":
        """Return the narrowest interval of floats that holds an exact rational."""
        return cls(round_down(value), round_up(value))

    @classmethod
    def of_ball(cls, ball: "arb", *, within: "Interval | None" = None) -> "Interval":
        """Return the floats around a ball of python-flint.

        They are cut to `within` where the truth is known to lie there.
        """
        if ball.is_nan():
            if within is None:
                raise ArithmeticError("the ball holds no number")
            return within
        lower, upper = _float_down(ball.lower()), _float_up(ball.upper())
        if within is not None:
            lower, upper = max(lower, within.lower), min(upper, within.upper)
            lower, upper = min(lower, within.upper), max(upper, within.lower)
        return cls(lower, upper)

    @property
    def width(self) -> float:
        """upper - lower, rounded up; 0 for [inf, inf]."""
        return 0.0 if self.lower == self.upper else math.nextafter(self.upper - self.lower, math.inf)

    def marked(self, tolerance: float, min_size: float) -> "Interval":
        """Return this interval, marked as wide if it exceeds a relative width.

        The width is compared with `tolerance` times the upper end, or times `min_size` if that is larger.
        """
        wide = self.width > tolerance * max(self.upper, min_size)
        return replace(self, wide=True) if wide and not self.wide else self

    def narrowed(self, other: "Interval") -> "Interval":
        """Return what this interval and another one around the same number prove together."""
        upper = min(self.upper, other.upper)
        return Interval(min(max(self.lower, other.lower), upper), upper)

    def contains(self, value: float | Fraction) -> bool:
        """Whether `value` lies in the interval, ends included."""
        return self.lower <= value <= self.upper

    def __lt__(self, other: "Interval | Real") -> bool:
        """Whether the true value is below `other`, where that is decided.

        Raises: InvalidParameterError where the answer depends on where in the interval the truth lies.
        """
        return self._decided("<", self._upper < _lowest(other), self._lower >= _highest(other), other)

    def __le__(self, other: "Interval | Real") -> bool:
        return self._decided("<=", self._upper <= _lowest(other), self._lower > _highest(other), other)

    def __gt__(self, other: "Interval | Real") -> bool:
        return self._decided(">", self._lower > _highest(other), self._upper <= _lowest(other), other)

    def __ge__(self, other: "Interval | Real") -> bool:
        return self._decided(">=", self._lower >= _highest(other), self._upper < _lowest(other), other)

    def _decided(self, sign: str, yes: bool, no: bool, other: "Interval | Real") -> bool:
        if yes or no:
            return yes
        raise InvalidParameterError(
            f"{self!r} {sign} {other!r} is not decided: the truth may lie on either side. Compare `.upper`, which is "
            "proved, or ask for a smaller tolerance."
        )

    @property
    def _lower(self) -> Fraction | float:
        return _meant(self.lower)

    @property
    def _upper(self) -> Fraction | float:
        return _meant(self.upper)

    if not TYPE_CHECKING:  # for a type checker it has no float

        def __float__(self) -> NoReturn:
            raise TypeError(
                f"{self!r} is not one float: take `.upper`, which is what is guaranteed, or `.lower`, below which the "
                "truth does not lie"
            )

    def __str__(self) -> str:
        text = f"{self:.6g}"
        return f"{text} (all that is known: wider than it should be)" if self.wide else text

    def __format__(self, spec: str) -> str:
        """Return both ends, rounded outward to `.3f`, `.3e`, `.3g` or `.1%`.

        An alignment and a width may stand before the precision.
        """
        if not spec:
            return str(self)
        parts = _SPEC.fullmatch(spec)
        if parts is None:
            raise InvalidParameterError(f"an interval is formatted by .3f, .3e, .3g or .1%, got {spec!r}")
        digits = 6 if parts[3] is None else int(parts[3])
        kind = parts[4] or "g"
        low, high = _decimal(self.lower, digits, kind, ROUND_FLOOR), _decimal(self.upper, digits, kind, ROUND_CEILING)
        return format(low if low == high else f"[{low}, {high}]", f"{parts[1] or ''}{parts[2] or ''}")

    def _repr_html_(self) -> str:
        """Return the guarantee, and how far it may be from the truth, for notebooks."""
        low, high = _decimal(self.lower, 6, "g", ROUND_FLOOR), _decimal(self.upper, 6, "g", ROUND_CEILING)
        return high if low == high else f"{high} <small>(the truth is at least {low})</small>"


class Intervals(tuple[Interval, ...]):
    """Several intervals in order; `lower` and `upper` are their ends as arrays."""

    @property
    def lower(self) -> "NDArray[np.float64]":
        """The lower ends; shape (intervals,)."""
        return self._ends("lower")

    @property
    def upper(self) -> "NDArray[np.float64]":
        """The upper ends; shape (intervals,)."""
        return self._ends("upper")

    def _ends(self, name: str) -> "NDArray[np.float64]":
        import numpy as np

        return np.array([getattr(one, name) for one in self], dtype=np.float64)

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self)


def each(function: Callable[["Real"], Interval], value: "Real | Reals") -> Interval | Intervals:
    """Return the interval of one number, or those of a list of them."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return Intervals(function(one) for one in value)
    if getattr(value, "ndim", 0):
        return Intervals(function(one) for one in value)  # type: ignore[union-attr]
    return function(value)


def round_down(value: Fraction) -> float:
    """Return the largest float at most `value` whose shortest decimal text is so too."""
    return _quotient_down(value.numerator, value.denominator)


def _quotient_down(top: int, bottom: int) -> float:
    try:
        nearest = top / bottom
    except OverflowError:
        return _LARGEST if top > 0 else -math.inf
    while nearest > -math.inf:
        n, d = nearest.as_integer_ratio()
        if n * bottom <= top * d:
            n, d = Decimal(repr(nearest)).as_integer_ratio()
            if n * bottom <= top * d:
                break
        nearest = math.nextafter(nearest, -math.inf)
    return nearest


def round_up(value: Fraction) -> float:
    """Return the smallest float that is at least `value`."""
    return 0.0 - round_down(-value)  # never -0.0


@lru_cache(maxsize=2**14)  # ends are met again and again: of a ball, of what it is cut to, of their copies
def _printable_up(end: float) -> float:
    """Return the smallest float at or above `end` whose text is not below `end`.

    A text of few digits is taken as it is: it says what is meant.
    """
    while abs(end) < math.inf and end not in (0.0, 1.0):
        text = Decimal(repr(end))
        if text >= Decimal(end) or len(text.as_tuple().digits) <= _MEANT_DIGITS:
            break
        end = math.nextafter(end, math.inf)
    return end


def _float_down(point: "arb") -> float:
    """Return the largest float that is at most an exact ball (one of radius 0)."""
    if not point.is_finite():
        return float(point) if float(point) < 0 else _LARGEST
    mantissa, exponent = (int(part) for part in point.man_exp())
    bits = mantissa.bit_length() + exponent  # |point| < 2^bits
    if mantissa == 0:
        return 0.0
    if bits > 1024:
        return _LARGEST if mantissa > 0 else -math.inf
    if bits < -1074:
        return 0.0 if mantissa > 0 else -math.ulp(0.0)
    return _quotient_down(mantissa << max(exponent, 0), 1 << max(-exponent, 0))


def _float_up(point: "arb") -> float:
    return -_float_down(-point)


def _decimal(value: float, digits: int, kind: str, direction: str) -> str:
    """Return an end rounded in one direction, in a format of Python."""
    if not math.isfinite(value):
        return str(value)
    exact = Decimal(repr(value).removesuffix(".0")) * (100 if kind == "%" else 1)
    if kind in "f%":
        wide = Context(prec=400 + digits, rounding=direction)
        return f"{exact.quantize(Decimal(1).scaleb(-digits), context=wide):f}{'%' if kind == '%' else ''}"
    rounded = Context(prec=digits + 1 if kind == "e" else max(digits, 1), rounding=direction).create_decimal(exact)
    return f"{rounded:.{digits}e}" if kind == "e" else f"{rounded:g}"


def _meant(value: "Real") -> Fraction | float:
    """Return the number that a text or a float stands for; infinite ones as they are."""
    if isinstance(value, float) and math.isinf(value):
        return value
    return exact_rational("an interval's other side", value)


def _lowest(other: "Interval | Real") -> Fraction | float:
    return other._lower if isinstance(other, Interval) else _meant(other)


def _highest(other: "Interval | Real") -> Fraction | float:
    return other._upper if isinstance(other, Interval) else _meant(other)


PROBABILITIES = Interval(0.0, 1.0)
NONNEGATIVE = Interval(0.0, math.inf)
REAL = Interval(-math.inf, math.inf)
INFINITE = Interval(math.inf, math.inf)
