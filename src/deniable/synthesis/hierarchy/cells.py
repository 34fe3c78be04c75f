"""Cells of one unit: combinations of keys of columns, and tables of fewer columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats

TOTAL, CELLS = "total", "cells"
MAX_COLUMNS = 12  # 2^columns residuals are told apart
RESERVED = frozenset({"level", "query", "count", "estimate", "standard_deviation", "value", "variance", TOTAL, CELLS})
Table = tuple[int, ...]  # rising indices of columns; () is the total


@dataclass(frozen=True)
class CountedCells:
    """The columns that are counted in every unit. All of it is public.

    Args:
        names: of the columns.
        keys: values of each column, in the order in which cells are numbered.

    Supported operations: `table`, `size_of`, `margin`, `spread`, `averaged`.

    Raises: InvalidParameterError if names are equal or too many.

    >>> cells = CountedCells(("age", "sex"), ((0, 1, 2), ("f", "m")))
    >>> cells.size, cells.table("sex"), cells.size_of((1,))
    (6, (1,), 2)
    """

    names: tuple[str, ...] = ()
    keys: tuple[tuple[Any, ...], ...] = ()

    def __post_init__(self) -> None:
        if RESERVED.intersection(self.names):
            raise InvalidParameterError(
                f"the names {', '.join(sorted(RESERVED))} are those of the answer's own columns. Count a column under "
                'another name: columns={"number": "count"}.'
            )
        if len(set(self.names)) < len(self.names) or len(self.names) > MAX_COLUMNS:
            raise InvalidParameterError(
                f"a hierarchy counts up to {MAX_COLUMNS} columns with different names, got {list(self.names)}."
            )

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Number of keys of each column."""
        return tuple(len(keys) for keys in self.keys)

    @property
    def size(self) -> int:
        """Number of cells of one unit."""
        return prod(self.shape)

    @property
    def whole(self) -> Table:
        """All columns."""
        return tuple(range(len(self.names)))

    def table(self, query: str) -> Table:
        """Return the columns of a query: "total", "cells", or names joined by " * ".

        Raises: InvalidParameterError for a name that is not a column.
        """
        if query in (TOTAL, CELLS):
            return () if query == TOTAL else self.whole
        parts = [part.strip() for part in query.split("*")]
        unknown = [part for part in parts if part not in self.names]
        if unknown or len(set(parts)) < len(parts):
            raise InvalidParameterError(
                f'a query is "total", "cells", or columns joined by *, such as "age * sex"; got {query!r}. The columns '
                f"of this hierarchy: {', '.join(self.names) or 'none'}."
            )
        return tuple(sorted(map(self.names.index, parts)))

    def said(self, table: Table) -> str:
        """Return the query of a table, as `table` reads it."""
        if not table:
            return TOTAL
        return CELLS if table == self.whole else " * ".join(self.names[index] for index in table)

    def size_of(self, table: Table) -> int:
        """Number of cells of a table."""
        return prod(self.shape[index] for index in table)

    def margin(self, values: Any, table: Table) -> Any:
        """Return the sums of cells that a table has, of shape (units, its cells).

        Args:
            values: of shape (units, cells).
        """
        outside = tuple(1 + index for index in self.whole if index not in table)
        return values.reshape(-1, *self.shape).sum(axis=outside).reshape(len(values), -1)

    def spread(self, values: Floats, table: Table) -> Floats:
        """Return a table's value for each cell, of shape (units, cells).

        Args:
            values: of shape (units, cells of the table).
        """
        kept = [size if index in table else 1 for index, size in enumerate(self.shape)]
        wide = np.broadcast_to(values.reshape(-1, *kept), (len(values), *self.shape))
        return wide.reshape(len(values), -1)

    def averaged(self, values: Floats, table: Table) -> Floats:
        """Return values averaged over the cells that share a cell of a table."""
        if table == self.whole:
            return values
        return self.spread(self.margin(values, table) * (self.size_of(table) / self.size), table)

    def grouped(self, values: Any, table: Table, coarser: Table) -> Any:
        """Return the cells of a table by those of a coarser one that they add up to.

        Args:
            values: of shape (units, cells of the table).

        Returns: of shape (units, cells of the coarser table, cells of the table in each).
        """
        axes = values.reshape(len(values), *(self.shape[index] for index in table))
        positions = [1 + table.index(index) for index in coarser]
        return np.moveaxis(axes, positions, range(1, 1 + len(positions))).reshape(
            len(values), self.size_of(coarser), -1
        )

    def ungrouped(self, values: Any, table: Table, coarser: Table) -> Any:
        """Return what `grouped` was made of."""
        rest = [index for index in table if index not in coarser]
        axes = values.reshape(len(values), *(self.shape[index] for index in (*coarser, *rest)))
        positions = [1 + table.index(index) for index in coarser]
        return np.moveaxis(axes, range(1, 1 + len(positions)), positions).reshape(len(values), -1)

    def residuals(self) -> dict[Table, int]:
        """Return the dimension of the residual space of every set of columns."""
        return {
            table: prod(self.shape[index] - 1 for index in table)
            for count in range(len(self.names) + 1)
            for table in combinations(self.whole, count)
        }

    def keys_of(self, table: Table) -> dict[str, list[Any]]:
        """Return the keys of every cell of a table, by column."""
        positions = np.indices([self.shape[index] for index in table]).reshape(len(table), -1) if table else ()
        return {
            self.names[index]: [self.keys[index][position] for position in row.tolist()]
            for index, row in zip(table, positions, strict=True)
        }
