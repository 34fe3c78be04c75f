"""Rows that are aggregated before a question counts them.

One row for each unit and group, or for each public group.

What is computed from the rows of one unit is that unit's own, so no noise is needed yet. Totals do not depend on the
order of rows, to the last bit: whole numbers are added up as such, others on a public grid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor, prod

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.noise.lattice import Lattice
from deniable.numbers.rationals import quotient_text
from deniable.query.allowlist import checked, spoken
from deniable.query.catalog import BOUNDS, UNIT, DeclaredTable, declaring
from deniable.query.clauses import ResultScope, check_count
from deniable.query.dependency import NOTHING, Names, determined, memoized
from deniable.query.expression import Column, Expression, Facts, Kind, columns_of, literal, text_of
from deniable.query.scope import RowScope
from deniable.query.table_expression import WHOLE, TableExpression, typed
from deniable.query.translation import translate

_KINDS: tuple[type[exp.Expr], ...] = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
FUNCTIONS = {kind: kind.__name__.lower() for kind in _KINDS}


@dataclass(frozen=True)
class Total:
    """An exact aggregate of rows: count, sum, avg, min or max.

    It is one of a value, which rows may lack; a count may be one of all rows.
    """

    function: str
    argument: Expression | None

    def __post_init__(self) -> None:
        if self.argument is None or self.function == "count":
            return
        facts = self.argument.facts
        ordered = facts.kind.is_number or (
            self.function in ("min", "max") and facts.kind in (Kind.DATE, Kind.TIMESTAMP)
        )
        if not ordered:
            raise UnsupportedQueryError(
                f"{self.function.upper()} in a subquery takes numbers, got a value of kind {facts.kind.value}."
            )
        if self.function in ("sum", "avg") and facts.kind is Kind.REAL and not facts.bounded:
            cure = declaring(next(columns_of(self.argument), "x"), "Number(lower=..., upper=...)", BOUNDS)
            raise UnsupportedQueryError(
                f"{self.function.upper()}({text_of(self.argument)}) in a subquery needs public bounds, within which "
                f"sums are exact. Declare them: {cure}, or write LEAST(GREATEST(value, low), high)."
            )

    @property
    def facts(self) -> Facts:
        """Facts that follow from the argument.

        A sum is at least its least value, if that is not negative: how many values it has is not known.
        """
        if self.argument is None or self.function == "count":
            return Facts(kind=Kind.INTEGER, lower=Fraction(0))
        facts = self.argument.facts
        lower, upper = facts.lower, facts.upper
        if self.function == "sum":
            lower = lower if lower is not None and lower >= 0 else None
            upper = upper if upper is not None and upper <= 0 else None
        kind = Kind.REAL if self.function == "avg" else facts.kind
        return Facts(kind=kind, lower=lower, upper=upper)

    @property
    def grid(self) -> tuple[Fraction, Fraction, Fraction]:
        """The step of the grid on which a real argument is summed, and its bounds on it."""
        assert self.argument is not None
        lower, upper = self.argument.facts.ends
        step = Lattice.for_bounds(lower, upper, precision=40).grid
        return step, floor(lower / step) * step, ceil(upper / step) * step

    def to_json(self) -> object:
        grid = self.argument is not None and self.function in ("sum", "avg") and self.argument.facts.kind is Kind.REAL
        said = [quotient_text(number) for number in self.grid] if grid else []
        return [self.function, None if self.argument is None else self.argument.to_json(), *said]


@dataclass(frozen=True)
class GroupedRows(TableExpression):
    """One row for each unit and occurring values of `keys`.

    Columns are "key 0", ... and "total 0", ...
    """

    source: TableExpression
    keys: tuple[Expression, ...]
    totals: tuple[Total, ...]

    def __post_init__(self) -> None:
        if self.private and self.unit is None:
            raise UnsupportedQueryError("every row is a unit: its rows cannot be aggregated before the noise.")
        parts = {self.source.unit_part(key) for key in self.keys}
        if self.private and WHOLE not in parts and not {"column", "period"} <= parts:
            raise UnsupportedQueryError(
                "a subquery aggregates the rows of each unit: its GROUP BY names the column that says whose row it is "
                "(not read as another type), perhaps beside others. Totals of several units are asked of the outer "
                "SELECT, and get noise."
            )

    @property
    def table(self) -> DeclaredTable:
        return self.source.table

    @property
    def names(self) -> tuple[str, ...]:
        return (*(f"key {n}" for n in range(len(self.keys))), *(f"total {n}" for n in range(len(self.totals))))

    def column(self, name: str) -> Expression:
        kind, number = name.split()
        facts = self.keys[int(number)].facts if kind == "key" else self.totals[int(number)].facts
        return typed(name, facts)

    @property
    def one_row_per_unit(self) -> bool:
        return all(self.source.unit_part(key) is not None for key in self.keys)

    @property
    def unit(self) -> str | None:
        return UNIT if self.private else None

    def definition(self, expression: Expression) -> tuple[TableExpression, Expression] | None:
        if not isinstance(expression, Column) or not expression.name.startswith("key "):
            return None
        return self.source, self.keys[int(expression.name.split()[1])]

    @property
    def joins(self) -> int:
        return self.source.joins

    @property
    def tables(self) -> int:
        return self.source.tables

    def inputs(self, column: Column) -> Sequence[tuple[TableExpression, Expression]]:
        kind, _, number = column.name.partition(" ")
        argument = self.totals[int(number)].argument if kind == "total" else None
        return super().inputs(column) if argument is None else ((self.source, argument),)

    @memoized
    def multiplicity(self, fixed: Names = NOTHING) -> int | None:
        """Return the number of values of the keys that are not fixed.

        The product over keys; or the bound of the rows below.
        """
        here = self.fixed_in(fixed, self.source)
        values_of_keys = []
        below = self.source.multiplicity(here)
        for index, key in enumerate(self.keys):
            if f"key {index}" in fixed or self.source.fixes(here, key):
                continue
            values_of_keys.append(self.source.values(key))
            here |= determined([key])
        counts = [len(values) for values in values_of_keys if values is not None]
        known = [prod(counts)] if len(counts) == len(values_of_keys) else []
        return min([*known, *([] if below is None else [below])], default=None)

    def fixed_in(self, fixed: Names, source: TableExpression) -> Names:
        return determined(key for index, key in enumerate(self.keys) if f"key {index}" in fixed)

    def to_json(self) -> object:
        return {
            "grouped": self.source.to_json(),
            "keys": [key.to_json() for key in self.keys],
            "totals": [total.to_json() for total in self.totals],
        }


class TotalScope(ResultScope):
    """The SELECT list and HAVING of a subquery that aggregates.

    Collects the totals that it meets.
    """

    def __init__(self, rows: RowScope, keys: tuple[Expression, ...]) -> None:
        super().__init__(rows, keys)
        self.totals: list[Total] = []

    def _aggregate(self, node: exp.Expr, where: Expression | None) -> Expression:
        function = FUNCTIONS.get(type(checked(node)))
        if function is None or isinstance(node.this, exp.Distinct):
            raise UnsupportedQueryError(
                f"{spoken(node)} in a subquery is not supported. Use COUNT, SUM, AVG, MIN or MAX of a value."
            )
        star = isinstance(node.this, exp.Star)
        argument = (
            None
            if star and where is None
            else self.kept(where, literal(1) if star else translate(node.this, self.rows))
        )
        total = Total(function, argument)
        if total not in self.totals:
            check_count(len(self.totals) + 1)
            self.totals.append(total)
        return Column(f"total {self.totals.index(total)}", total.facts)
