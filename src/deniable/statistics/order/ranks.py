"""Ranks of private rows on a grid, of which only those near the wanted ranks are sorted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np

from deniable.statistics.order.grid import Grid, Values
from deniable.statistics.order.measure import Codes


@dataclass(frozen=True, eq=False)
class Ranks:
    """Rows in order, of which a window of consecutive ranks is known, and the rest can be counted.

    Args:
        window: the codes of the rows of ranks start, start + 1, ..., in order; the first row has rank 0.
        total: the number of all rows.
        count_below: how many of all rows have a code below the given one; needs a pass over them. None if the window
            holds all rows.
        nearest: the codes of the nearest rows below and above the given one, None where there is none; likewise.
    """

    window: Codes
    start: int
    total: int
    count_below: Callable[[int], int] | None = None
    nearest: Callable[[int], tuple[int | None, int | None]] | None = None

    @property
    def end(self) -> int:
        """The rank behind the window."""
        return self.start + self.window.size

    def below(self, code: int) -> int:
        """How many rows have a code below this one."""
        place = int(np.searchsorted(self.window, code))
        if (place == 0 and self.start) or (place == self.window.size and self.end < self.total):
            assert self.count_below is not None
            return self.count_below(code)
        return self.start + place

    def beside(self, code: int) -> tuple[int | None, int | None]:
        """The codes of the nearest rows below and above this one; None where there is none."""
        first, behind = (int(np.searchsorted(self.window, code, side=side)) for side in ("left", "right"))
        if (first == 0 and self.start) or (behind == self.window.size and self.end < self.total):
            assert self.nearest is not None
            return self.nearest(code)
        before = int(self.window[first - 1]) if first else None
        return before, int(self.window[behind]) if behind < self.window.size else None

    def cut(self, edges: Codes) -> "Ranks":
        """The same rows in coarse cells: cell i holds the codes c with edges[i] <= c < edges[i + 1]; edges[0] = 0."""
        count = self.count_below
        coarse = None if count is None else lambda cell: count(int(edges[cell])) if cell < edges.size else self.total
        cells = np.searchsorted(edges, self.window, side="right") - 1
        return Ranks(cells, self.start, self.total, coarse)


def around(values: Values, grid: Grid, first: int, last: int) -> Ranks:
    """The ranks from `first` to `last`, both clamped to those that exist; all ranks where that is hardly dearer."""
    total = values.size
    low, high = max(0, min(first, total - 1)), max(0, min(last, total - 1))
    if total < 1000 or high - low > total // 8:
        return Ranks(grid.codes(cast(Values, np.sort(values))), 0, total)
    window = cast(Values, np.sort(np.partition(values, (low, high))[low : high + 1]))

    def nearest(code: int) -> tuple[int | None, int | None]:
        codes = grid.codes(values)
        below, above = codes[codes < code], codes[codes > code]
        return int(below.max()) if below.size else None, int(above.min()) if above.size else None

    return Ranks(grid.codes(window), low, total, lambda code: int(np.count_nonzero(grid.codes(values) < code)), nearest)
