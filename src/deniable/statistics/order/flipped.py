"""One quantile by permute-and-flip over the points of a small grid: never further off than the exponential mechanism.

Guarantee: epsilon-DP with rate = epsilon / (2 reach), for the distances D of `choice`; a point is never expected to be
further from the wanted rank than one of the exponential mechanism, whatever the rows are. On a fine grid the two are
the same to all purposes, because points of one rank are too many to run out.
Source: McKenna, Sheldon (2020), arXiv:2010.12603.
"""

from fractions import Fraction

import numpy as np

from deniable.noise import race
from deniable.noise.bits import Bits
from deniable.statistics.order.choice import distances
from deniable.statistics.order.measure import Codes

LARGEST_SIZE = 2**18
"""Points of a grid that are listed one by one."""


def flip(codes: Codes, *, target: Fraction, rate: Fraction, size: int, bits: Bits) -> int:
    """The code of the point with the largest exponential noise less rate D.

    Args:
        codes: of all rows, from 0 to size - 1, in any order.
        target, rate: as for `choice.choose`.
    """
    within = np.cumsum(np.bincount(codes, minlength=size))
    below = np.concatenate([[0], within[:-1]])
    scores = -distances(np.arange(size), below, within, target=target, codes=(0, size - 1))
    return race.permute_and_flip(scores, rate=rate / target.denominator, bits=bits)
