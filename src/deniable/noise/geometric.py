"""The geometric law P(k) = (1 - q) q^k on 0, 1, 2, ..., with q = exp(-1/scale), and what follows from it.

Guarantee: draws have exactly their law. Given its sign, a discrete Laplace number K is geometric: so is K for K >= 0,
and -K - 1 for K < 0. The number so folded is geometric whatever the sign was.
"""

from fractions import Fraction

import numpy as np

from deniable.noise import laplace
from deniable.noise.bits import SECURE, Bits, Size
from deniable.noise.blocks import Draws


def sample(*, scale: Fraction | int, size: Size = None, bits: Bits = SECURE) -> Draws:
    """Independent draws from the geometric law.

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
    """Independent copies of floor(X), for a real number X with density exp(-|x| / scale) / (2 scale).

    The floor of an exponential variable is geometric, and X is one of them with a fair sign: floor(-x) is ~floor(x)
    unless x is whole, which has probability 0. Arguments as in `sample`.
    """
    lengths = sample(scale=scale, size=size, bits=bits)
    signs = (bits.words(lengths.size).view(np.int64) >> 63).reshape(lengths.shape)  # 0 or -1
    return np.asarray(lengths ^ signs.astype(lengths.dtype))
