"""Random pairings of rows.

Guarantee: each matching pairs the neighbours in a uniformly random order, and so is uniform among all pairings that
leave out at most one row. The pairings of neighbouring data can be drawn together such that one row more adds one pair,
or exchanges one (docs/theory/regression.md).
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
