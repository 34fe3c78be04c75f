"""Counts of a hierarchy: whole numbers that add up, and unbiased measurements.

The numbers are made from the measurements.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import InvalidParameterError, UnsafeReleaseError
from deniable.release.display import price as price_text
from deniable.synthesis.hierarchy.cells import CELLS
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.least_squares import Estimates
from deniable.synthesis.hierarchy.plan import HierarchyMeasurements, HierarchyPlan, chain_of
from deniable.synthesis.hierarchy.whole import whole_numbers
from deniable.synthesis.paid import Paid

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.numbers.arrays import Integers

FORMATS = (".parquet", ".csv", ".json")
HELD, MET = "The totals of {} were given and are held.", "The least counts of {} were given and are met."
OUTSIDE = (
    "If they follow from private rows, they are published outside of the cost: differential privacy then holds only "
    "between tables that share them."
)
BIASED = (
    "Whole numbers of at least 0 are too high where the truth is near 0. For sums of many cells and for statistics "
    "take the unbiased measurements."
)


@dataclass(frozen=True, kw_only=True, eq=False)
class HierarchicalCounts(Paid):
    """Whole counts of every unit of a hierarchy that add up. All of it is public.

    Args:
        measured: the noisy tables.
        constraints: that the counts meet.
        cost: the privacy loss of this answer; of a stored one, nothing.
        budget_left: what the ledger had left after it; None without a ledger.
        safe: False if the noise came from a test stream.
        protects: whose data the cost is about.
        notes: what a reader must know, one sentence each.
        provenance: the payment in the ledger; None without one.

    >>> import deniable as dn
    >>> columns = {"department": dn.Keys(["care", "kitchen", "office"]), "leaving": dn.Boolean()}
    >>> unit, budget = dn.each_row("respondent"), dn.Budget(rho=1)
    >>> db = dn.connect(dn.datasets.survey(), name="survey", unit=unit, columns=columns, budget=budget)
    >>> made = db.hierarchy(["department"], ["leaving"], rho="1/2")
    >>> made.counts("department", "total").column_names
    ['department', 'count', 'estimate', 'standard_deviation']
    """

    measured: HierarchyMeasurements
    constraints: Constraints

    @property
    def plan(self) -> HierarchyPlan:
        """Plan of the measurements: tables, shares of the price, and noise."""
        return self.measured.plan

    @property
    def geography(self) -> Geography:
        """The tree of units."""
        return self.plan.geography

    @cached_property
    def estimates(self) -> Estimates:
        """Unbiased estimates of all cells, with their variances.

        They are least-squares estimates over all measurements.
        """
        return self.measured.estimates(self.constraints)

    @cached_property
    def numbers(self) -> tuple[Integers, ...]:
        """Whole numbers of all cells of each level, of shape (units, cells)."""
        chain = chain_of(self.plan.cells, self.plan.tables, totals=bool(self.constraints))
        return whole_numbers(self.geography, self.estimates, chain, self.constraints)

    @property
    def guarantee(self) -> str:
        """Guarantee of the cost in a sentence.

        Where the counts meet given numbers, it says what the cost does not cover.
        """
        constraints, names = self.constraints, self.geography.all_levels
        stated = [
            text.format(", ".join(names[level] for level in sorted(levels)))
            for text, levels in (
                (HELD, {*constraints.totals}),
                (MET, {*constraints.minima, *constraints.minimum_totals}),
            )
            if levels
        ]
        if stated:
            return " ".join([*stated, OUTSIDE])
        return f"Protects {self.protects or 'one unit'} at {price_text(self.paid)}."

    def counts(self, level: str, query: str = CELLS, *, unsafe: bool = False) -> pa.Table:
        """Return the counts of every unit of a level as an Arrow table.

        Args:
            level: name of a column of the hierarchy, or "all" for the root.
            query: "total", "cells", or columns joined by *, such as "age * sex"; it need not have been measured.
            unsafe: return counts although the noise behind them came from a test stream.

        Returns: keys of the unit and of the columns; `count`, a whole number that adds up; `estimate`, unbiased, and
            its `standard_deviation`, both missing where nothing that was measured determines them.
        Raises: InvalidParameterError for another level or query, UnsafeReleaseError for test noise.
        """
        import pyarrow as pa

        self._check_safe(unsafe)
        index, table = self.geography.index_of(level), self.plan.cells.table(query)
        size = self.plan.cells.size_of(table)
        columns = self._keys(index, size) | self._cell_keys(index, query)
        counts = self.plan.cells.margin(self.numbers[index], table).ravel()
        estimates = self.plan.cells.margin(self.estimates.values[index], table).ravel()
        deviations = np.repeat(np.sqrt(self.estimates.variance(index, table)), size)
        open_ended = np.isinf(deviations)
        measured = {
            "estimate": pa.array(estimates, mask=open_ended),
            "standard_deviation": pa.array(deviations, mask=open_ended),
        }
        return pa.table(columns | {"count": counts} | measured)

    def measurements(self, *, unsafe: bool = False) -> pa.Table:
        """Return all noisy tables, unbiased, with their variances, as one Arrow table.

        Args:
            unsafe: return them although their noise came from a test stream.

        Returns: level; query; keys of the unit and of the columns, missing where a level or query has none; `value`;
            `variance` of its noise.
        """
        import pyarrow as pa

        self._check_safe(unsafe)
        parts = []
        for index, level in enumerate(self.geography.all_levels):
            for query_index, (table, one) in enumerate(zip(self.plan.tables, self.measured.noisy[index], strict=True)):
                if one is None:
                    continue
                query = self.plan.cells.said(table)
                values = self.plan.lattice.to_reals(one).ravel()
                columns: dict[str, Any] = {"level": pa.array([level]).take(pa.array(np.zeros(values.size, dtype=int)))}
                columns["query"] = pa.array([query]).take(pa.array(np.zeros(values.size, dtype=int)))
                columns |= self._keys(index, one.shape[1]) | self._cell_keys(index, query)
                columns |= {
                    "value": values,
                    "variance": np.full(values.size, self.plan.variance(index, query_index)),
                }
                parts.append(pa.table(columns))
        names = ["level", "query", *self.geography.levels, *self.plan.cells.names, "value", "variance"]
        return pa.concat_tables(parts, promote_options="default").select(
            [name for name in names if any(name in part.column_names for part in parts)]
        )

    def to_bytes(self, ending: str, *, level: str | None = None, query: str = CELLS) -> bytes:
        """Return the counts of a level, or all measurements, as a file.

        Parquet and JSON say what they cost.

        Args:
            ending: ".parquet", ".csv" or ".json".
            level: as for `counts`; None for `measurements`.
            query: as for `counts`.

        Raises: InvalidParameterError for another ending; as `counts`.
        """
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.parquet

        if ending not in FORMATS:
            raise InvalidParameterError(f"counts are written as {', '.join(FORMATS)}, got {ending!r}.")
        table = self.measurements() if level is None else self.counts(level, query)
        said = {"guarantee": self.guarantee, "cost": price_text(self.paid), "protects": self.protects}
        if ending == ".json":
            return json.dumps({**said, "rows": table.to_pylist()}, default=str).encode()
        file = pa.BufferOutputStream()
        if ending == ".csv":
            pa.csv.write_csv(table, file)
        else:
            pa.parquet.write_table(table.replace_schema_metadata({"deniable": json.dumps(said)}), file)
        return file.getvalue().to_pybytes()  # type: ignore[no-any-return]

    def _check_safe(self, unsafe: bool) -> None:
        if not self.safe and not unsafe:
            raise UnsafeReleaseError(
                "these counts come from noise of a test stream, which anyone can compute. Leave the argument bits out "
                "to publish them; in a test, take them with unsafe=True."
            )

    def _keys(self, level: int, size: int) -> dict[str, pa.Array]:
        """Keys of every unit of a level, each `size` times, by column."""
        import pyarrow as pa

        units = pa.array(np.repeat(np.arange(self.geography.sizes[level]), size))
        columns = zip(*self.geography.names_of(level), strict=True) if level else ()
        return {
            name: pa.array(column).take(units) for name, column in zip(self.geography.levels, columns, strict=False)
        }

    def _cell_keys(self, level: int, query: str) -> dict[str, pa.Array]:
        """Keys of the cells of a query, for every unit of a level, by column."""
        import pyarrow as pa

        table = self.plan.cells.table(query)
        cells = pa.array(np.tile(np.arange(self.plan.cells.size_of(table)), self.geography.sizes[level]))
        return {name: pa.array(keys).take(cells) for name, keys in self.plan.cells.keys_of(table).items()}

    def __str__(self) -> str:
        """Levels, queries, their errors, the cost and what is left."""
        lines = [*self.plan.lines()]
        lines.append(f"cost {price_text(self.cost)}" + (f"; left {self.budget_left}" if self.budget_left else ""))
        return "\n".join([*lines, self.guarantee, *self.notes, BIASED])
