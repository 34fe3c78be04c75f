"""Projection onto a simplex: the nearest numbers of at least 0 with a given sum."""

import numpy as np

from deniable.numbers.arrays import Floats


def onto_simplex(point: Floats, total: float) -> Floats:
    """Return the nearest point with entries of at least 0 that add up to `total`.

    It is max(point - t, 0) for one t. Among the k largest entries, which are the positive ones of the answer, t is the
    mean of them minus total / k; k is the largest for which the k-th entry exceeds that.

    Args:
        point: of shape (entries,), at least one.
        total: above 0.

    Source: Duchi, Shalev-Shwartz, Singer, Chandra (2008), "Efficient projections onto the l1-ball".
    """
    moved = point - point.max()  # so that sums lose nothing to a common part
    largest = np.sort(moved)[::-1]
    shifts = (np.cumsum(largest) - total) / np.arange(1, point.size + 1)
    projected: Floats = np.maximum(moved - shifts[np.flatnonzero(largest > shifts)[-1]], 0.0)
    return projected
