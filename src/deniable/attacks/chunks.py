"""Division of work into pieces that fit in memory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def stretches(counts: NDArray[np.int64], total: int) -> Iterator[tuple[int, int]]:
    """Yield stretches [start, stop) whose counts add up to at most `total`.

    A larger count stands alone.

    >>> list(stretches(np.array([3, 3, 3, 9, 1]), 6))
    [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + total, side="right")))
        yield start, stop
        start = stop
