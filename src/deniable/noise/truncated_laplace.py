"""The discrete Laplace law kept inside bounds.

P(k) ~ exp(-|k| / scale) on the integers -left, ..., right.

Guarantee: draws have exactly this law, without a rejection. A coin takes a side with the weight of that side; on a side
the law is a geometric one cut off after n values, and that is the law of G mod n for G geometric.
Proof: docs/theory/mechanisms/additive.md, "Folding".
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from operator import index
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import bernoulli, geometric, laplace
from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.numbers import balls
from deniable.numbers.certified import exp_of_minus
from deniable.numbers.rationals import strict_rational

if TYPE_CHECKING:
    from flint import arb

LARGEST_BOUND = 2**62
_SERIES_BELOW = 0.25
_SERIES_TERMS = 14


def sample(*, scale: Fraction | int, bound: int, size: Size = None, bits: Bits = SECURE) -> NDArray[np.int64]:
    """Independent draws from P(k) ~ exp(-|k| / scale) on the integers |k| <= bound.

    Args:
        scale: in the unit of the draws, exact, in [2^-57, 2^57].
        bound: in [0, 2^62].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if scale or bound is not exact or outside its range.
    """
    rate = 1 / _checked_scale(scale)
    last = _checked_bound(bound)
    shape = shape_of(size)
    if last == 0:
        return np.zeros(shape, dtype=np.int64)
    distance = geometric.sample(scale=1 / rate, size=shape, bits=bits)
    left = bernoulli.sample_enclosed(p=_public_share(rate, last), size=shape, bits=bits)
    right = (distance % (last + 1)).astype(np.int64, copy=False)
    return np.where(left, ~(distance % last).astype(np.int64, copy=False), right)


def sample_within(
    *, scale: Fraction | int, left: NDArray[np.int64], right: NDArray[np.int64], bits: Bits = SECURE
) -> NDArray[np.int64]:
    """Return one draw for each entry of the flat arrays.

    P(k) ~ exp(-|k| / scale) on -left[i], ..., right[i].

    Args:
        scale: as in `sample`.
        left, right: in [0, 2^62].
        bits: leave it out, except in tests.
    """
    rate = 1 / _checked_scale(scale)
    distance = geometric.sample(scale=1 / rate, size=left.size, bits=bits)
    first, second = (_one_minus_exp(size.astype(np.float64) * float(rate)) for size in (left, right + 1))
    first *= exp_of_minus(np.array(float(rate)))
    goes_left = bernoulli.sample_each(
        probabilities=first / (first + second),
        exact=lambda i: _left_share(rate, int(left[i]), int(right[i])),
        bits=bits,
    )
    sizes = np.where(goes_left, left, right + 1)
    kept = (distance % sizes).astype(np.int64, copy=False)
    return np.where(goes_left, ~kept, kept)


def quantile(scale: Fraction | int, bound: int, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest k with P[X <= k] >= p, in float64.

    For error bars, which are post-processing, and for nothing else.

    Args:
        scale, bound: as in `sample`.
        p: in [0, 1].

    Error: one step where p is within rounding of a jump of the law.
    """
    rate = 1 / float(_checked_scale(scale))
    last = _checked_bound(bound)
    p = np.asarray(p, dtype=np.float64)
    inside = -math.expm1(-rate * (last + 1))
    total = inside - math.exp(-rate) * math.expm1(-rate * last)

    def log_of_power(share: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return ln(share total + q^(bound + 1)), near 0 without cancellation."""
        gap = np.clip(inside - share * total, 0.0, 1.0)
        near_zero = np.log1p(-np.minimum(gap, 0.5))
        with np.errstate(divide="ignore"):
            far = np.log(share * total + math.exp(-rate * (last + 1)))
        return np.asarray(np.where(gap < 0.5, near_zero, far))

    left = np.ceil(log_of_power(p) / rate)
    right = np.ceil(-log_of_power(1 - p) / rate) - 1
    below_zero = p * total <= -math.exp(-rate) * math.expm1(-rate * last)
    return np.asarray(np.clip(np.where(below_zero, left, np.maximum(right, 0.0)), -last, last))


def standard_deviation(scale: Fraction | int, bound: int) -> float:
    """Return the square root of the variance, in float64.

    The closed sum of k^2 q^k is taken in ball arithmetic.
    """
    rate = 1 / _checked_scale(scale)
    last = _checked_bound(bound)
    from flint import ctx

    if rate > 700 or last == 0:
        return 0.0
    with ctx.workprec(512):
        q, ends = (-balls.ball(rate)).exp(), (-balls.ball(rate * last)).exp()
        rest = (last + 1) ** 2 - (2 * last * last + 2 * last - 1) * q + last * last * q * q
        squares = q * (1 + q - ends * rest) / (1 - q) ** 3
        return math.sqrt(float(2 * squares * (1 - q) / (1 + q - 2 * ends * q)))


def _left_share(rate: Fraction, left: int, right: int) -> Callable[[], "arb"]:
    """Return enclosures of P[k < 0].

    The weight of the left side, q (1 - q^left), over that of both.
    """

    def enclosure() -> "arb":
        below = -(-balls.ball(rate)).exp() * (-balls.ball(rate * left)).expm1()
        return below / (below - (-balls.ball(rate * (right + 1))).expm1())

    return enclosure


@lru_cache(maxsize=64)
def _public_share(rate: Fraction, bound: int) -> Callable[[], "arb"]:
    """Return `_left_share` with public bounds, one function for the same bounds."""
    return _left_share(rate, bound, bound)


def _one_minus_exp(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - e^-x for x >= 0, elementwise.

    Error: relative, below 2^-45; docs/theory/mechanisms/additive.md, "Folding".
    """
    small = np.minimum(x, _SERIES_BELOW)
    total = np.ones_like(small)
    for term in range(_SERIES_TERMS, 1, -1):  # x (1 - x/2 (1 - x/3 (...)))
        total = 1.0 - small / term * total
    return np.where(x < _SERIES_BELOW, small * total, 1.0 - exp_of_minus(x))


def _checked_scale(scale: Fraction | int) -> Fraction:
    return strict_rational("scale", scale, lower=laplace.SMALLEST_SCALE, upper=laplace.LARGEST_SCALE)


def _checked_bound(bound: object) -> int:
    try:
        number = index(bound)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidParameterError(f"bound must be an int, got {bound!r}") from None
    if isinstance(bound, bool) or not 0 <= number <= LARGEST_BOUND:
        raise InvalidParameterError(f"bound must be in [0, 2^62], got {bound!r}")
    return number
