"""Sensitivity of the nodes of a binary tree over training steps.

Proof: docs/theory/mechanisms/correlated.md.
"""

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

_MAX_USES = 2000  # uses of one unit up to which every node is searched
_MAX_PAIRS = 2 * 10**5  # pairs of entries that a search may compare; beyond it the relaxed bound is returned
_START_OFFSETS = 128  # first steps that are tried for evenly spaced uses
_NEVER = 2**62  # minus or plus infinity in int64


@lru_cache(maxsize=256)
def squared_tree_sensitivity(steps: int, times: int, separation: int) -> int:
    """Return the greatest squared l2 norm of the nodes of a binary tree.

    Each use of a unit moves its step by at most 1. Nodes are the sums of 2^k steps from multiples of 2^k on that end by
    the last step.

    Args:
        steps: the number of steps.
        times: at most this many steps use a unit.
        separation: at least this many steps lie from one use to the next.

    Guarantee: exact for up to 2,000 uses, unless the search becomes too long; else an upper bound, within 5% of it
        wherever that was measured.

    >>> squared_tree_sensitivity(1024, 1, 1)
    11
    """
    uses = min(times, (steps - 1) // separation + 1)
    if uses > _MAX_USES:
        return _by_levels(steps, uses, separation)
    return _Search(_Relaxed(steps, uses, separation), _evenly(steps, uses, separation)).greatest


class _Relaxed:
    """Greatest sums of squares where each node holds as many uses as fit into it.

    Uses in neighbouring nodes are ignored. alone[k][c]: inside a node of 2^k steps with c uses. beside[k][c]: of
    everything outside one.

    alone[k][c]: inside of a node of 2^k steps with c uses. beside[k][c]: of everything outside of one.
    """

    def __init__(self, steps: int, uses: int, separation: int) -> None:
        self.steps = steps
        self.uses = uses
        self.separation = separation
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
        self.greatest = int(self.outside(self.roots)[uses])

    def outside(self, roots: Sequence[int]) -> Integers:
        """Return the greatest squares in these trees with at most 0, 1, ... uses."""
        sums = reduce(lambda sums, root: _best_sums(sums, self.alone[root], self.uses), roots, np.zeros(1, np.int64))
        kept = np.full(self.uses + 1, sums.max())
        kept[: len(sums)] = np.maximum.accumulate(sums)
        return kept

    def _beside(self, level: int) -> Integers:
        """Return the greatest squares outside a node of this level, by its uses."""
        alone = self.alone[level]
        greatest = np.full(len(alone), -_NEVER)
        if level in self.roots:
            greatest = self.outside([root for root in self.roots if root != level])[::-1][: len(alone)]
            greatest = np.asarray(greatest).copy()
        if level + 1 < self.levels:
            above = self.beside[level + 1] + np.arange(len(self.alone[level + 1])) ** 2
            for count in range(min(len(alone), len(above))):
                sibling = alone[: len(above) - count]
                greatest[count] = max(greatest[count], (sibling + above[count : count + len(sibling)]).max())
        return greatest


class _Search:
    """Greatest sum of squares of truly separated uses, by dynamic programming.

    All ways from the leaves up that the relaxed bound allows are followed.
    """

    def __init__(self, relaxed: _Relaxed, attained: int) -> None:
        self._relaxed = relaxed
        self._attained = attained
        self._pairs = 0
        nodes: list[Uses] = []
        for level in range(relaxed.levels):
            if 2**level <= relaxed.separation:
                free = (0, -_NEVER, _NEVER)
                own = (level + 1, relaxed.separation - 2**level, 2**level - 1)
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
        best = max(entries[0][0] for entries in whole.values()) if whole else relaxed.greatest
        self.greatest = relaxed.greatest if self._pairs > _MAX_PAIRS else best

    def _joined(self, left: Uses, right: Uses, sizes: tuple[int, int], squares: Integers, beside: Integers) -> Uses:
        """Return two neighbouring nodes of these sizes as one.

        Entries that can no longer come to the attained squares are dropped.
        """
        separation = self._relaxed.separation
        joined = dict[int, list[tuple[int, int, int]]]()
        for first, second in ((one, two) for one in left for two in right if one + two < len(beside)):
            count = first + second
            own = int(squares[count])
            needed = self._attained - int(beside[count]) - int(squares[count])
            for value, after, latest in left[first]:
                for other, behind, last in right[second]:
                    if value + other < needed or self._pairs > _MAX_PAIRS:
                        break  # entries descend
                    self._pairs += 1
                    start = max(after, 0)
                    begin = min(latest, last - first * separation + sizes[0])
                    if start <= last and begin >= 0:
                        end = max(behind, start + second * separation - sizes[1])
                        joined.setdefault(count, []).append((value + other + own, end, begin))
        return {count: _unbeaten(entries) for count, entries in joined.items()}


def _unbeaten(entries: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Return the entries that no other entry beats in all three numbers."""
    kept: list[tuple[int, int, int]] = []
    for value, end, begin in sorted(set(entries), key=lambda entry: (-entry[0], entry[1], -entry[2])):
        if not any(end >= other_end and begin <= other_begin for _, other_end, other_begin in kept):
            kept.append((value, end, begin))
    return kept


def _best_sums(left: Integers, right: Integers, max_uses: int) -> Integers:
    """Return the greatest sums of squares in two adjacent nodes, by their joint uses."""
    size = min(max_uses, len(left) + len(right) - 2) + 1
    sums = np.full(size, -_NEVER)
    for count, value in enumerate(left[:size]):
        part = right[: size - count] + value
        sums[count : count + len(part)] = np.maximum(sums[count : count + len(part)], part)
    return sums


def _evenly(steps: int, uses: int, separation: int) -> int:
    """Return the greatest squares of uses exactly `separation` apart.

    Some of the possible first steps are tried.
    """
    starts = np.unique(np.linspace(0, max(steps - 1 - (uses - 1) * separation, 0), _START_OFFSETS).astype(np.int64))
    positions = starts[:, np.newaxis] + separation * np.arange(uses)
    squares = np.zeros(len(starts), dtype=np.int64)
    for level in range(steps.bit_length()):
        node, whole = positions >> level, steps >> level
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
    """Return an upper bound for many uses, level by level.

    Small nodes count by the most squares a use, large ones level by level.
    """
    rooms = [min(uses, -(-(2**level) // separation)) for level in range(steps.bit_length())]
    small = max(level for level, room in enumerate(rooms) if room <= _MAX_USES)
    alone = _Relaxed(2**small, rooms[small], separation).alone[small]
    each = max(Fraction(int(value), count) for count, value in enumerate(alone) if count)
    above = sum(room * min(uses, (steps >> level) * room) for level, room in enumerate(rooms) if level > small)
    return int(math.floor(each * uses) + above)
