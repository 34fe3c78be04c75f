"""Noisy tables that agree with each other, and weighted sums of their counts.

Tables count rows by columns; counts and sums have intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import shown
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key
from deniable.synthesis.paid import Paid
from deniable.synthesis.plan import MarginalPlan
from deniable.synthesis.residuals import NONNEGATIVE_TOLERANCE, Table

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from deniable.numbers.arrays import Integers

COUNT = "count"
NONNEGATIVE = "nonnegative"  # the column beside it
MISSING = "missing"
ALL = "all"  # of a column that a table does not have, where all tables are listed together


@dataclass(frozen=True, kw_only=True, eq=False)
class Marginals(Paid):
    """Noisy tables of a private one: unbiased, and in agreement with each other.

    All of it is public.

    Args:
        plan: what was measured, by what noise.
        arrays: the noisy integers, one array for each measurement of the plan.
        cost: the privacy loss of this answer; of a stored one, nothing.
        budget_left: what the ledger had left after it; None without a ledger.
        safe: False if the noise came from a test stream.
        protects: whose data the cost is about.
        notes: what a reader must know, one sentence each.
        provenance: the payment in the ledger; None without one.

    Guarantee: intervals hold with their probability over the noise, as sums of many noises; of a single table of
        Laplace noise exactly, but for the steps of integers.

    >>> import deniable as dn
    >>> columns = {"department": dn.Keys(["sales", "support"]), "leaving": dn.Boolean()}
    >>> unit, budget = dn.each_row("respondent"), dn.Budget(epsilon=1)
    >>> db = dn.connect(dn.datasets.survey(), name="survey", unit=unit, columns=columns, budget=budget)
    >>> made = db.marginals([["department"], ["department", "leaving"]], epsilon=1)
    >>> made["department"].columns, len(made["department", "leaving"])
    (('department', 'count'), 9)
    """

    plan: MarginalPlan
    arrays: tuple[Integers, ...]

    @property
    def tables(self) -> tuple[tuple[str, ...], ...]:
        """Names of the columns of each table that was asked for."""
        return tuple(self.plan.names_of(table) for table in self.plan.tables)

    def __getitem__(self, columns: str | tuple[str, ...]) -> Release:
        """Return the table of one column, or of several; of (), the number of rows."""
        return self.table([columns] if isinstance(columns, str) else columns)

    def table(self, columns: Sequence[str], *, nonnegative: bool = False) -> Release:
        """Return one table: a row for each combination of levels, with its count.

        Args:
            columns: names, all in one table that was asked for; keys of the release are in this order.
            nonnegative: whether a second column holds counts that are not below 0, as `nonnegative_counts` gives them.

        Raises: InvalidParameterError for columns that no table has together.
        """
        table = self._checked(columns)
        keys = list(columns)
        axes = [table.index(self.plan.domain.names.index(name)) for name in keys]
        half = partial(self.plan.half_width, table)
        parts: list[Key | Estimate] = []
        sizes = [self.plan.domain.sizes[table[axis]] for axis in axes]
        levels_of = np.unravel_index(np.arange(int(np.prod(sizes))), sizes) if sizes else ()
        for axis, levels in zip(axes, levels_of, strict=True):
            attribute = self.plan.domain.attributes[table[axis]]
            values = attribute.values
            held = tuple(values[level] for level in levels)
            parts.append(Key(name=attribute.name, values=held, kind=attribute.kind, edge=attribute.edge))
        counts = self._counts(table, self._residuals).transpose(axes).ravel()
        parts.append(counts_column(counts, half, name=free_name(COUNT, keys)))
        if nonnegative:
            tidy = self.nonnegative_counts(table).transpose(axes).ravel()
            parts.append(_tidied(tidy, free_name(NONNEGATIVE, keys)))
        return self._release(parts, f"rows by {', '.join(keys)}" if keys else "number of rows")

    def release(self, *, nonnegative: bool = False) -> Release:
        """Return all tables that were asked for, one below the other.

        Keys are texts; a column that a table does not have says "all" there, and missing values "missing", or "(all)"
        and "(missing)" where keys have these names.

        Args:
            nonnegative: as for `table`.
        """
        domain = self.plan.domain
        labels = [[attribute.shown(level) for level in range(attribute.size)] for attribute in domain.attributes]
        taken = {label for names in labels for label in names[:-1]}
        every, missing = (name if not taken & {ALL, MISSING} else f"({name})" for name in (ALL, MISSING))
        labels = [[*names[:-1], missing] for names in labels]
        keys: list[list[str]] = [[] for _ in domain.names]
        counts, tidied = [], []
        for table in self.plan.tables:
            sizes = [domain.sizes[column] for column in table]
            cells = int(np.prod(sizes, dtype=np.int64))
            levels_of = dict(zip(table, np.unravel_index(np.arange(cells), sizes) if sizes else (), strict=True))
            for column, names in enumerate(labels):
                levels = levels_of.get(column)
                keys[column] += [every] * cells if levels is None else [names[level] for level in levels]
            counts.append(self._counts(table, self._residuals).ravel())
            if nonnegative:
                tidied.append(self.nonnegative_counts(table).ravel())

        def half(level: float) -> Floats:
            widths = [self.plan.half_width(table, level) for table in self.plan.tables]
            return np.repeat(widths, [part.size for part in counts])

        parts: list[Key | Estimate] = [
            Key(name=name, values=tuple(values), kind="string") for name, values in zip(domain.names, keys, strict=True)
        ]
        parts.append(counts_column(np.concatenate(counts), half, name=free_name(COUNT, domain.names)))
        if nonnegative:
            parts.append(_tidied(np.concatenate(tidied), free_name(NONNEGATIVE, domain.names)))
        return self._release(parts, f"{len(counts)} tables")

    def linear(self, columns: Sequence[str], coefficients: ArrayLike) -> Release:
        """Return weighted sums of the counts of one table, each with an interval.

        Ranges, prefix sums and differences of groups are such sums.

        Args:
            columns: names, as for `table`.
            coefficients: of shape (sums, levels of the first column, ...); the last level of a column stands for
                missing and undeclared values.

        Raises: InvalidParameterError for columns that no table has together, or for another shape.
        """
        table = self._checked(columns)
        axes = [table.index(self.plan.domain.names.index(name)) for name in columns]
        shape = tuple(self.plan.domain.sizes[table[axis]] for axis in axes)
        weights = np.asarray(coefficients, dtype=np.float64)
        if weights.ndim == 0 or weights.shape[1:] != shape or not np.isfinite(weights).all():
            raise InvalidParameterError(
                f"coefficients of {', '.join(columns)} are finite numbers of shape {('sums', *shape)}, "
                f"got {weights.shape}."
            )
        weights = weights.transpose([0, *(axes.index(axis) + 1 for axis in range(len(axes)))])
        flat = weights.reshape(len(weights), -1)
        sums = flat @ self._counts(table, self._residuals).ravel()
        spread = self.plan.space.spread_of(table, weights)
        column = counts_column(sums, spread.half_widths, counted=bool((flat >= 0).all()), name="sum")
        index = Key(name="index", values=tuple(range(len(sums))), kind="int64")
        return self._release([index, column], f"weighted sums of rows by {', '.join(columns)}")

    def nonnegative_counts(self, table: Table) -> Floats:
        """Return counts of a table that agree with all other tables and are at least 0.

        They are the nearest to the unbiased ones. They are biased: many small counts together come out too high.
        """
        counts = self._counts(table, self._nonnegative)
        return np.where(counts > NONNEGATIVE_TOLERANCE * self.plan.space.variance(table) ** 0.5, counts, 0.0)

    def _counts(self, table: Table, residuals: Mapping[Table, Floats]) -> Floats:
        return self.plan.space.table(table, residuals)

    @cached_property
    def _residuals(self) -> Mapping[Table, Floats]:
        return self.plan.space.estimates(self.arrays)

    @cached_property
    def _nonnegative(self) -> Mapping[Table, Floats]:
        return self.plan.space.nonnegative(self.plan.tables, self._residuals)

    def _checked(self, columns: Sequence[str]) -> Table:
        """Return the columns as indices, ascending."""
        names = self.plan.domain.names
        known = not isinstance(columns, str) and len(set(columns)) == len(columns) and set(columns) <= set(names)
        table = tuple(sorted(names.index(name) for name in columns)) if known else ()
        if not known or not any(set(table) <= set(each) for each in self.plan.tables):
            asked = ", ".join(" x ".join(each) or "()" for each in self.tables[:9])
            raise InvalidParameterError(f"no table holds the columns {shown(columns)} together. Tables: {asked}.")
        return table

    def __str__(self) -> str:
        """The plan, what is left, and what a reader must know."""
        return self._with_payment(self.plan)


def counts_column(values: Floats, half: Any, *, counted: bool = True, name: str = COUNT) -> Estimate:
    """Return unbiased estimates with their intervals.

    The ends are cut at 0 where the truth is not below it.
    """

    def ends(level: float) -> Bounds:
        width = half(level)
        low = 0.0 if counted else -np.inf
        return Bounds(np.maximum(values - width, low), np.maximum(values + width, low))

    return Estimate(name=name, estimates=values, ends=ends, post_processing="made consistent")


def free_name(name: str, taken: Sequence[str]) -> str:
    """Return a name for a column of numbers that differs from those of keys."""
    while {name, f"{name}_lower", f"{name}_upper"} & set(taken):
        name += "_"
    return name


def _tidied(values: Floats, name: str) -> Estimate:
    return Estimate(name=name, estimates=values, post_processing="made consistent and not negative, with a bias")
