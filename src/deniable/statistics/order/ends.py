"""The ends of an interval around a quantile, in cells that grow with the distance from its estimate.

Fine cells far from the estimate would cost rank error and tell nothing. Eight cells for every doubling of the distance
make less than 512 of them, and an end that is off by a tenth of the distance at most.

Guarantee: let `target` be at least ln(2 * 512 / a) / rate + 1 ranks below the rank q n. Then the lower end is above the
true quantile with probability at most a / 2, for all data. The upper end likewise. Proof:
docs/theory/mechanisms/ranks.md.
"""

from fractions import Fraction

import numpy as np

from deniable.noise.bits import Bits
from deniable.statistics.order.choice import choose
from deniable.statistics.order.measure import Codes
from deniable.statistics.order.ranks import Ranks

CELLS = 512  # above the number of cells on either side
_PER_OCTAVE = 8
_DISTANCES: Codes = np.unique(np.floor(2.0 ** (np.arange(62 * _PER_OCTAVE + 1) / _PER_OCTAVE)).astype(np.int64))


def lower_end(ranks: Ranks, estimate: int, *, target: Fraction, rate: Fraction, bits: Bits) -> int:
    """The code below which the quantile does not lie; at most the estimate."""
    edges = np.unique(np.concatenate([[0, estimate], estimate - _DISTANCES[: np.searchsorted(_DISTANCES, estimate)]]))
    return int(edges[choose(ranks.cut(edges), target=target, rate=rate, codes=(0, edges.size - 1), bits=bits)])


def upper_end(ranks: Ranks, size: int, estimate: int, *, target: Fraction, rate: Fraction, bits: Bits) -> int:
    """The code above which the quantile does not lie; at least the estimate."""
    first = estimate + 1  # of the second cell
    edges = np.concatenate([[0], first + np.append(0, _DISTANCES)])
    edges = edges[edges < size]
    cell = choose(ranks.cut(edges), target=target, rate=rate, codes=(0, edges.size - 1), bits=bits)
    return int(np.append(edges[1:], size)[cell]) - 1
