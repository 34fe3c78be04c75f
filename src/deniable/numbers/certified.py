"""exp and log in float64 with a proved relative error.

The C library promises no error bound, and its vector versions differ between processors. These two use only
IEEE 754 additions, multiplications, one division and exact scaling by powers of two, so their error can be proved.
Proof: docs/theory/noise/draws.md, "The float filter".
"""

import math

import numpy as np
from numpy.typing import NDArray

LARGEST_EXPONENT = 700.0
"""`exp_of_minus` treats larger arguments as this one; e^-700 is still a normal number."""

RELATIVE_ERROR = 2.0**-48
"""Bound on the relative error of both functions, for an argument that is exact."""

_LOG2_E = 1.4426950408889634
_LN2_HIGH = float.fromhex("0x1.62e42fefa0000p-1")  # 36 significant bits: times an integer below 2^17 it is exact
_LN2_LOW = float.fromhex("0x1.cf79abc9e3b3ap-40")  # the rest of ln 2, to 2^-93
_EXP_TERMS = tuple(1.0 / math.factorial(k) for k in range(13, -1, -1))
_LOG_TERMS = tuple(2.0 / (2 * k + 1) for k in range(10, -1, -1))
_SQRT_HALF = 0.7071067811865476


def exp_of_minus(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return e^-x for x >= 0, elementwise.

    For x > 700 the value is that at 700, an upper bound.

    Error: relative, below 2^-48, for x <= 700.
    """
    x = np.minimum(x, LARGEST_EXPONENT)
    halvings = np.rint(x * _LOG2_E)
    rest = halvings * _LN2_HIGH
    rest -= x
    rest += halvings * _LN2_LOW  # -x + halvings ln 2, in [-0.35, 0.35]
    total = np.full_like(rest, _EXP_TERMS[0])
    for term in _EXP_TERMS[1:]:
        total *= rest
        total += term
    return np.ldexp(total, -halvings.astype(np.int32))


def log(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln x for normal x > 0, elementwise.

    Error: relative, below 2^-48.
    """
    mantissa, exponent = np.frexp(x)  # mantissa in [1/2, 1)
    low = mantissa < _SQRT_HALF
    mantissa = np.where(low, 2.0 * mantissa, mantissa)
    power = exponent - low
    ratio = (mantissa - 1.0) / (mantissa + 1.0)  # |ratio| < 0.1716, the subtraction is exact
    square = ratio * ratio
    total = np.full_like(ratio, _LOG_TERMS[0])
    for term in _LOG_TERMS[1:]:
        total *= square
        total += term
    total *= ratio
    total += power * _LN2_LOW
    total += power * _LN2_HIGH
    return total
