"""Whole numbers for every cell of a hierarchy that meet every constraint exactly.

They are made from the root down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from deniable.numbers.arrays import Floats, Indices, Integers, Mask
from deniable.synthesis.hierarchy.cells import Table
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.integers import nearest_with_margins, nearest_with_sum
from deniable.synthesis.hierarchy.least_squares import Estimates

CELLS_AT_ONCE = 2**20  # of the units whose numbers are sought together: bounds the memory


def whole_numbers(
    geography: Geography, estimates: Estimates, chain: Sequence[Table], constraints: Constraints
) -> tuple[Integers, ...]:
    """Return whole numbers of at least 0 for all cells of all units.

    Those of a level have the shape (units, cells).

    A level's tables are made one after another, from the coarsest of the chain to the cells. Each is the nearest to the
    estimates among those that add up to the numbers of the parents and of the coarser table, and meet the constraints.

    Args:
        geography: the tree of units.
        estimates: of all cells.
        chain: nested tables, as `chain_of` gives them.
        constraints: that the numbers meet.

    Guarantee: children add up to their parents in every cell; totals that are held, and least counts, are met.
    """
    cells = estimates.cells
    made: list[Integers] = []
    for level, points in enumerate(estimates.values):
        stated = constraints.minima_of_cells[level]
        minima = np.zeros(points.shape, dtype=np.int64) if stated is None else stated
        coarser: Table = ()
        numbers = np.zeros((0, 0), dtype=np.int64)
        for index, table in enumerate(chain):
            lower = cells.margin(minima, table)
            wanted = cells.margin(points, table) - lower
            if not table:
                lower, upper = (bound[:, None] for bound in constraints.bounds[level])
                wanted = np.where(lower == upper, -np.inf, cells.margin(points, table) - lower)
            above = cells.margin(made[-1], table) - geography.sums(level, lower) if level else None
            if index:
                left = numbers - cells.margin(minima, coarser)
                grouped = cells.grouped(wanted, table, coarser)
                beside = None if above is None else cells.grouped(above, table, coarser)
                refined = _refined(geography, level, grouped, left, beside)
                numbers = lower + cells.ungrouped(refined, table, coarser)
            else:
                numbers = lower + _coarsest(geography, level, wanted, above)
            coarser = table
        made.append(numbers)
    return tuple(made)


def _coarsest(geography: Geography, level: int, wanted: Floats, above: Integers | None) -> Integers:
    """Numbers that add up to those of the parents, if there are any.

    They have the shape (units, cells of the table).
    """
    if above is None:
        return np.rint(np.maximum(wanted, 0.0)).astype(np.int64)
    numbers = np.zeros(wanted.shape, dtype=np.int64)
    for parents, children, present in _families(geography, level, wanted.shape[1]):
        points = np.where(present[:, :, None], wanted[children], -np.inf).transpose(0, 2, 1)
        nearest, _ = nearest_with_sum(points.reshape(-1, points.shape[2]), above[parents].ravel())
        numbers[children[present]] = nearest.reshape(points.shape).transpose(0, 2, 1)[present]
    return numbers


def _refined(geography: Geography, level: int, wanted: Floats, left: Integers, above: Integers | None) -> Integers:
    """Numbers with the sums of the coarser table and of the parents.

    They have the shape (units, coarser cells, cells in each).

    Args:
        wanted: points of this shape.
        left: sums over the last axis.
        above: sums over the children of each parent, if there are parents.
    """
    if above is None:
        nearest, _ = nearest_with_sum(wanted.reshape(-1, wanted.shape[2]), left.ravel())
        return nearest.reshape(wanted.shape)
    numbers = np.zeros(wanted.shape, dtype=np.int64)
    for parents, children, present in _families(geography, level, wanted.shape[1] * wanted.shape[2]):
        points = np.where(present[:, :, None, None], wanted[children], -np.inf).transpose(0, 2, 1, 3)
        rows = np.where(present[:, :, None], left[children], 0).transpose(0, 2, 1)
        tables = points.reshape(-1, *points.shape[2:])
        columns = above[parents].reshape(len(tables), -1)
        nearest = nearest_with_margins(tables, rows.reshape(len(tables), -1), columns)
        numbers[children[present]] = nearest.reshape(points.shape).transpose(0, 2, 1, 3)[present]
    return numbers


def _families(geography: Geography, level: int, width: int) -> Iterator[tuple[Indices, Indices, Mask]]:
    """Yield parents with similar numbers of children, and the children.

    Yields indices of the parents, indices of the children, and which of these there are.

    Args:
        level: of the children.
        width: cells of each.
    """
    starts = np.flatnonzero(np.diff(geography.parents[level - 1], prepend=-1))
    counts = np.diff(starts, append=geography.sizes[level])
    order = np.argsort(counts, kind="stable")
    while order.size:
        batch = max(1, CELLS_AT_ONCE // (width * int(counts[order[-1]])))
        chosen, order = order[-batch:], order[:-batch]
        offsets = np.arange(counts[chosen].max())
        present = offsets < counts[chosen][:, None]
        yield chosen, np.where(present, starts[chosen][:, None] + offsets, starts[chosen][:, None]), present
