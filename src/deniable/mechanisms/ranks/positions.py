"""Ranks of a point of a grid among records, whole or in parts between two records.

Let L records be below a point and E at or below it. Counted in whole ranks, it has all ranks from L to E. Counted in
parts, the record of rank i, from 0, stands at i + 1/2, equal records share what lies between theirs, and a point
between two records has one place, in proportion to its distances from them. As the code of a point grows, so does its
place.

Guarantee: one more record moves both ends of every point's place by 0 to 1 rank upwards, whichever way they are
counted, rounding included. Proof: docs/theory/mechanisms/ranks.md, "Between two rows".
"""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.ranks.points import Codes

PARTS = 2**10
"""Number of distinct parts of a rank."""

_EXACT = 2**52  # codes below it times PARTS are int64


def within_gaps(
    points: Codes, below: Codes, within: Codes, *, before: Codes, behind: Codes, span: tuple[int, int]
) -> tuple[Codes, Codes]:
    """The lowest and the highest place of points, in parts.

    Args:
        below, within: L and E of each point.
        before, behind: the codes of the nearest records below and above each point, or of the ends of the grid; not
            read for points that have records, nor for the ends.
        span: the first and the last point, where as many public records as one likes stand.
    """
    taken = (within > below) | (points == span[0]) | (points == span[1])
    along, across = np.where(taken, 0, points - before), np.where(taken, 1, behind - before)
    if across.size and across.max() >= _EXACT:
        along = along.astype(object)
    part = np.asarray(along * PARTS // across, dtype=np.int64) - PARTS // 2
    low = below * PARTS + np.where(taken, PARTS // 2, part)
    return low, np.where(taken, within * PARTS - PARTS // 2, low)


def distances(
    points: Codes, low: Codes, high: Codes, *, target: Fraction, span: tuple[int, int], parts: int = 1
) -> NDArray[np.int64]:
    """Return D of points, from their lowest and highest rank.

    Times `parts` and the denominator of the wanted rank.

    The first point counts as having any place below its highest, and the last any above its lowest.
    """
    wanted = target.numerator * parts
    scale = target.denominator
    over = np.where(points == span[0], 0, low * scale - wanted)
    under = np.where(points == span[1], 0, wanted - high * scale)
    return np.maximum(0, np.maximum(over, under))
