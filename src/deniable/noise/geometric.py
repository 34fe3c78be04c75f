"""Geometric law P(k) = (1 - q) q^k on 0, 1, 2, ..., and what follows from it.

q = exp(-1/scale).

Guarantee: draws have exactly their law. Given its sign, a discrete Laplace number K is geometric: so is K for K >= 0,
and -K - 1 for K < 0. The number so folded is geometric whatever the sign was.
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.noise import laplace, uniform
from deniable.noise.bits import SECURE, Bits, Size
from deniable.noise.blocks import Draws

_AHEAD = 32  # turns of an urn that are drawn at once


def sample(*, scale: Fraction | int, size: Size = None, bits: Bits = SECURE) -> Draws:
    """Draw independently from the geometric distribution.

    Args:
        scale: exact, in [2^-57, 2^57].
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Returns: int64; an object array of Python ints if one of the draws does not fit.
    Raises: InvalidParameterError if scale is a float or outside its range.
    """
    both = laplace.sample(scale=scale, size=size, bits=bits)
    if both.dtype == object:
        return np.where(both < 0, ~both, both)
    return np.asarray(both ^ (both >> 63))  # ~k = -k - 1 for k < 0


def floored_laplace(*, scale: Fraction | int, size: Size = None, bits: Bits = SECURE) -> Draws:
    """Return copies of floor(X) for X with density exp(-|x| / scale) / (2 scale).

    They are independent, and X is a real number.

    The floor of an exponential variable is geometric, and X is one of them with a fair sign: floor(-x) is ~floor(x)
    unless x is whole, which has probability 0. Arguments as in `sample`.
    """
    lengths = sample(scale=scale, size=size, bits=bits)
    signs = (bits.words(lengths.size).view(np.int64) >> 63).reshape(lengths.shape)  # 0 or -1
    return np.asarray(lengths ^ signs.astype(lengths.dtype))


def shares(*, scale: Fraction | int, parts: int, size: Size = None, bits: Bits = SECURE) -> NDArray[np.int64]:
    """Draw independent shares, of which `parts` sum to a geometric number.

    Each is a Polya (negative binomial) number.

    An urn with weights 1 / parts and 1 - 1 / parts is drawn from a geometric number of times, and what is drawn gains
    weight 1: the first colour's count. For negative binomial numbers of shapes s and 1 - s have a geometric sum, and
    given it the first is beta-binomial, the law of that count. Arguments as in `sample`; `parts` is at most 2^32.
    """
    left = np.asarray(sample(scale=scale, size=size, bits=bits), dtype=np.int64)
    shape = left.shape
    left = left.ravel()
    counts, drawn, ahead = np.zeros_like(left), np.zeros_like(left), np.arange(_AHEAD)
    while (rows := np.flatnonzero(drawn < left)).size:
        turn = drawn[rows, np.newaxis] + ahead
        hits = uniform.sample((turn + 1) * parts, bits=bits) < 1 + counts[rows, np.newaxis] * parts
        hits &= turn < left[rows, np.newaxis]
        first = np.where(hits.any(axis=1), hits.argmax(axis=1), _AHEAD - 1)  # what comes after a hit is drawn anew
        counts[rows] += hits.any(axis=1)
        drawn[rows] += first + 1
    return counts.reshape(shape)
