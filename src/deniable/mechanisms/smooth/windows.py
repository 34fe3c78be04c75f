"""Widest windows of sorted records, discounted by the changes that empty them."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.smooth.base import changes_to_least_bound, rounded_up, weights


def smooth_width(
    records: NDArray[np.int64], lower: int, upper: int, *, last: int, first: int, beta: Fraction
) -> Fraction:
    """Return max of (x_(e) - x_(s)) e^(-beta (e - s - free)) as a smooth bound.

    Over s <= last, e >= first, e - s >= free = first - last + 1.

    Args:
        records: sorted, within the bounds; x_(0) is lower and x_(n + 1) is upper.
        last: rank in [1, n]; first likewise, not below it.

    Guarantee: rounded to a beta-smooth bound by lemma 2 of docs/theory/mechanisms/smooth.md. O(n log n).
    """
    padded = np.concatenate([[lower], records, [upper]])
    far = changes_to_least_bound(beta, upper - lower)
    left, right = padded[max(last - far, 0) : last + 1][::-1], padded[first : first + far + 1]
    return rounded_up(_largest(left, right, weights(beta, left.size + right.size)))


def _largest(left: NDArray[np.int64], right: NDArray[np.int64], discount: NDArray[np.float64]) -> float:
    """Return max of (right[j] - left[i]) discount[i + j - 1] over all i, j but both 0.

    The best j falls as i grows. So the best j of every second i, found first, leave little to search for those between:
    rounds with steps of ..., 4, 2, 1, each over at most left.size + right.size pairs.
    """
    best = np.zeros(left.size, dtype=np.int64)
    widest = 0.0
    step = 1 << (left.size.bit_length() - 1)
    while step:
        i = np.arange(step - 1, left.size, 2 * step)
        above = np.where(i >= step, best[i - step], right.size - 1)
        below = np.where(i + step < left.size, best[np.minimum(i + step, left.size - 1)], 0)
        below = np.maximum(below, i == 0)
        length = above - below + 1
        start = np.cumsum(length) - length
        j = np.arange(length.sum()) - np.repeat(start - below, length)
        rows = np.repeat(i, length)
        value = (right[j] - left[rows]).astype(np.float64) * discount[rows + j - 1]
        largest = np.maximum.reduceat(value, start)
        best[i] = np.minimum.reduceat(np.where(value == np.repeat(largest, length), j, right.size), start)
        widest = max(widest, float(largest.max()))
        step //= 2
    return widest
