"""Ends of an interval around a quantile, in cells that grow with the distance.

Fine cells far from the estimate would cost rank error and tell nothing. Eight cells for every doubling of the distance
make less than 512 of them, and an end that is off by a tenth of the distance at most.

Guarantee: let the target be at least ln(2 * 512 / a) / rate + 1 ranks below the rank q n. Then the lower end is above
the true quantile with probability at most a / 2, for all data. The upper end likewise.
Proof: docs/theory/mechanisms/ranks.md.
"""

from dataclasses import replace
from fractions import Fraction
from math import ceil, log

import numpy as np

from deniable.mechanisms.ranks import ExponentialQuantile, Points
from deniable.mechanisms.ranks.points import Codes
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise.bits import Bits

CELLS = 512  # above the number of cells on either side
_PER_OCTAVE = 8
_DISTANCES: Codes = np.unique(np.floor(2.0 ** (np.arange(62 * _PER_OCTAVE + 1) / _PER_OCTAVE)).astype(np.int64))
_LARGEST_RANK = 2**40


def ends_around(
    draw: ExponentialQuantile, level: float, sides: tuple[int, ...] = (-1, 1)
) -> tuple[ExponentialQuantile, ...]:
    """Return the draws of ends below (-1) or above (1) the quantile.

    Each lies there with chance (1 + level) / 2.

    Args:
        draw: of the quantile itself, among `CELLS` points.
    """
    return tuple(replace(draw, shift=Fraction(side * margin(draw.rate, level))) for side in sides)


def margin(rate: Fraction, level: float) -> int:
    """Return how many ranks from the quantile an end is aimed."""
    return min(ceil(log(2 * CELLS / (1 - level)) / float(rate)) + 1, _LARGEST_RANK)


def lower_end(end: ExponentialQuantile, records: RankWindow, estimate: int, *, bits: Bits, digits: int = 0) -> int:
    """Return the code below which the quantile does not lie; at most the estimate.

    Args:
        digits: binary digits that the codes of the records have behind those of the estimate.
    """
    edges = np.unique(np.concatenate([[0, estimate], estimate - _DISTANCES[: np.searchsorted(_DISTANCES, estimate)]]))
    return int(edges[_cell(end, records, edges << digits, bits)])


def upper_end(
    end: ExponentialQuantile, records: RankWindow, size: int, estimate: int, *, bits: Bits, digits: int = 0
) -> int:
    """Return the code above which the quantile does not lie; at least the estimate."""
    first = estimate + 1  # of the second cell
    edges = np.concatenate([[0], first + np.append(0, _DISTANCES)])
    edges = edges[edges < size]
    return int(np.append(edges[1:], size)[_cell(end, records, edges << digits, bits)]) - 1


def _cell(end: ExponentialQuantile, records: RankWindow, edges: Codes, bits: Bits) -> int:
    return replace(end, points=Points(edges.size)).release(records.in_cells(edges), bits=bits).value
