"""Pairs of rows: an inner or a left join of two table expressions."""

from dataclasses import dataclass
from functools import cached_property

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import DeclaredTable
from deniable.query.dependency import NOTHING, Names, determined, memoized
from deniable.query.expression import Column, Expression, Kind, Value, columns_of, text_of
from deniable.query.table_expression import (
    WHOLE,
    Pairs,
    TableExpression,
    check_distinct_names,
    count_tables,
    made_nullable,
)

MAX_JOINS = 8  # below each other, of which the multiplicity is derived


@dataclass(frozen=True)
class Join(TableExpression):
    """Pairs of rows that agree on the `on` columns.

    With `outer`, rows of the left side that have no partner stay alone.

    Private rows may meet public ones, and other private ones where both are matched by their unit: then every
    pair is of one unit's rows and of public ones, whatever else is compared. Where every row is a unit, public
    rows may only be met by what is `unique` in them, so that there is at most one pair.

    Args:
        unique: whether no two rows of the public side agree on its columns in `on`.
    """

    left: TableExpression
    right: TableExpression
    on: Pairs
    outer: bool = False
    unique: bool = False

    def __post_init__(self) -> None:
        count_tables(self.left, self.right)
        check_distinct_names(
            *(name for side in (self.left, self.right) for name in dict.fromkeys((*side.names, side.unit)))
        )
        for one, other in self.on:
            for side in (one, other):
                if side.facts.kind in (Kind.REAL, Kind.TIMESTAMP, Kind.NULL):
                    raise UnsupportedQueryError(
                        f"tables are joined by whole numbers, text, dates or truth values; {text_of(side)} is of kind "
                        f"{side.facts.kind.value}."
                    )
            if one.facts.kind is not other.facts.kind:
                raise UnsupportedQueryError(
                    f"{text_of(one)} is of kind {one.facts.kind.value} and {text_of(other)} of kind "
                    f"{other.facts.kind.value}. CAST one of them."
                )
        if self.left.private and self.right.private:
            self._by_unit()
        elif self.private and self.unit is None and not self.unique:
            raise UnsupportedQueryError(
                "in a table in which every row is a unit, a join could give one unit many rows. Join by columns that "
                "are unique in the public table, or name the column that says whose row it is: unit='...'."
            )
        if self.outer and self.right.private and not self.left.private:
            raise UnsupportedQueryError(
                "LEFT JOIN would keep rows of the public table that have no unit. Put the private table on the left."
            )

    def _by_unit(self) -> None:
        pairs = ((self.left.unit_part(one), self.right.unit_part(other)) for one, other in self.on)
        equal = {one for one, other in pairs if one == other}
        if WHOLE not in equal and not {"column", "period"} <= equal:
            raise UnsupportedQueryError(
                "two private tables are joined by the columns that say whose row it is (not read as another type). Any "
                "other match would mix rows of different units."
            )

    @cached_property
    def table(self) -> DeclaredTable:
        return self.left.table if self.left.private else self.right.table

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (*self.left.names, *self.right.names)

    def column(self, name: str) -> Expression:
        if name in self.left.names:
            return self.left.column(name)
        return made_nullable(self.right.column(name)) if self.outer else self.right.column(name)

    @cached_property
    def unit(self) -> str | None:
        return self.left.unit if self.left.private else self.right.unit

    def definition(self, expression: Expression) -> tuple[TableExpression, Expression] | None:
        """The side whose columns an expression is over."""
        read = set(columns_of(expression))
        return next(((side, expression) for side in (self.left, self.right) if read <= {*side.names, side.unit}), None)

    def unit_part(self, expression: Expression) -> str | None:
        """Return the part of the unit; an inner join makes the units of both sides equal."""
        definition = self.definition(expression)
        equal = definition is None or definition[0] is self.left or not self.outer
        return super().unit_part(expression) if equal else None

    @cached_property
    def tables(self) -> int:
        return count_tables(self.left, self.right)

    @cached_property
    def joins(self) -> int:
        return 1 + max(self.left.joins, self.right.joins)

    @memoized
    def multiplicity(self, fixed: Names = NOTHING) -> int | None:
        """Return the rows of one side, times the partners that each has.

        A join that keeps rows without a partner has those of the left side.

        Each join asks each side twice, so nothing is derived of many joins below each other.
        """
        if self.joins > MAX_JOINS:
            return None
        bounds = []
        for first, second, compared_side in ((self.left, self.right, 1), (self.right, self.left, 0)):
            rows = first.multiplicity(self.fixed_in(fixed, first))
            compared = determined(pair[compared_side] for pair in self.on)
            partners = second.multiplicity(self.fixed_in(fixed, second) | compared)
            partners = 1 if self.unique and not second.private else partners
            if rows is not None and partners is not None and not (self.outer and compared_side == 0):
                bounds.append(rows * partners)
        return min(bounds, default=None)

    @memoized
    def fixes(self, fixed: Names, expression: Expression) -> bool:
        """Whether rows agree on an expression.

        Nothing follows on the right side of a LEFT JOIN, where NULL stands for many rows.
        """
        if self.outer and isinstance(expression, Column) and expression.name in self.right.names:
            return expression.name in fixed
        return super().fixes(fixed, expression)

    def fixed_in(self, fixed: Names, source: TableExpression) -> Names:
        """Return the columns of one side that are fixed.

        In an inner join, a column that equals a fixed one is fixed too.
        """
        sides = {id(side): fixed & {*side.names} for side in (self.left, self.right)}
        pairs = [] if self.outer else [((self.left, a), (self.right, b)) for a, b in self.on]
        for (one, a), (other, b) in (*pairs, *(pair[::-1] for pair in pairs)):
            if determined([a]) & sides[id(one)]:
                sides[id(other)] |= determined([b])
        return sides[id(source)]

    @memoized
    def values(self, expression: Expression) -> frozenset[Value] | None:
        """A missing partner is NULL."""
        values = super().values(expression)
        missing = self.outer and isinstance(expression, Column) and expression.name in self.right.names
        return values if values is None or not missing else values | {None}

    def to_json(self) -> object:
        pairs = [[one.to_json(), other.to_json()] for one, other in self.on]
        return {"join": [self.left.to_json(), self.right.to_json()], "on": pairs, "outer": self.outer}
