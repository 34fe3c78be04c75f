"""Exact least squares over a whole hierarchy, with variances, in linear time.

The time is linear in the number of cells. Measured tables of one unit are sums over columns, so their information is
diagonal in the residual spaces of the sets of columns, and units add up alike in each of them. So every space is a tree
of numbers of its own, which two passes solve: see docs/theory/synthesis/hierarchies.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.numbers.arrays import Floats, Mask
from deniable.synthesis.hierarchy.cells import CountedCells, Table
from deniable.synthesis.hierarchy.geography import Geography


@dataclass(frozen=True, eq=False)
class MeasuredTable:
    """One table that was measured in every unit of one level.

    Args:
        table: the columns of the table.
        values: unbiased, of shape (units, cells of the table).
        precision: 1 / variance of the values of every unit, of shape (units,): 0 where nothing was measured, infinite
            where the values are exact.
    """

    table: Table
    values: Floats
    precision: Floats


@dataclass(frozen=True, eq=False)
class Estimates:
    """Best linear unbiased estimates of all cells, with their variances.

    Args:
        cells: the columns.
        values: of each level, of shape (units, cells).
        variances: of each level, of shape (units, spaces): variance of a coordinate in each space; infinite where the
            measurements do not determine it.
        spaces: dimensions of the residuals that belong to each space.
    """

    cells: CountedCells
    values: tuple[Floats, ...]
    variances: tuple[Floats, ...]
    spaces: tuple[dict[Table, int], ...]

    def variance(self, level: int, table: Table) -> Floats:
        """Return the variance of a table's cells in each unit of a level: shape (units,).

        Args:
            level: its number; the root has 0.
            table: the columns of the table.
        """
        columns, size = set(table), self.cells.size_of(table)
        total = np.zeros(len(self.values[level]))
        for index, residuals in enumerate(self.spaces):
            dimension = sum(count for each, count in residuals.items() if columns.issuperset(each))
            if dimension:
                total += self.variances[level][:, index] * (self.cells.size / size * dimension / size)
        return total


def least_squares(geography: Geography, cells: CountedCells, measured: Sequence[Sequence[MeasuredTable]]) -> Estimates:
    """Return the consistent estimates of least variance for all cells of all units.

    Args:
        geography: the tree of units.
        cells: the columns.
        measured: of each level, the root first, its measured tables.

    Guarantee: equal to generalised least squares over all measurements. Where these do not determine a number, its
        variance is infinite and its value one of those that fit.
    """
    tables = list(dict.fromkeys(one.table for level in measured for one in level))
    spaces: dict[tuple[bool, ...], dict[Table, int]] = {}
    for residual, dimension in cells.residuals().items():
        if dimension:
            seen = tuple(set(table).issuperset(residual) for table in tables)
            spaces.setdefault(seen, {})[residual] = dimension
    values = [np.zeros((size, cells.size)) for size in geography.sizes]
    variances: list[list[Floats]] = [[] for _ in geography.sizes]
    for seen in spaces:
        members = [table for table, inside in zip(tables, seen, strict=True) if inside]
        others = [table for table, inside in zip(tables, seen, strict=True) if not inside]
        local = [
            _local(cells, [one for one in level if one.table in members], (members, others), size)
            for level, size in zip(measured, geography.sizes, strict=True)
        ]
        for level, (estimate, variance) in enumerate(_smoothed(geography, local)):
            values[level] += estimate
            variances[level].append(variance)
    return Estimates(
        cells=cells,
        values=tuple(values),
        variances=tuple(np.stack(each, axis=1) for each in variances),
        spaces=tuple(spaces.values()),
    )


def _local(
    cells: CountedCells, measured: Sequence[MeasuredTable], tables: tuple[Sequence[Table], Sequence[Table]], units: int
) -> tuple[Floats, Floats]:
    """Estimates in one space from each unit's own tables, and their variances.

    The estimates have the shape (units, cells).

    Args:
        measured: those of the unit's tables that see the space.
        tables: all that see it, and all others.
    """
    members, others = tables
    if not measured:
        return np.zeros((units, cells.size)), np.full(units, np.inf)
    precisions = np.stack([one.precision * (cells.size / cells.size_of(one.table)) for one in measured])
    exact = np.isinf(precisions)
    weights = np.where(exact.any(axis=0), exact, precisions).astype(np.float64)
    sums = weights.sum(axis=0)
    estimate = np.zeros((units, cells.size))
    for one, weight in zip(measured, weights, strict=True):
        share = np.divide(weight, sums, out=np.zeros(units), where=sums > 0) * (cells.size_of(one.table) / cells.size)
        estimate += cells.spread(one.values * share[:, None], one.table)
    for table in members:
        estimate = cells.averaged(estimate, table)
    for table in others:
        estimate = estimate - cells.averaged(estimate, table)
    with np.errstate(divide="ignore"):
        variance = np.where(exact.any(axis=0), 0.0, 1 / precisions.sum(axis=0))
    return estimate, variance


def _smoothed(geography: Geography, local: Sequence[tuple[Floats, Floats]]) -> list[tuple[Floats, Floats]]:
    """Combine estimates of units upwards, then share the residuals downwards.

    Upwards, a unit's own estimate is combined with the sum of its children's.
    """
    up = list(local)
    sums: list[tuple[Floats, Floats]] = []  # of the children's estimates, and of their variances
    for level in range(len(local) - 1, 0, -1):
        estimate, variance = up[level]
        unknown = np.isinf(variance)
        children = geography.sums(level, np.where(unknown[:, None], 0.0, estimate))
        spread = geography.sums(level, variance)
        sums.insert(0, (children, spread))
        own, own_variance = local[level - 1]
        up[level - 1] = _combined(own, own_variance, children, spread)
    down = [up[0]]
    for level in range(1, len(local)):
        estimate, variance = up[level]
        children, spread = sums[level - 1]
        above, above_variance = down[-1]
        parents = geography.parents[level - 1]
        unknown = np.isinf(variance)
        share = _share(geography, level, variance, spread[parents], unknown)
        estimate = np.where(unknown[:, None], 0.0, estimate) + share[:, None] * (above - children)[parents]
        known = geography.sums(level, np.where(unknown, 0.0, variance))
        alone = unknown & (geography.sums(level, unknown.astype(np.int64))[parents] == 1)
        with np.errstate(invalid="ignore"):
            finite = variance + share**2 * (above_variance[parents] - spread[parents])
        after = np.where(np.isinf(spread[parents]), variance, finite)
        after = np.where(alone, above_variance[parents] + known[parents], after)
        down.append((estimate, np.maximum(after, 0.0)))
    return down


def _combined(one: Floats, one_variance: Floats, other: Floats, other_variance: Floats) -> tuple[Floats, Floats]:
    """Weighted mean of two independent estimates.

    An exact one stands, an unknown one has no weight.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = other_variance / (one_variance + other_variance)
        variance = 1 / (1 / one_variance + 1 / other_variance)
    weight = np.where(np.isinf(other_variance), 1.0, np.where(np.isinf(one_variance), 0.0, weight))
    weight = np.where(one_variance == 0, 1.0, weight)
    return weight[:, None] * one + (1 - weight)[:, None] * other, variance


def _share(geography: Geography, level: int, variance: Floats, spread: Floats, unknown: Mask) -> Floats:
    """Part of a parent's residual that each child takes.

    It is in proportion to the variance; unknown children take all of it.
    """
    parents = geography.parents[level - 1]
    open_children = geography.sums(level, unknown.astype(np.int64))[parents]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(spread > 0, variance / spread, 0.0)
    return np.where(open_children > 0, unknown / np.maximum(open_children, 1), share)
