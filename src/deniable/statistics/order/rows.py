"""Private rows in order, as far as somebody asks: of many rows only those near the wanted ranks are sorted."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from deniable.statistics.order.measure import Codes


class Rows:
    """Codes that are put in order in place, part by part, each when it is first looked at.

    Args:
        codes: those of all rows, hardly any of which are equal.
        cuts: the ranks at which they are parted; None if they are in order already.
    """

    def __init__(self, codes: Codes, cuts: Iterable[int] | None = None) -> None:
        inner = sorted({cut for cut in cuts or () if 0 < cut < codes.size})
        if inner:
            codes.partition(inner)
        self._codes = codes
        self._edges = np.array([0, *inner, codes.size])
        self._firsts = codes[inner]  # of all parts but the lowest
        self._ordered = np.full(self._edges.size - 1, cuts is None)

    @property
    def size(self) -> int:
        return self._codes.size

    def between(self, first: int, last: int) -> Codes:
        """The codes of the ranks [first, last), both clamped to those that exist, in order."""
        first, last = (min(max(rank, 0), self.size) for rank in (first, last))
        low, high = np.searchsorted(self._edges, first, side="right") - 1, np.searchsorted(self._edges, last)
        for part in range(int(low), int(high)):
            self._part(part)
        return self._codes[first:last]

    def below(self, codes: Codes) -> NDArray[np.int64]:
        """How many rows have a lower code, for each of a few codes."""
        parts = np.searchsorted(self._firsts, codes)
        found = [
            self._edges[part] + np.searchsorted(self._part(part), code)
            for part, code in zip(parts.tolist(), codes.tolist(), strict=True)
        ]
        return np.array(found, dtype=np.int64)

    def _part(self, part: int) -> Codes:
        """The rows between two cuts, in order."""
        codes = self._codes[self._edges[part] : self._edges[part + 1]]
        if codes.size and not self._ordered[part]:
            codes.sort()
            self._ordered[part] = True
        return codes
