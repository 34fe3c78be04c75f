"""Random pairings of rows.

Guarantee: each matching pairs the neighbours in a uniformly random order. A row more, put at a uniformly random place
of the order of the others, whose row there goes to the end, makes a uniformly random order of all: one pair has a row
exchanged, and at the end one pair may be added. So the pairings of neighbouring data can be drawn together such that
one row changes one pair and adds at most one.
"""

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import Bits


def matched(rows: int, matchings: int, *, bits: Bits) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the second row of every pair, matching after matching; rows // 2 pairs in each."""
    orders = [_order(rows, bits) for _ in range(matchings)]
    return (
        np.concatenate([order[0 : rows - 1 : 2] for order in orders]) if rows > 1 else np.empty(0, np.int64),
        np.concatenate([order[1::2] for order in orders]) if rows > 1 else np.empty(0, np.int64),
    )


def _order(rows: int, bits: Bits) -> NDArray[np.int64]:
    """A uniformly random order: that of random words, drawn again until no two are equal."""
    while True:
        words = bits.words(rows)
        order = np.argsort(words)
        if rows < 2 or (np.diff(words[order]) > 0).all():
            return order
