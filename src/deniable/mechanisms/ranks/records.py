"""Private records in the order of their codes, sorted near the wanted ranks alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.integers import clamped
from deniable.mechanisms.ranks.points import Codes


@dataclass(frozen=True, eq=False)
class RankWindow:
    """Records in order, with consecutive ranks known and the rest counted.

    Args:
        known: the codes of the records of ranks start, start + 1, ..., in order; the first record has rank 0.
        total: the number of all records.
        count_below: how many of all records have a code below the given one; needs a pass over them. None if all
            records are known.
        nearest: the codes of the nearest records below and above the given one, None where there is none; likewise.
    """

    known: Codes
    start: int
    total: int
    count_below: Callable[[int], int] | None = None
    nearest: Callable[[int], tuple[int | None, int | None]] | None = None

    @classmethod
    def of(cls, exact: "ArrayLike | RankWindow", size: int) -> "RankWindow":
        """Return all of these codes, moved into [0, size) and put in order."""
        if isinstance(exact, RankWindow):
            return exact
        codes = clamped("exact", exact, lower=0, upper=size - 1, listed=True)
        ordered = (
            np.repeat(np.arange(size), np.bincount(codes, minlength=size)) if size <= codes.size else np.sort(codes)
        )
        return cls(ordered, 0, codes.size)

    @classmethod
    def tallied(cls, codes: Codes, counts: NDArray[np.int64], first: int, last: int) -> "RankWindow":
        """Return counted records, with the ranks from `first` to `last` listed.

        Args:
            codes: different ones, in order.
            counts: of the records of each code, above 0.
        """
        ends = np.cumsum(counts)
        total = int(ends[-1]) if ends.size else 0
        if not total:
            return cls(codes, 0, 0)
        low, high = (max(0, min(rank, total - 1)) for rank in (first, last))
        start, stop = np.searchsorted(ends, [low, high], side="right")
        listed = counts[start : stop + 1].copy()
        listed[0] -= low - (ends[start] - counts[start])
        listed[-1] -= ends[stop] - 1 - high

        def below(code: int) -> int:
            index = int(np.searchsorted(codes, code))
            return int(ends[index - 1]) if index else 0

        def nearest(code: int) -> tuple[int | None, int | None]:
            before, behind = (int(np.searchsorted(codes, code, side=side)) for side in ("left", "right"))
            return int(codes[before - 1]) if before else None, int(codes[behind]) if behind < codes.size else None

        return cls(np.repeat(codes[start : stop + 1], listed), low, total, below, nearest)

    @property
    def end(self) -> int:
        """The rank behind the window."""
        return self.start + self.known.size

    def below(self, code: int) -> int:
        """Return how many records have a code below this one."""
        index = int(np.searchsorted(self.known, code))
        if (index == 0 and self.start) or (index == self.known.size and self.end < self.total):
            assert self.count_below is not None
            return self.count_below(code)
        return self.start + index

    def beside(self, code: int) -> tuple[int | None, int | None]:
        """Return the codes of the nearest records below and above this one, or None."""
        first, behind = (int(np.searchsorted(self.known, code, side=side)) for side in ("left", "right"))
        if (first == 0 and self.start) or (behind == self.known.size and self.end < self.total):
            assert self.nearest is not None
            return self.nearest(code)
        before = int(self.known[first - 1]) if first else None
        return before, int(self.known[behind]) if behind < self.known.size else None

    def in_cells(self, edges: Codes) -> "RankWindow":
        """Return the records in coarse cells: cell i holds codes from edges[i] on.

        It ends at edges[i + 1] - 1, and edges[0] = 0.
        """
        count = self.count_below
        coarse = None if count is None else lambda cell: count(int(edges[cell])) if cell < edges.size else self.total
        cells = np.searchsorted(edges, self.known, side="right") - 1
        return RankWindow(cells, self.start, self.total, coarse)


class SortedRecords:
    """Codes that are put in order in place, each part when it is first read.

    Args:
        codes: those of all records, hardly any of which are equal.
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

    @classmethod
    def of(cls, exact: "ArrayLike | SortedRecords", size: int) -> "SortedRecords":
        """All of these codes, moved into [0, size) and put in order."""
        return exact if isinstance(exact, SortedRecords) else cls(RankWindow.of(exact, size).known)

    @property
    def size(self) -> int:
        return self._codes.size

    def between(self, first: int, last: int) -> Codes:
        """Return the codes of the ranks [first, last), clamped to those that exist."""
        first, last = (min(max(rank, 0), self.size) for rank in (first, last))
        low, high = np.searchsorted(self._edges, first, side="right") - 1, np.searchsorted(self._edges, last)
        for part in range(int(low), int(high)):
            self._part(part)
        return self._codes[first:last]

    def below(self, codes: Codes) -> NDArray[np.int64]:
        """Return how many records have a lower code, for each of a few codes."""
        parts = np.searchsorted(self._firsts, codes)
        counts = [
            self._edges[part] + np.searchsorted(self._part(part), code)
            for part, code in zip(parts.tolist(), codes.tolist(), strict=True)
        ]
        return np.array(counts, dtype=np.int64)

    def window(self, span: tuple[int, int], *, first: int = 0, last: int | None = None) -> RankWindow:
        """Return the records of the ranks [first, last) alone, with those of `span` known."""
        total = (self.size if last is None else last) - first
        low, high = (min(max(end, 0), total) for end in (span[0], span[1] + 1))

        def below(code: int) -> int:
            return min(max(int(self.below(np.array([code]))[0]) - first, 0), total)

        return RankWindow(self.between(first + low, first + high), low, total, below)

    def _part(self, part: int) -> Codes:
        """The records between two cuts, in order."""
        codes = self._codes[self._edges[part] : self._edges[part + 1]]
        if codes.size and not self._ordered[part]:
            codes.sort()
            self._ordered[part] = True
        return codes
