"""The discrete Gaussian law.

P(k) proportional to exp(-k^2 / (2 sigma_squared)) over all integers.

Guarantee: draws have exactly this law, tails included; each is an independent function of fresh bits.
Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010, for the law; blocks.py and docs/theory/noise/draws.md for the
    draw.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.noise.blocks import Draws, Law, blocks_of
from deniable.numbers.rationals import strict_rational

LARGEST_SIGMA_SQUARED = Fraction(2**114)
SMALLEST_SIGMA_SQUARED = Fraction(1, 2**57)
_SUMMED = 64  # up to this sigma sums are taken term by term


def sample(*, sigma_squared: Fraction | int, size: Size = None, bits: Bits = SECURE) -> Draws:
    """Draw independently from the discrete Gaussian distribution.

    Args:
        sigma_squared: in the squared unit of the draws, exact, in [2^-57, 2^114]. The variance is not above it.
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Returns: int64; an object array of Python ints if one of the draws does not fit.
    Guarantee: P(k) is proportional to exp(-k^2 / (2 sigma_squared)), exactly.
    Raises: InvalidParameterError if sigma_squared is a float or outside its range.
    """
    shape = shape_of(size)
    law = Law(1 / (2 * _checked(sigma_squared)), 2)
    return blocks_of(law).draw(math.prod(shape), bits).reshape(shape)


def quantile(sigma_squared: Fraction | int, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest k with P[X <= k] >= p, in float64.

    For error bars, which are post-processing, and for nothing else.

    Args:
        sigma_squared: as in `sample`.
        p: in [0, 1].

    Error: one step where p is within rounding of a jump of the law; one step for sigma > 64.
    """
    variance = float(_checked(sigma_squared))
    p = np.asarray(p, dtype=np.float64)
    if variance > _SUMMED**2:
        from scipy.special import ndtri

        return np.asarray(np.ceil(math.sqrt(variance) * ndtri(p) - 0.5) + 0.0, dtype=np.float64)
    k, mass = _atoms(variance)
    quantiles = k[np.minimum(np.searchsorted(np.cumsum(mass) / mass.sum(), p), k.size - 1)]
    return np.where(p <= 0, -np.inf, np.where(p >= 1, np.inf, quantiles))


def standard_deviation(sigma_squared: Fraction | int) -> float:
    """Return the square root of the variance of the discrete law, in float64.

    For sigma above 3 it is sigma to the last digit.
    """
    variance = float(_checked(sigma_squared))
    if variance > 9:
        return math.sqrt(variance)
    k, mass = _atoms(variance)
    return math.sqrt(float((mass * k**2).sum() / mass.sum()))


def _checked(sigma_squared: Fraction | int) -> Fraction:
    return strict_rational("sigma_squared", sigma_squared, lower=SMALLEST_SIGMA_SQUARED, upper=LARGEST_SIGMA_SQUARED)


def _atoms(variance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the integers that weigh more than about 10^-300, and their weights."""
    half = int(38 * math.sqrt(variance)) + 1
    k = np.arange(-half, half + 1, dtype=np.float64)
    return k, np.exp(np.maximum(-(k**2) / (2 * variance), -745.0))
