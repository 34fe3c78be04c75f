"""Nearest whole numbers of at least 0 that add up to given sums, exactly.

With one sum a list, they are found by a projection and largest remainders. With sums of rows and of columns, they are a
flow of least cost, which shortest augmenting paths find for many tables at once: see
docs/theory/synthesis/hierarchies.md.
"""

from __future__ import annotations

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats, Indices, Integers, Mask

NEWTON_STEPS = 100  # of the potentials, before whole numbers are taken; a handful suffices
SUM_TOLERANCE = 0.25  # of a sum: potentials that come this near are good enough to start with
FIRST_DAMPING, LEAST_DAMPING = 1e-3, 1e-9  # of Newton's matrix, whose rows add up to 0


def nearest_with_sum(points: Floats, totals: Integers) -> tuple[Integers, Floats]:
    """Return the nonnegative whole numbers of given sums that are nearest to points.

    Args:
        points: of shape (lists, entries); an entry that must be 0 is -infinity.
        totals: of shape (lists,), at least 0; above 0 only where some entry is finite.

    Returns: the numbers, and for each list a shift after which every point rounds to its number.
    Guarantee: the sum of squared distances is least among all such numbers.
    """
    shifts = _simplex_shifts(points, totals)
    shifted = points + shifts[:, None]
    whole = np.floor(np.maximum(shifted, 0.0))
    fractions = shifted - whole
    left = totals - whole.sum(axis=1).astype(np.int64)
    order = np.argsort(-fractions, axis=1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(points.shape[1]), order.shape), axis=1)
    numbers = whole.astype(np.int64) + (ranks < left[:, None])
    ranked = np.take_along_axis(fractions, order, axis=1)
    ends = np.concatenate([np.ones((len(points), 1)), ranked, np.zeros((len(points), 1))], axis=1)
    rows = np.arange(len(points))
    between = (ends[rows, left] + np.maximum(ends[rows, left + 1], 0.0)) / 2
    return numbers, shifts + 0.5 - between


def _simplex_shifts(points: Floats, totals: Integers) -> Floats:
    """Shifts after which the parts of points above 0 have given sums.

    Their shape is (lists,); see `numbers.simplex`.
    """
    highest = points.max(axis=1)
    highest = np.where(np.isfinite(highest), highest, 0.0)
    largest = -np.sort(highest[:, None] - points, axis=1)  # so that sums lose nothing to a common part
    with np.errstate(invalid="ignore"):
        limits = (np.cumsum(largest, axis=1) - totals[:, None]) / np.arange(1, points.shape[1] + 1)
        positive = np.maximum((largest > limits).sum(axis=1), 1)
    limit = limits[np.arange(len(points)), positive - 1]
    return -np.where(np.isfinite(limit), limit, 0.0) - highest


def nearest_with_margins(points: Floats, rows: Integers, columns: Integers) -> Integers:
    """Return tables of nonnegative whole numbers of given margins, nearest to points.

    Args:
        points: of shape (tables, rows, columns); an entry that must be 0 is -infinity.
        rows: sums of every row, of shape (tables, rows), at least 0.
        columns: sums of every column, of shape (tables, columns), at least 0; those of a table add up as its rows do.

    Guarantee: the sum of squared distances is least among all such tables.
    Raises: InvalidParameterError for margins that no such table has.
    """
    if not np.array_equal(rows.sum(axis=1), columns.sum(axis=1)) or min(rows.min(), columns.min()) < 0:
        raise InvalidParameterError("sums of rows and columns must be at least 0, and equal in total.")
    _, height, width = points.shape
    if width > height:  # units move between columns: the fewer of them, the faster
        return nearest_with_margins(points.transpose(0, 2, 1), columns, rows).transpose(0, 2, 1)
    shifted = points + _potentials(points, rows, columns)[:, None, :]
    numbers, _ = nearest_with_sum(shifted.reshape(-1, width), rows.reshape(-1))
    transport = _Transport(shifted, numbers.reshape(points.shape))
    missing = columns - transport.numbers.sum(axis=1)
    while missing.any():
        transport.augment(missing)
        missing = columns - transport.numbers.sum(axis=1)
    return transport.numbers


def _potentials(points: Floats, rows: Integers, columns: Integers) -> Floats:
    """Shifts of columns after which the nearest real rows nearly meet column sums.

    Their shape is (tables, columns). Every row is projected onto its own sum, so the dual problem is in the columns
    alone: concave and piecewise quadratic, with the missing parts of the columns as its gradient. Newton's method with
    damping solves it.
    """
    tables, _, width = points.shape
    potentials = np.zeros((tables, width))
    damping = np.full(tables, FIRST_DAMPING)
    nearest, missing, value = _dual(points, rows, columns, potentials)
    diagonal = np.arange(width)
    for _ in range(NEWTON_STEPS):
        left = np.flatnonzero(np.abs(missing).max(axis=1) >= SUM_TOLERANCE)
        if not left.size:
            break
        active = (nearest[left] > 0).astype(np.float64)
        scaled = active / np.maximum(active.sum(axis=2), 1)[:, :, None]
        curvature = -scaled.transpose(0, 2, 1) @ active
        own = active.sum(axis=1)
        curvature[:, diagonal, diagonal] += own + damping[left][:, None] * (1 + own)
        moved = potentials[left] + np.linalg.solve(curvature, missing[left][:, :, None])[:, :, 0]
        reached, short, worth = _dual(points[left], rows[left], columns[left], moved)
        better = (worth > value[left]) | (np.abs(short).max(axis=1) < np.abs(missing[left]).max(axis=1))
        kept = left[better]
        potentials[kept], nearest[kept] = moved[better], reached[better]
        missing[kept], value[kept] = short[better], worth[better]
        damping[left] = np.where(better, np.maximum(damping[left] / 10, LEAST_DAMPING), damping[left] * 10)
    return potentials


def _dual(points: Floats, rows: Integers, columns: Integers, potentials: Floats) -> tuple[Floats, Floats, Floats]:
    """Nearest real rows after a shift of columns, missing parts of these, dual value."""
    shifted = (points + potentials[:, None, :]).reshape(-1, points.shape[2])
    nearest = np.maximum(shifted + _simplex_shifts(shifted, rows.ravel())[:, None], 0.0).reshape(points.shape)
    missing = columns - nearest.sum(axis=1)
    inside = np.where(nearest > 0, points, 0.0)
    value = (nearest * (nearest / 2 - inside)).sum(axis=(1, 2)) + (potentials * missing).sum(axis=1)
    return nearest, missing, value


class _Transport:
    """Tables in which units move between columns along shortest paths.

    Rows have their sums at all times. A unit leaves column j of a row for column k at the cost of the change of the
    squared distance, halved: that of one unit less in one cell, and of one more in the other. `_costs` has the least
    over all rows. Since every row is nearest to its points, up to a shift of its own, no cycle has a cost below 0;
    `_potentials` of columns keep every single cost from being below 0 too, and moves along shortest paths leave it so.
    """

    def __init__(self, points: Floats, numbers: Integers) -> None:
        self.numbers = numbers
        self._points = points
        self._more = numbers - points + 0.5
        self._less = np.where(numbers > 0, points - numbers + 0.5, np.inf)
        tables, height, width = points.shape
        self._potentials = np.zeros((tables, width))
        self._costs = np.full((tables, width, width), np.inf)
        for row in range(height):
            through = self._less[:, row, :, None] + self._more[:, row, None, :]
            np.minimum(self._costs, through, out=self._costs)

    def augment(self, missing: Integers) -> None:
        """Move units from columns with too much to columns with too little.

        Their paths have no common column.

        Args:
            missing: of every column, of shape (tables, columns); below 0 where it has too much.
        """
        tables = np.flatnonzero(missing.any(axis=1))
        sources = missing[tables] < 0
        potentials = self._potentials[tables]
        costs = np.maximum(self._costs[tables] + potentials[:, :, None] - potentials[:, None, :], 0.0)
        distances, before = _distances(costs, sources)
        largest = np.where(np.isinf(distances), 0.0, distances).max(axis=1, keepdims=True)
        self._potentials[tables] += np.minimum(distances, largest)
        chosen, ends = _disjoint_paths(missing[tables], sources, distances, before)
        while chosen.size:
            starts = before[chosen, ends]
            self._move(tables[chosen], starts, ends)
            onwards = ~sources[chosen, starts]
            chosen, ends = chosen[onwards], starts[onwards]

    def _move(self, tables: Indices, starts: Indices, ends: Indices) -> None:
        """Move one unit from one column of each table to another, in the cheapest row."""
        rows = (self._less[tables, :, starts] + self._more[tables, :, ends]).argmin(axis=1)
        for columns, change in ((starts, -1), (ends, 1)):
            self.numbers[tables, rows, columns] += change
            numbers, points = self.numbers[tables, rows, columns], self._points[tables, rows, columns]
            self._more[tables, rows, columns] = numbers - points + 0.5
            self._less[tables, rows, columns] = np.where(numbers > 0, points - numbers + 0.5, np.inf)
        more, less = self._more[tables, rows], self._less[tables, rows]  # (moves, columns): these rows only got cheaper
        arriving = less + self._more[tables, rows, starts][:, None]
        leaving = more + self._less[tables, rows, ends][:, None]
        self._costs[tables, :, starts] = np.minimum(self._costs[tables, :, starts], arriving)
        self._costs[tables, ends, :] = np.minimum(self._costs[tables, ends, :], leaving)
        leaving = (self._less[tables, :, starts][:, :, None] + self._more[tables]).min(axis=1)
        arriving = (self._more[tables, :, ends][:, :, None] + self._less[tables]).min(axis=1)
        self._costs[tables, starts, :] = leaving
        self._costs[tables, :, ends] = arriving


def _distances(costs: Floats, sources: Mask) -> tuple[Floats, Indices]:
    """Distances of columns from the nearest source, and the column before each.

    The method is that of Bellman and Ford.
    """
    distances = np.where(sources, 0.0, np.inf)
    before = np.zeros(sources.shape, dtype=np.int64)
    while True:
        reached = distances[:, :, None] + costs
        nearest = reached.argmin(axis=1)
        shortest = np.take_along_axis(reached, nearest[:, None, :], axis=1)[:, 0, :]
        nearer = shortest < distances
        if not nearer.any():
            return distances, before
        distances[nearer], before[nearer] = shortest[nearer], nearest[nearer]


def _disjoint_paths(missing: Integers, sources: Mask, distances: Floats, before: Indices) -> tuple[Indices, Indices]:
    """Tables and last columns of paths without a common column, one for each source.

    A path ends at the nearest column with too little in the tree of its source.
    """
    width = missing.shape[1]
    roots = np.where(sources, np.arange(width), before)
    for _ in range(width.bit_length()):
        roots = np.take_along_axis(roots, roots, axis=1)
    tables, ends = np.nonzero(missing > 0)
    order = np.argsort(distances[tables, ends], kind="stable")
    tables, ends = tables[order], ends[order]
    _, first = np.unique(tables * width + roots[tables, ends], return_index=True)
    return tables[first], ends[first]
