"""Arrays of intervals of real numbers: float64 with outward rounding.

Guarantee: if every operand holds its real number, so does every result. Only operations of IEEE 754 and the two
functions of `certified` are used. What is undefined somewhere in the interval becomes the whole line.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.numbers import certified
from deniable.numbers.arrays import Floats

_SMALLEST_NORMAL = 2.0**-1022
_SLACK = 2.0**-46  # relative, above the error of `certified` and of one rounding


class Enclosure:
    """Real numbers between `low` and `high`, elementwise."""

    def __init__(self, low: Floats, high: Floats) -> None:
        self.low = low
        self.high = high

    @classmethod
    def of(cls, number: Fraction | int) -> "Enclosure":
        """Return one rational, below 2^1000 in size."""
        nearest = float(number)
        exact = Fraction(nearest) == number
        ends = (nearest, nearest) if exact else (np.nextafter(nearest, -np.inf), np.nextafter(nearest, np.inf))
        return cls(np.asarray(ends[0], dtype=np.float64), np.asarray(ends[1], dtype=np.float64))

    @classmethod
    def of_words(cls, words: NDArray[np.uint64]) -> "Enclosure":
        """Return the uniform numbers that begin with these 64 bits.

        [word, word + 1] 2^-64.
        """
        nearest = words.astype(np.float64)
        low, high = np.nextafter(nearest, 0.0), np.nextafter(nearest + 1.0, np.inf)
        return cls(low * 2.0**-64, np.minimum(high * 2.0**-64, 1.0))

    def __neg__(self) -> "Enclosure":
        return Enclosure(-self.high, -self.low)

    def __add__(self, other: "Enclosure | int") -> "Enclosure":
        other = _box(other)
        with np.errstate(all="ignore"):
            return _outward(self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __sub__(self, other: "Enclosure | int") -> "Enclosure":
        return self + -_box(other)

    def __rsub__(self, other: int) -> "Enclosure":
        return -self + other

    def __mul__(self, other: "Enclosure | int") -> "Enclosure":
        other = _box(other)
        with np.errstate(all="ignore"):
            return _hull(self.low * other.low, self.low * other.high, self.high * other.low, self.high * other.high)

    def __truediv__(self, other: "Enclosure") -> "Enclosure":
        with np.errstate(all="ignore"):
            quotient = _hull(self.low / other.low, self.low / other.high, self.high / other.low, self.high / other.high)
        return quotient.unless((other.low <= 0) & (other.high >= 0))

    def sqrt(self) -> "Enclosure":
        """Return the root, where no part is negative."""
        with np.errstate(all="ignore"):
            return _outward(np.sqrt(self.low), np.sqrt(self.high)).unless(self.low < 0)

    def log(self) -> "Enclosure":
        """Return the natural logarithm, where no part is negative."""
        positive = self.low >= _SMALLEST_NORMAL
        finite = self.high < np.inf
        low = certified.log(np.where(positive, self.low, 1.0))
        high = certified.log(np.where(finite, np.maximum(self.high, _SMALLEST_NORMAL), 1.0))
        low, high = np.where(positive, low, -np.inf), np.where(finite, high, np.inf)
        return _outward(low - np.abs(low) * _SLACK, high + np.abs(high) * _SLACK).unless(self.low < 0)

    def exp(self) -> "Enclosure":
        """Return the exponential function."""
        return Enclosure(_exp(self.low)[0], _exp(self.high)[1])

    def unless(self, broken: NDArray[np.bool_]) -> "Enclosure":
        """Return the whole line where `broken`."""
        return Enclosure(np.where(broken, -np.inf, self.low), np.where(broken, np.inf, self.high))


def _box(number: "Enclosure | int") -> Enclosure:
    return number if isinstance(number, Enclosure) else Enclosure.of(number)


def _hull(*corners: Floats) -> Enclosure:
    return _outward(
        np.minimum(np.minimum(corners[0], corners[1]), np.minimum(corners[2], corners[3])),
        np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3])),
    )


def _outward(low: Floats, high: Floats) -> Enclosure:
    """Return one float further out; the whole line where there is no number."""
    broken = np.isnan(low) | np.isnan(high)
    return Enclosure(np.nextafter(low, -np.inf), np.nextafter(high, np.inf)).unless(broken)


def _exp(x: Floats) -> tuple[Floats, Floats]:
    """Bound e^x from below and above."""
    with np.errstate(all="ignore"):
        small = certified.exp_of_minus(np.abs(x))
        power = np.where(x > 0, 1 / small, small)
        far = np.abs(x) > certified.LARGEST_EXPONENT
        low = np.where(far & (x < 0), 0.0, power * (1 - _SLACK))
        high = np.where(far & (x > 0), np.inf, power * (1 + _SLACK))
    return low, high
