"""Reals on a public grid of powers of two.

Integers in, exact noise, reals out after the release.

Guarantee: the grid depends on declared bounds alone. `to_integers` is total: no value raises, not even NaN or infinity.
All outputs of a mechanism on one lattice have one support: order of summation, holes and precision tell nothing.
Source: Mironov (2012), "On significance of the least significant bits for differential privacy", for the danger;
docs/theory/noise/draws.md, "The lattice", for the sensitivity that rounding adds.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.blocks import Draws

LARGEST_INTEGER = 2**62
"""`to_integers` gives nothing larger in absolute value."""

_EXPONENT_RANGE = 1000  # inside it 2^exponent is a normal float64


@dataclass(frozen=True)
class Lattice:
    """The multiples of 2^-exponent.

    Args:
        exponent: in [-1000, 1000]; 0 are the integers, 10 the multiples of 1/1024.

    Raises: InvalidParameterError if exponent is outside.
    """

    exponent: int

    def __post_init__(self) -> None:
        if isinstance(self.exponent, bool) or not isinstance(self.exponent, int):
            raise InvalidParameterError(f"exponent must be an int, got {self.exponent!r}")
        if abs(self.exponent) > _EXPONENT_RANGE:
            raise InvalidParameterError(
                f"exponent must be in [-{_EXPONENT_RANGE}, {_EXPONENT_RANGE}], got {self.exponent}. "
                "Choose another unit."
            )

    @classmethod
    def for_bounds(cls, lower: Fraction | float, upper: Fraction | float, *, precision: int = 32) -> "Lattice":
        """Return the grid for values of [lower, upper].

        The finest with at most 2^precision steps to the larger bound.

        Args:
            lower: public, finite; upper likewise, not below lower.
            precision: in [1, 52]. With 32, rounding 10^9 rows moves their sum by less than one row may.

        Raises: InvalidParameterError if the bounds are not finite or reversed, or precision is outside.
        """
        low, high = _exact("lower", lower), _exact("upper", upper)
        if low > high:
            raise InvalidParameterError(f"lower must not be above upper, got lower={lower}, upper={upper}. Swap them.")
        if isinstance(precision, bool) or not 1 <= precision <= 52:
            raise InvalidParameterError(f"precision must be in [1, 52], got {precision}")
        largest = max(abs(low), abs(high))
        return cls(precision - _log2_above(largest)) if largest else cls(0)

    @property
    def grid(self) -> Fraction:
        """The step, 2^-exponent."""
        return Fraction(1, 2**self.exponent) if self.exponent >= 0 else Fraction(2**-self.exponent)

    def to_integers(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the nearest multiple of the grid for every value, counted in steps.

        Ties to the even one.

        NaN becomes 0. Infinities and values beyond 2^62 steps become -2^62 or 2^62. Clamp to public bounds first: then
        results lie between `bound(lower)` and `bound(upper)`, because rounding is monotone.
        """
        with np.errstate(over="ignore", under="ignore"):
            steps = np.rint(np.asarray(values, dtype=np.float64) * 2.0**self.exponent)
        np.nan_to_num(steps, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)
        return np.clip(steps, -LARGEST_INTEGER, LARGEST_INTEGER).astype(np.int64)

    def to_reals(self, integers: Draws) -> NDArray[np.float64]:
        """Return steps as float64: exact below 2^53 steps, above it rounded.

        Only after the noise.
        """
        return np.asarray(integers).astype(np.float64) * 2.0**-self.exponent

    def bound(self, value: Fraction | float) -> int:
        """Return the steps of a public bound.

        Rounded as `to_integers` rounds, exactly, for any finite number.

        Raises: InvalidParameterError if value is not finite.
        """
        return round(_exact("value", value) / self.grid)

    def added_sensitivity(self, *, norm: Literal["l1", "l2", "linf"], dimensions: int = 1) -> Fraction:
        """Bound how much further apart rounding can move two vectors.

        In the unit of the values.

        Args:
            norm: of the sensitivity that it is added to.
            dimensions: coordinates that are rounded.

        Guarantee: each coordinate moves by at most half a step, so the difference of two vectors by at most a step a
            coordinate: d g in l1, sqrt(d) g in l2 (rounded up), g in linf. A sum of rounded rows needs none of it:
            there, the rounded bounds of one row are the sensitivity.
        Raises: InvalidParameterError if dimensions < 1 or norm is none of the three.
        """
        if isinstance(dimensions, bool) or dimensions < 1:
            raise InvalidParameterError(f"dimensions must be >= 1, got {dimensions}")
        if norm == "linf":
            return self.grid
        if norm == "l1":
            return dimensions * self.grid
        if norm == "l2":
            return self.grid * Fraction(_root_above(dimensions << 64), 2**32)
        raise InvalidParameterError(f"norm must be l1, l2 or linf, got {norm!r}")


def _exact(name: str, value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction) or not math.isfinite(value):
        raise InvalidParameterError(f"{name} must be a finite number, got {value!r}")
    return Fraction(value)


def _log2_above(value: Fraction) -> int:
    """Return the smallest n with value <= 2^n, for value > 0."""
    n = value.numerator.bit_length() - value.denominator.bit_length() - 1
    while value > Fraction(2) ** n:
        n += 1
    return n


def _root_above(n: int) -> int:
    """Return the smallest integer whose square is at least n."""
    root = math.isqrt(n)
    return root if root * root == n else root + 1
