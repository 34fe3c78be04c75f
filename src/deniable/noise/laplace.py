"""Discrete Laplace law P(k) = (1 - q)/(1 + q) q^|k| with q = exp(-1/scale).

Over all integers.

Guarantee: draws have exactly this law, tails included; each is an independent function of fresh bits.
Source: Ghosh, Roughgarden, Sundararajan (2009), arXiv:0811.2841, for the law; docs/theory/noise/draws.md for the draw.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.noise.blocks import Draws, Law, blocks_of
from deniable.numbers.rationals import strict_rational

if TYPE_CHECKING:
    pass

LARGEST_SCALE = Fraction(2**57)
SMALLEST_SCALE = Fraction(1, 2**57)


def sample(*, scale: Fraction | int, size: Size = None, bits: Bits = SECURE) -> Draws:
    """Draw independently from the discrete Laplace distribution.

    Args:
        scale: in the unit of the draws, exact, in [2^-57, 2^57].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Returns: int64; an object array of Python ints if one of the draws does not fit.
    Guarantee: P(k) is proportional to exp(-|k| / scale), exactly.
    Raises: InvalidParameterError if scale is a float or outside its range.
    """
    shape = shape_of(size)
    law = Law(1 / _checked(scale), 1)
    return blocks_of(law).draw(math.prod(shape), bits).reshape(shape)


def quantile(scale: Fraction | int, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest k with P[X <= k] >= p, in float64.

    For error bars, which are post-processing, and for nothing else.

    Args:
        scale: as in `sample`.
        p: in [0, 1].

    Error: one step where p is within rounding of a jump of the law.
    """
    spread = float(_checked(scale))
    p = np.asarray(p, dtype=np.float64)
    ratio = math.exp(-1 / spread)
    with np.errstate(divide="ignore"):
        left = np.ceil(spread * np.log(p * (1 + ratio)))
        right = np.ceil(-spread * np.log((1 - p) * (1 + ratio))) - 1
    return np.where(p * (1 + ratio) <= ratio, left, np.maximum(right, 0.0))


def standard_deviation(scale: Fraction | int) -> float:
    """Return sqrt(2 q) / (1 - q) = 1 / (sqrt(2) sinh(1 / (2 scale))), in float64."""
    half = 1 / (2 * float(_checked(scale)))
    return 1 / (math.sqrt(2) * math.sinh(half)) if half < 700 else 0.0


def _checked(scale: Fraction | int) -> Fraction:
    return strict_rational("scale", scale, lower=SMALLEST_SCALE, upper=LARGEST_SCALE)
