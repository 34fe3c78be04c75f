"""Random pairs of rows: a row is in few of them, and one row more changes few.

Two matchings at a time are a ring: the neighbours in a uniformly random order, its last and its first row included. A
ring loses no row, and a row more opens it at one place. An odd number of matchings ends with a single one, which is
uniform among all pairings that leave out at most one row.

Guarantee: the pairs of neighbouring data can be drawn together such that one row more exchanges one pair of every ring
and adds one, and exchanges one or adds one in the single matching. Proof: docs/theory/statistics/regression.md.
"""

import numpy as np

from deniable.noise import uniform
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Indices


def matched(rows: int, matchings: int, *, bits: Bits) -> tuple[Indices, Indices]:
    """Return the first and the second row of every pair.

    There are `rows` of them in every ring, rows // 2 in a single matching.
    """
    rings, single = divmod(matchings, 2)
    around = [uniform.permutation(rows, bits=bits) for _ in range(rings if rows > 1 else 0)]
    row = [uniform.permutation(rows, bits=bits) for _ in range(single)]
    none = np.empty(0, dtype=np.int64)
    first = np.concatenate([none, *around, *(order[: rows - 1 : 2] for order in row if rows > 1)])
    return first, np.concatenate([none, *(np.roll(order, -1) for order in around), *(order[1::2] for order in row)])
