"""Rows drawn from a model.

Each soft record gives equally many rows, spread evenly over its distributions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from deniable.noise.bits import Bits, DeterministicBits
from deniable.noise.simulation import uniforms
from deniable.numbers.arrays import Floats, Indices, MachineIntegers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deniable.synthesis.measurements import Measurements
    from deniable.synthesis.model import RecordMixture


def levels_of_rows(
    measured: Measurements, model: RecordMixture, size: int, *, seed: int, given: Mapping[int, int] | None = None
) -> MachineIntegers:
    """Return levels of `size` synthetic rows, of shape (attributes, rows).

    The same seed gives the same rows. Within a soft record columns are independent, and each bin appears as often as
    its probability says, up to one row (systematic sampling). Within a bin, levels appear as the measured table of the
    column has them.

    Args:
        given: level that a column has in every row, by the index of the column. Records then give rows in proportion to
            how probable these levels are in them; where they are in none, all give equally many.
    """
    bits = DeterministicBits(seed)
    records = np.sort(np.arange(size) % model.records)  # of each row
    if given:
        probable = [model.probabilities[index][:, measured.bins[index][level]] for index, level in given.items()]
        weights = np.prod(np.array(probable, dtype=np.float64), axis=0)
        if weights.sum() > 0:
            records = np.sort(spread(np.zeros(size, dtype=np.int64), weights[np.newaxis] / weights.sum(), bits))
    order = np.argsort(uniforms((size,), bits=bits))
    rows = np.empty((len(measured.bins), size), dtype=np.int32)
    for index, shares in enumerate(model.probabilities):
        drawn = spread(records, shares.astype(np.float64), bits)
        bins, counts = measured.bins[index], measured.columns[index]
        by_bin = np.argsort(bins, kind="stable")
        inside = np.zeros((int(bins.max()) + 1, bins.size))
        inside[bins[by_bin], np.arange(bins.size)] = counts[by_bin]
        empty = inside.sum(axis=1) <= 0
        inside[empty] = (bins[by_bin] == np.flatnonzero(empty)[:, np.newaxis]) * 1.0
        rows[index] = by_bin[spread(drawn, inside / inside.sum(axis=1, keepdims=True), bits)][order]
    for index, level in (given or {}).items():
        rows[index] = level
    return rows


def spread(groups: Indices, shares: Floats, bits: Bits) -> Indices:
    """Return a column of each row, drawn evenly by the shares of its group.

    Counts differ from the expected ones by at most one.

    Args:
        groups: of each row, indices of `shares`.
        shares: of shape (groups, columns); each row sums to 1.
    """
    order = np.lexsort((uniforms(groups.shape, bits=bits), groups))
    sizes = np.bincount(groups, minlength=len(shares))
    ranks = np.empty(groups.size)
    ranks[order] = np.arange(groups.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    starts = uniforms((len(shares),), bits=bits)
    position = (ranks + starts[groups]) / np.maximum(sizes, 1)[groups]
    ends = np.cumsum(shares, axis=1)
    ends /= ends[:, -1:]
    ends[:, -1] = 1.0
    # Ends of all groups as one ascending list: those of group g lie in (g, g + 1].
    flat = (ends + np.arange(len(shares))[:, np.newaxis]).ravel()
    index = np.searchsorted(flat, groups + np.minimum(position, 1 - 2**-40), side="right")
    return np.asarray(np.minimum(index - groups * shares.shape[1], shares.shape[1] - 1))
