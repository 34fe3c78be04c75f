"""Declared units of a hierarchy: a tree of public names, children side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Indices
from deniable.synthesis.hierarchy.cells import RESERVED

ROOT = "all"  # the level above all others, which has one unit


@dataclass(frozen=True, eq=False)
class Geography:
    """Tree of units, by level from the root to the leaves. All of it is public.

    A unit is known by its path: county "Lake" of one state and county "Lake" of another are two units.

    Args:
        levels: names of the levels, the coarsest first and without the root.
        paths: the path of every leaf, in any order: one key for each level.

    Supported operations: `sizes`, `parents`, `names_of`, `index_of`, `sums`.

    Raises: InvalidParameterError for levels without a name of their own, and for a path that is listed twice, or has
        another length or a missing key.

    >>> tree = Geography(("state", "county"), [("n", 1), ("s", 1), ("n", 2)])
    >>> tree.names_of(2), [parents.tolist() for parents in tree.parents]
    ([('n', 1), ('n', 2), ('s', 1)], [[0, 0], [0, 0, 1]])
    """

    levels: tuple[str, ...]
    paths: Sequence[tuple[Any, ...]]

    def __post_init__(self) -> None:
        names = [level.casefold() for level in (ROOT, *self.levels)]
        if not self.levels or len(set(names)) < len(names):
            raise InvalidParameterError(
                f"a hierarchy needs levels with different names, none of them {ROOT!r}; got {list(self.levels)}."
            )
        if RESERVED.intersection(self.levels):
            raise InvalidParameterError(
                f"a level cannot have the name of one of the answer's own columns: {', '.join(sorted(RESERVED))}."
            )
        if not self.paths:
            raise InvalidParameterError("a hierarchy needs at least one declared unit.")
        if any(len(path) != len(self.levels) or None in path for path in self.paths):
            raise InvalidParameterError(
                f"every declared unit needs one key for each of {', '.join(self.levels)}, and none may be missing."
            )
        if self.sizes[-1] < len(self.paths):
            raise InvalidParameterError(f"a unit of level {self.levels[-1]} is declared twice.")

    @cached_property
    def _codes(self) -> list[tuple[Indices, Indices]]:
        """Units of every declared leaf, by level below the root, and a leaf of each unit."""
        codes = np.zeros(len(self.paths), dtype=np.int64)
        codes_by_level = []
        for column in zip(*self.paths, strict=True):
            known = {key: code for code, key in enumerate(dict.fromkeys(column))}
            own = np.fromiter(map(known.__getitem__, column), dtype=np.int64, count=len(column))
            _, first, codes = np.unique(codes * len(known) + own, return_index=True, return_inverse=True)
            codes_by_level.append((codes, first))
        return codes_by_level

    @property
    def all_levels(self) -> tuple[str, ...]:
        """Names of the levels, that of the root first."""
        return (ROOT, *self.levels)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of units of each level, the root's first."""
        return (1, *(first.size for _, first in self._codes))

    @cached_property
    def parents(self) -> tuple[Indices, ...]:
        """For each level below the root, the index of every unit's parent; it never falls."""
        above = [np.zeros(len(self.paths), dtype=np.int64), *(codes for codes, _ in self._codes)]
        return tuple(codes[first] for codes, (_, first) in zip(above, self._codes, strict=False))

    @property
    def leaf_order(self) -> Indices:
        """Declared index of every leaf, in the order of the tree."""
        return self._codes[-1][1]

    def names_of(self, level: int) -> list[tuple[Any, ...]]:
        """Return the path of every unit of a level; 0 is the root."""
        if level == 0:
            return [()]
        return [self.paths[index][:level] for index in self._codes[level - 1][1].tolist()]

    def index_of(self, level: str) -> int:
        """Return the number of a level; the root has 0.

        Raises: InvalidParameterError if there is none of this name.
        """
        if level not in self.all_levels:
            raise InvalidParameterError(
                f"there is no level {level!r}. The levels of this hierarchy: {', '.join(self.all_levels)}."
            )
        return self.all_levels.index(level)

    def sums(self, level: int, values: Any) -> Any:
        """Return the sum of the children's values, for every unit of the level above.

        Args:
            level: of the children, from 1 on.
            values: of shape (units of the level, ...).
        """
        parents = self.parents[level - 1]
        starts = np.flatnonzero(np.diff(parents, prepend=-1))
        return np.add.reduceat(values, starts, axis=0)
