"""Noisy tables of every unit of a hierarchy: their shares of a price, their noise.

Guarantee: every table of every level is a count of rows by public cells plus exact noise; all are measured at once, and
cost together what the plan states. See docs/theory/synthesis/hierarchies.md.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from html import escape

import numpy as np

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.noise.lattice import Lattice
from deniable.numbers.arrays import Integers
from deniable.numbers.rationals import Real, nonnegative_rational
from deniable.privacy import Budget, PrivacyLoss, Sensitivity, compose
from deniable.release.display import price as price_text
from deniable.synthesis.hierarchy.cells import CountedCells, Table
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.least_squares import Estimates, MeasuredTable, least_squares

SMALLEST_VARIANCE = 2.0**-40  # of hardly any noise, which least squares would take for exact


@dataclass(frozen=True, kw_only=True, eq=False)
class HierarchyPlan:
    """Plan of the noisy tables of a hierarchy, with their cost. All of it is public.

    Args:
        geography: the tree of units.
        cells: the columns that are counted in every unit.
        tables: the queries: tables of every unit.
        shares: of the price, of each level and table; they add up to 1. Nothing is measured for a share of 0.
        noises: of each level and table; None where nothing is measured.
        sensitivities: how far one unit of privacy moves each table of each level.
        lattice: the steps in which rows are counted.
        loss: of all tables together.
        price: what they were asked to cost.
    """

    geography: Geography
    cells: CountedCells
    tables: tuple[Table, ...]
    shares: tuple[tuple[Fraction, ...], ...]
    noises: tuple[tuple[AdditiveNoise | None, ...], ...]
    sensitivities: tuple[tuple[Sensitivity, ...], ...]
    lattice: Lattice
    loss: PrivacyLoss
    price: Price

    @classmethod
    def of(
        cls,
        geography: Geography,
        cells: CountedCells,
        *,
        weights: Mapping[str, Mapping[str, Real]],
        price: Price,
        sensitivity_of: Callable[[int], Sensitivity],
        lattice: Lattice,
        budget: Budget | None = None,
    ) -> HierarchyPlan:
        """Return the plan in which levels and queries share a price.

        Args:
            geography: the tree of units.
            cells: the columns.
            weights: of the queries of each level, as `CountedCells.table` reads them; 0 where nothing is named. Tables
                share the price in proportion.
            price: of all tables together.
            sensitivity_of: gives the sensitivity of a table by its number of cells in all units.
            lattice: the steps in which rows are counted.
            budget: of the ledger; only noise that it can pay for is considered.

        Raises: InvalidParameterError for weights below 0 or all 0, and queries that are one table; UnprovedError if the
            budget can pay for no noise.
        """
        for level in weights:
            geography.index_of(level)
        queries = dict.fromkeys(query for row in weights.values() for query in row)
        tables = tuple(map(cells.table, queries))
        if len(set(tables)) < len(tables):
            raise InvalidParameterError(f"queries must be different tables, got {list(queries)}.")
        stated = [[_weight(weights.get(level, {}), query) for query in queries] for level in geography.all_levels]
        total = sum(map(sum, stated), Fraction(0))
        if not total:
            raise InvalidParameterError("some query of some level needs a weight above 0.")
        shares = tuple(tuple(weight / total for weight in row) for row in stated)
        sensitivities = tuple(
            tuple(sensitivity_of(units * cells.size_of(table)) for table in tables) for units in geography.sizes
        )
        parts_of_price = [share for row in shares for share in row if share]
        rows = zip(sensitivities, shares, strict=True)
        moved = [each for row in rows for each, share in zip(*row, strict=True) if share]
        for noises in price.choices(moved, parts_of_price):
            parts = [noise.privacy_loss(each) for noise, each in zip(noises, moved, strict=True)]
            loss = price.stated(compose(parts))
            if budget is None or budget.can_price(loss):
                left = iter(noises)
                chosen = tuple(tuple(next(left) if share else None for share in row) for row in shares)
                return cls(
                    geography=geography,
                    cells=cells,
                    tables=tables,
                    shares=shares,
                    noises=chosen,
                    sensitivities=sensitivities,
                    lattice=lattice,
                    loss=loss,
                    price=price,
                )
        raise UnprovedError(f"the budget ({budget}) cannot pay for noise at {price}. Ask with epsilon=... alone.")

    def variance(self, level: int, index: int) -> float:
        """Return the variance of every number of a level's table.

        It is infinite where nothing was measured.

        Args:
            level: its number; the root has 0.
            index: of the table in `tables`.
        """
        noise = self.noises[level][index]
        return float("inf") if noise is None else noise.law(self.lattice.grid).standard_deviation() ** 2

    @cached_property
    def expected(self) -> Estimates:
        """Variances of the estimates of all cells, which follow from the plan alone.

        The estimates themselves are 0 here.
        """
        nothing = tuple(
            tuple(
                None if noise is None else np.zeros((units, self.cells.size_of(table)), dtype=np.int64)
                for table, noise in zip(self.tables, noises, strict=True)
            )
            for units, noises in zip(self.geography.sizes, self.noises, strict=True)
        )
        return HierarchyMeasurements(plan=self, noisy=nothing).estimates(Constraints(self.geography, self.cells))

    def lines(self) -> Iterator[str]:
        """Yield units, shares, noise and least-squares errors of each level, in words."""
        sizes, queries = self.geography.sizes, [self.cells.said(table) for table in self.tables]
        yield f"counts of {sum(sizes):,} units of {len(sizes)} levels, by {', '.join(queries)}"
        for level, name in enumerate(self.geography.all_levels):
            noisy = [
                f"{query} +-{self.variance(level, index) ** 0.5:.3g}"
                for index, query in enumerate(queries)
                if self.noises[level][index] is not None
            ]
            estimated = [
                f"{self.cells.said(table)} +-{np.median(self.expected.variance(level, table)) ** 0.5:.3g}"
                for table in dict.fromkeys([(), self.cells.whole])
            ]
            share = float(sum(self.shares[level]))
            yield f"  {name}: {sizes[level]:,} units, {share:.1%} of the price: {', '.join(noisy) or 'not measured'}"
            yield f"    by least squares: {', '.join(estimated)}"

    def __str__(self) -> str:
        """The levels with their noise, what least squares makes of it, and the cost."""
        return "\n".join([*self.lines(), f"cost {price_text(self.loss)}"])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def measure(self, exact: Integers, bits: Bits) -> HierarchyMeasurements:
        """Return noisy tables of all units.

        Args:
            exact: steps of the lattice in every cell of every declared leaf, of shape (leaves * cells,). SECRET.
            bits: randomness of the noise.
        """
        counts = exact.reshape(-1, self.cells.size)[self.geography.leaf_order]
        noisy: list[tuple[Integers | None, ...]] = []
        for level in range(len(self.geography.sizes) - 1, -1, -1):
            row: list[Integers | None] = []
            for table, noise in zip(self.tables, self.noises[level], strict=True):
                if noise is None:
                    row.append(None)
                    continue
                margin = self.cells.margin(counts, table)
                row.append(noise.release(margin.ravel(), bits=bits).value.reshape(margin.shape))
            noisy.append(tuple(row))
            counts = self.geography.sums(level, counts) if level else counts
        return HierarchyMeasurements(plan=self, noisy=tuple(reversed(noisy)))


@dataclass(frozen=True, kw_only=True, eq=False)
class HierarchyMeasurements:
    """Noisy tables of all units of a hierarchy. All of it is public.

    Args:
        plan: by which they were measured.
        noisy: steps of the lattice, of each level and table, of shape (units, cells of the table); None where nothing
            was measured.
    """

    plan: HierarchyPlan
    noisy: tuple[tuple[Integers | None, ...], ...]

    @cached_property
    def measured(self) -> tuple[tuple[MeasuredTable, ...], ...]:
        """Tables of each level as least squares takes them."""
        return tuple(
            tuple(
                MeasuredTable(
                    table,
                    self.plan.lattice.to_reals(values),
                    np.full(len(values), 1 / max(self.plan.variance(level, index), SMALLEST_VARIANCE)),
                )
                for index, (table, values) in enumerate(zip(self.plan.tables, row, strict=True))
                if values is not None
            )
            for level, row in enumerate(self.noisy)
        )

    def estimates(self, constraints: Constraints) -> Estimates:
        """Return unbiased estimates of all cells; totals that are held are exact."""
        levels = [list(row) for row in self.measured]
        for level, totals in constraints.totals.items():
            held = totals >= 0
            precision = np.where(held, np.inf, 0.0)
            levels[level].append(MeasuredTable((), np.where(held, totals, 0.0)[:, None], precision))
        return least_squares(self.plan.geography, self.plan.cells, levels)

    def to_text(self) -> str:
        """Return the tables as JSON, as a ledger keeps them."""
        return json.dumps([[None if each is None else each.ravel().tolist() for each in row] for row in self.noisy])

    @classmethod
    def from_text(cls, text: str, plan: HierarchyPlan) -> HierarchyMeasurements:
        """Return the tables of a text that `to_text` made."""
        noisy = tuple(
            tuple(None if each is None else np.array(each).reshape(units, -1) for each in row)
            for units, row in zip(plan.geography.sizes, json.loads(text), strict=True)
        )
        return cls(plan=plan, noisy=noisy)


def _weight(weights: Mapping[str, Real], name: str) -> Fraction:
    return nonnegative_rational("weight", weights.get(name, 0))


def chain_of(cells: CountedCells, tables: Sequence[Table], *, totals: bool) -> tuple[Table, ...]:
    """Return nested tables, for which whole numbers are made one after another.

    Each refines the one before it.

    Args:
        cells: the columns; the last table has all of them.
        tables: that were measured.
        totals: whether totals are among them in any case.
    """
    chain: list[Table] = []
    wanted = {*tables, *([()] if totals else [])} - {cells.whole}
    for table in sorted(wanted, key=lambda each: (cells.size_of(each), each)):
        if not chain or set(chain[-1]) < set(table):
            chain.append(table)
    return (*chain, cells.whole)
