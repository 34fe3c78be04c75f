"""UNION ALL: the rows of several table expressions.

Each is of the same unit as before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import UNIT, DeclaredTable
from deniable.query.dependency import NOTHING, Names, determined, memoized
from deniable.query.expression import Column, Expression, Facts, Kind, Value
from deniable.query.table_expression import TableExpression, count_tables, named


@dataclass(frozen=True)
class Union(TableExpression):
    """Rows of several table expressions whose columns agree by position.

    Columns are named as in the first.
    """

    sources: tuple[TableExpression, ...]

    def __post_init__(self) -> None:
        count_tables(*self.sources)
        first = self.sources[0]
        for other in self.sources[1:]:
            if len(other.names) != len(first.names):
                raise UnsupportedQueryError(
                    f"UNION ALL joins {len(first.names)} columns to {len(other.names)}. Name as many in each SELECT."
                )
            for one, name in zip(first.names, other.names, strict=True):
                kinds = [first.column(one).facts.kind, other.column(name).facts.kind]
                if kinds[0] is not kinds[1]:
                    raise UnsupportedQueryError(
                        f"UNION ALL puts {name!r} of kind {kinds[1].value} below {one!r} of kind {kinds[0].value}. "
                        "CAST one of them."
                    )
            if first.private is not other.private:
                raise UnsupportedQueryError(
                    "UNION ALL of private and public tables: rows of the public one have no unit, and would be "
                    "left out. Count them directly: they need no noise."
                )
        if not self.private:
            return
        kinds = [source.table.unit_kind or Kind.NULL for source in self.sources]
        if first.unit is None or len(set(kinds)) > 1 or kinds[0] in (Kind.REAL, Kind.TIMESTAMP):
            raise UnsupportedQueryError(
                "UNION ALL needs a column that says whose row it is, a whole number or text in all of its tables alike."
            )

    @property
    def table(self) -> DeclaredTable:
        return self.sources[0].table

    @property
    def names(self) -> tuple[str, ...]:
        return self.sources[0].names

    def column(self, name: str) -> Expression:
        """A column with the facts that hold in every source."""
        column_name = named(name, dict.fromkeys(self.names))
        facts = [expression.facts for expression in self._definitions(column_name)]
        lowers, uppers, keys = ([getattr(fact, word) for fact in facts] for word in ("lower", "upper", "keys"))
        lower, upper = None if None in lowers else min(lowers), None if None in uppers else max(uppers)
        union = None if None in keys else tuple(dict.fromkeys(key for part in keys for key in part))
        length = max(fact.longest for fact in facts) if facts[0].kind is Kind.TEXT else None
        return Column(column_name, Facts(kind=facts[0].kind, lower=lower, upper=upper, keys=union, length=length))

    @property
    def unit(self) -> str | None:
        return UNIT if self.private else None

    def unit_part(self, expression: Expression) -> str | None:
        """Return the part of the unit, if it is the same in every source."""
        whole = super().unit_part(expression)
        if whole or not isinstance(expression, Column):
            return whole
        pairs = zip(self.sources, self._definitions(expression.name), strict=True)
        parts = {source.unit_part(column) for source, column in pairs}
        return parts.pop() if len(parts) == 1 else None

    @cached_property
    def tables(self) -> int:
        return count_tables(*self.sources)

    def inputs(self, column: Column) -> Sequence[tuple[TableExpression, Expression]]:
        return () if column.name == self.unit else [*zip(self.sources, self._definitions(column.name), strict=True)]

    @property
    def joins(self) -> int:
        return max(source.joins for source in self.sources)

    @memoized
    def multiplicity(self, fixed: Names = NOTHING) -> int | None:
        """The sum over the sources, where a fixed column cannot tell them apart."""
        indices = [index for index, name in enumerate(self.names) if name in fixed]
        columns = [[source.names[index] for index in indices] for source in self.sources]
        pairs = [*zip(self.sources, columns, strict=True)]
        rows = [source.multiplicity(determined(map(source.column, names))) for source, names in pairs]
        values = [[source.values(source.column(name)) for name in names] for source, names in pairs]
        together = ([n for n, other in zip(rows, values, strict=True) if _meet(own, other)] for own in values)
        return None if None in rows else max(sum(n or 0 for n in counts) for counts in together)

    @memoized
    def values(self, expression: Expression) -> frozenset[Value] | None:
        if not isinstance(expression, Column) or expression.name not in self.names:
            return super().values(expression)
        pairs = zip(self.sources, self._definitions(expression.name), strict=True)
        values_of = [source.values(column) for source, column in pairs]
        return None if None in values_of else frozenset(value for each in values_of for value in each or ())

    def _definitions(self, name: str) -> list[Expression]:
        """Return the expression of a column in each source."""
        index = self.names.index(name)
        return [source.column(source.names[index]) for source in self.sources]

    def to_json(self) -> object:
        return {"union": [[source.to_json(), list(source.names)] for source in self.sources]}


def _meet(one: Sequence[frozenset[Value] | None], other: Sequence[frozenset[Value] | None]) -> bool:
    """Whether rows with such values can agree in all of them."""
    return not any(a is not None and b is not None and a.isdisjoint(b) for a, b in zip(one, other, strict=True))
