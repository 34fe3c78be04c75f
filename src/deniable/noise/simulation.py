"""Random numbers for simulations of public models.

They are floats, and must never be added to a secret.

A p-value or an interval by simulation is post-processing: it reads released numbers and made-up rows alone. The draws
come from the same stream as all others, so that one `bits` makes a whole run repeatable.
"""

import math

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import Bits


def uniforms(shape: tuple[int, ...], *, bits: Bits) -> NDArray[np.float64]:
    """Draw uniform numbers of (0, 1), odd multiples of 2^-53.

    So 0 and 1 never come.
    """
    words = bits.words(math.prod(shape)) >> np.uint64(12)
    return ((words.astype(np.float64) + 0.5) * 2.0**-52).reshape(shape)


def normals(shape: tuple[int, ...], *, bits: Bits) -> NDArray[np.float64]:
    """Draw standard normal numbers, by the inverse of the distribution function."""
    from scipy.special import ndtri

    return np.asarray(ndtri(uniforms(shape, bits=bits)), dtype=np.float64)
