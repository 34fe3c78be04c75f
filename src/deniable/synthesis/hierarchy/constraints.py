"""Public constraints on the numbers of a hierarchy: totals and least counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Integers
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.geography import Geography

FREE = np.iinfo(np.int64).max  # as an upper bound of a total: none
MAX_COUNT = 2**40  # sums over a million cells are within 64 bits


@dataclass(frozen=True, eq=False)
class Constraints:
    """Invariants and inequalities of a hierarchy. Whoever states them publishes them.

    Args:
        geography: the tree of units.
        cells: the columns.
        totals: of some levels, the number of every unit's rows that is held, of shape (units,); -1 where none is.
        minima: of some levels, the least number of every cell, of shape (units, cells).
        minimum_totals: of some levels, the least total of every unit, of shape (units,).

    Raises: InvalidParameterError if they contradict each other.
    """

    geography: Geography
    cells: CountedCells
    totals: Mapping[int, Integers] = field(default_factory=dict)
    minima: Mapping[int, Integers] = field(default_factory=dict)
    minimum_totals: Mapping[int, Integers] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for level, (lower, upper) in enumerate(self.bounds):
            wrong = np.flatnonzero(lower > upper)
            if wrong.size:
                unit = "/".join(map(str, self.geography.names_of(level)[wrong[0]])) or self.geography.all_levels[0]
                raise InvalidParameterError(
                    f"the constraints contradict each other: {unit} must have at least {lower[wrong[0]]:,} and at most "
                    f"{upper[wrong[0]]:,}."
                )

    def __bool__(self) -> bool:
        return bool(self.totals or self.minima or self.minimum_totals)

    @cached_property
    def minima_of_cells(self) -> tuple[Integers | None, ...]:
        """Least number of every cell of each level, or None.

        The least numbers of its children are included.
        """
        by_level: list[Integers | None] = []
        for level in range(len(self.geography.sizes) - 1, -1, -1):
            own = self.minima.get(level)
            if by_level and by_level[-1] is not None:
                below = self.geography.sums(level + 1, by_level[-1])
                own = below if own is None else np.maximum(own, below)
            by_level.append(own)
        return tuple(reversed(by_level))

    @cached_property
    def bounds(self) -> tuple[tuple[Integers, Integers], ...]:
        """Least and greatest total of every unit of each level.

        They follow from the unit's own constraints and from those below it.
        """
        by_level: list[tuple[Integers, Integers]] = []
        for level in range(len(self.geography.sizes) - 1, -1, -1):
            size = self.geography.sizes[level]
            lower, upper = np.zeros(size, dtype=np.int64), np.full(size, FREE)
            if by_level:
                lower = self.geography.sums(level + 1, by_level[-1][0])
                below = by_level[-1][1]
                free = self.geography.sums(level + 1, (below == FREE).astype(np.int64)) > 0
                upper = np.where(free, FREE, self.geography.sums(level + 1, np.where(below == FREE, 0, below)))
            minimum = self.minima_of_cells[level]
            if minimum is not None:
                lower = np.maximum(lower, minimum.sum(axis=1))
            if level in self.minimum_totals:
                lower = np.maximum(lower, self.minimum_totals[level])
            if level in self.totals:
                held = self.totals[level] >= 0
                lower = np.where(held, np.maximum(lower, self.totals[level]), lower)
                upper = np.where(held, np.minimum(upper, self.totals[level]), upper)
            by_level.append((lower, upper))
        return tuple(reversed(by_level))
