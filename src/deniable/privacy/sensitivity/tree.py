"""How far the steps of one unit move the nodes of a binary tree. Proof: docs/theory/learning/correlated.md."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from typing import TypeAlias

import numpy as np

from deniable.numbers.arrays import Integers

Uses: TypeAlias = dict[int, list[tuple[int, int, int]]]
"""By the number of uses in a node: the squares in it and below, the steps until the next use may come after the node if
it begins early, and the latest step for its own first use. No entry is beaten by another in all three."""

_MOST_USES = 2000  # of one unit, for which nodes are looked at one by one
_MOST_PAIRS = 2 * 10**5  # of entries that are compared; after that the relaxed bound stands
_OFFSETS = 128  # of evenly spaced uses, to begin with
_NEVER = 2**62


@lru_cache(maxsize=256)
def squared_tree_sensitivity(steps: int, times: int, separation: int) -> int:
    """The greatest squared l2 norm of the nodes of a binary tree, where each use of a unit moves its step by at most 1.

    Nodes are the sums of 2^k steps from multiples of 2^k on that end by the last step.

    Args:
        steps: how many there are.
        times, separation: in how many steps a unit takes part, at most, and how far apart these are, at least.

    Guarantee: exact for up to 2,000 uses, unless the search becomes too long; else an upper bound, within 5% of it
        wherever that was measured.

    >>> squared_tree_sensitivity(1024, 1, 1)
    11
    """
    uses = min(times, (steps - 1) // separation + 1)
    if uses > _MOST_USES:
        return _by_levels(steps, uses, separation)
    return _Search(_Relaxed(steps, uses, separation), _evenly(steps, uses, separation)).most


class _Relaxed:
    """The greatest squares where a node holds as many uses as have room in it, whatever lies in its neighbours.

    alone[k][c]: inside of a node of 2^k steps with c uses. beside[k][c]: of everything outside of one.
    """

    def __init__(self, steps: int, uses: int, separation: int) -> None:
        self.steps, self.uses, self.separation = steps, uses, separation
        self.levels = steps.bit_length()
        self.roots = [level for level in reversed(range(self.levels)) if steps >> level & 1]  # from left to right
        self.alone: list[Integers] = [np.array([0, 1])]
        for level in range(1, self.levels):
            room = min(uses, -(-(2**level) // separation))
            both = _best_sums(self.alone[-1], self.alone[-1], room)
            self.alone.append(both + np.arange(len(both)) ** 2)
        self.beside = [np.empty(0, dtype=np.int64)] * self.levels
        for level in reversed(range(self.levels)):
            self.beside[level] = self._beside(level)
        self.most = int(self.outside(self.roots)[uses])

    def outside(self, roots: Sequence[int]) -> Integers:
        """The greatest squares in these trees with at most 0, 1, ... uses."""
        sums = reduce(lambda sums, root: _best_sums(sums, self.alone[root], self.uses), roots, np.zeros(1, np.int64))
        kept = np.full(self.uses + 1, sums.max())
        kept[: len(sums)] = np.maximum.accumulate(sums)
        return kept

    def _beside(self, level: int) -> Integers:
        alone = self.alone[level]
        most = np.full(len(alone), -_NEVER)
        if level in self.roots:
            most = self.outside([root for root in self.roots if root != level])[::-1][: len(alone)]
            most = np.asarray(most).copy()
        if level + 1 < self.levels:
            above = self.beside[level + 1] + np.arange(len(self.alone[level + 1])) ** 2
            for count in range(min(len(alone), len(above))):
                sibling = alone[: len(above) - count]
                most[count] = max(most[count], (sibling + above[count : count + len(sibling)]).max())
        return most


class _Search:
    """The greatest squares of uses that are really apart: all ways from the leaves up that the relaxed bound allows."""

    def __init__(self, relaxed: _Relaxed, attained: int) -> None:
        self._relaxed, self._attained, self._pairs = relaxed, attained, 0
        nodes: list[Uses] = []
        for level in range(relaxed.levels):
            if 2**level <= relaxed.separation:
                free, own = (0, -_NEVER, _NEVER), (level + 1, relaxed.separation - 2**level, 2**level - 1)
                nodes.append({0: [free], 1: [own]})
            else:
                squares = np.arange(len(relaxed.alone[level])) ** 2
                half = 2 ** (level - 1)
                nodes.append(self._joined(nodes[-1], nodes[-1], (half, half), squares, relaxed.beside[level]))
        whole: Uses = {0: [(0, -_NEVER, _NEVER)]}
        size = 0
        for turn, root in enumerate(relaxed.roots):
            rest = relaxed.outside(relaxed.roots[turn + 1 :])[::-1]
            whole = self._joined(whole, nodes[root], (size, 2**root), np.zeros_like(rest), rest)
            size += 2**root
        found = max(entries[0][0] for entries in whole.values()) if whole else relaxed.most
        self.most = relaxed.most if self._pairs > _MOST_PAIRS else found

    def _joined(self, left: Uses, right: Uses, sizes: tuple[int, int], squares: Integers, beside: Integers) -> Uses:
        """Two neighbours of these sizes as one, less what cannot come to the attained squares any more."""
        separation, joined = self._relaxed.separation, dict[int, list[tuple[int, int, int]]]()
        for first, second in ((one, two) for one in left for two in right if one + two < len(beside)):
            count = first + second
            own, needed = int(squares[count]), self._attained - int(beside[count]) - int(squares[count])
            for value, after, latest in left[first]:
                for other, behind, last in right[second]:
                    if value + other < needed or self._pairs > _MOST_PAIRS:
                        break  # entries descend
                    self._pairs += 1
                    start = max(after, 0)
                    begin = min(latest, last - first * separation + sizes[0])
                    if start <= last and begin >= 0:
                        end = max(behind, start + second * separation - sizes[1])
                        joined.setdefault(count, []).append((value + other + own, end, begin))
        return {count: _unbeaten(entries) for count, entries in joined.items()}


def _unbeaten(entries: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    kept: list[tuple[int, int, int]] = []
    for value, end, begin in sorted(set(entries), key=lambda entry: (-entry[0], entry[1], -entry[2])):
        if not any(end >= other_end and begin <= other_begin for _, other_end, other_begin in kept):
            kept.append((value, end, begin))
    return kept


def _best_sums(left: Integers, right: Integers, most: int) -> Integers:
    """The greatest sums of squares in two nodes side by side, by their uses together, up to `most`."""
    size = min(most, len(left) + len(right) - 2) + 1
    sums = np.full(size, -_NEVER)
    for count, value in enumerate(left[:size]):
        part = right[: size - count] + value
        sums[count : count + len(part)] = np.maximum(sums[count : count + len(part)], part)
    return sums


def _evenly(steps: int, uses: int, separation: int) -> int:
    """The greatest squares of uses exactly `separation` apart, from some of the possible first steps."""
    starts = np.unique(np.linspace(0, max(steps - 1 - (uses - 1) * separation, 0), _OFFSETS).astype(np.int64))
    places = starts[:, np.newaxis] + separation * np.arange(uses)
    squares = np.zeros(len(starts), dtype=np.int64)
    for level in range(steps.bit_length()):
        node, whole = places >> level, steps >> level
        inside = node < whole
        if 2**level <= separation:  # no node has two
            squares += inside.sum(axis=1)
            continue
        counts = np.bincount(
            (node + np.arange(len(starts))[:, np.newaxis] * whole)[inside], minlength=whole * len(starts)
        )
        squares += (counts.reshape(len(starts), whole) ** 2).sum(axis=1)
    return int(squares.max())


def _by_levels(steps: int, uses: int, separation: int) -> int:
    """An upper bound for many uses: small nodes by the most squares a use, and large ones level by level."""
    rooms = [min(uses, -(-(2**level) // separation)) for level in range(steps.bit_length())]
    small = max(level for level, room in enumerate(rooms) if room <= _MOST_USES)
    alone = _Relaxed(2**small, rooms[small], separation).alone[small]
    each = max(Fraction(int(value), count) for count, value in enumerate(alone) if count)
    above = sum(room * min(uses, (steps >> level) * room) for level, room in enumerate(rooms) if level > small)
    return int(math.floor(each * uses) + above)
