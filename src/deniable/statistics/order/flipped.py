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
from deniable.statistics.order.measure import Codes
from deniable.statistics.order.place import PARTS, distances, within_gaps

LARGEST_SIZE = 2**18
"""Points of a grid that are listed one by one."""


def flip(codes: Codes, *, target: Fraction, rate: Fraction, size: int, bits: Bits) -> int:
    """The code of the point with the largest exponential noise less rate D, in parts of ranks.

    Args:
        codes: of all rows, from 0 to size - 1, in any order.
        target, rate: as for `choice.choose`.
    """
    points, ends = np.arange(size), (0, size - 1)
    counts = np.bincount(codes, minlength=size)
    within = np.cumsum(counts)
    below = within - counts
    before = np.maximum.accumulate(np.where(counts > 0, points, 0))  # of points without rows, as is the next
    behind = np.minimum.accumulate(np.where(counts > 0, points, size - 1)[::-1])[::-1]
    low, high = within_gaps(points, below, within, before=before, behind=behind, codes=ends)
    scores = -distances(points, low, high, target=target, codes=ends, parts=PARTS)
    return race.permute_and_flip(scores, rate=rate / (target.denominator * PARTS), bits=bits)
