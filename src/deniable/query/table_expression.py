"""Table expressions: the typed tree from which the rows of a question come.

The tree is immutable.

Every row of a private table expression belongs to one unit, named in the column `unit`, and the rows of a unit are a
function of that unit's own rows in the private tables and of public tables. Nodes keep that promise or refuse to be
made, so a bound on what a unit contributes may stand anywhere above them. Columns carry public facts (`Facts`), each
derived anew where a column is made: a column that is defined again has none of the facts of its namesake.
Proof, node by node: docs/theory/query/table_expressions.md.

An expression over the columns of a node is followed downwards by three methods: `definition` goes one node down, to the
node and the expression over it that gives the value; `base_definition` goes down to the declared table, as long as the
value is computed row by row; `base_column` is that where it is a column unchanged. `unit_part` says which part of the
unit an expression is, `unit_expression` is the unit itself, and `one_row_per_unit` holds where rows are grouped by it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import UNIT, DeclaredTable, did_you_mean
from deniable.query.declarations import Row
from deniable.query.dependency import MAX_SIZE, NOTHING, Names, constants, determined, memoized, values_of
from deniable.query.expression import (
    Call,
    Column,
    Expression,
    Facts,
    Key,
    Kind,
    Value,
    columns_of,
    substituted,
)

WHOLE = "whole"  # the unit itself; "column" and "period" are its parts where it is one of several days
MAX_TABLES = 32  # that one question reads, each as often as it is named
Pairs = tuple[tuple[Expression, Expression], ...]


class TableExpression(ABC):
    """Rows with typed columns; where they are private, each row belongs to one unit."""

    @property
    @abstractmethod
    def table(self) -> DeclaredTable:
        """The table whose declared promise (unit, rows, groups) holds for these rows."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The columns that a query may name, in order."""

    @abstractmethod
    def column(self, name: str) -> Expression:
        """Return the column of a name, by exact spelling or else by any case.

        Raises: UnsupportedQueryError if there is no such column, or its type is not supported.
        """

    @property
    def private(self) -> bool:
        """Whether rows are those of units."""
        return not self.table.public

    @property
    @abstractmethod
    def unit(self) -> str | None:
        """Column that identifies the unit of a row; None if rows are units or public."""

    @property
    def unit_expression(self) -> Column:
        """The column `unit` as an expression."""
        assert self.unit is not None
        return Column(self.unit, Facts(kind=self.table.unit_kind or Kind.NULL))

    @property
    def one_row_per_unit(self) -> bool:
        """Whether rows are grouped by the unit alone, as names of questions state it."""
        return False

    def multiplicity(self, fixed: Names = NOTHING) -> int | None:
        """Return the most rows of one unit that agree on columns; None if unknown.

        Of public rows, the most of all rows. Proof: docs/theory/query/multiplicity.md.
        """
        return None

    @memoized
    def fixes(self, fixed: Names, expression: Expression) -> bool:
        """Whether rows of one unit that agree on `fixed` agree on an expression too.

        `fixed` are columns.
        """
        if not isinstance(expression, Column):
            arguments = expression.arguments if isinstance(expression, Call) else ()
            return expression.size <= MAX_SIZE and all(self.fixes(fixed, each) for each in arguments)
        if expression.name in fixed or self.unit_part(expression) is not None:
            return True
        definition = self.definition(expression)
        return definition is not None and definition[0].fixes(self.fixed_in(fixed, definition[0]), definition[1])

    def fixed_in(self, fixed: Names, source: "TableExpression") -> Names:
        """Return the columns of `source` that `fixed` columns of this node fix.

        Rows that agree on these agree on those.
        """
        return NOTHING

    @property
    def joins(self) -> int:
        """The number of joins below each other."""
        return 0

    @property
    def tables(self) -> int:
        """The number of tables that are read, each as often as it is named."""
        return 1

    def inputs(self, column: Column) -> "Sequence[tuple[TableExpression, Expression]]":
        """Return the expressions of which a column is computed, each with its node.

        The node further down that it is over.
        """
        definition = self.definition(column)
        return () if definition is None else (definition,)

    @memoized
    def parts(self, expression: Expression) -> int:
        """The number of parts of an expression when columns of subqueries are written out."""
        if isinstance(expression, Column):
            return 1 + sum(source.parts(inner) for source, inner in self.inputs(expression))
        return 1 + sum(map(self.parts, expression.arguments)) if isinstance(expression, Call) else 1

    @memoized
    def values(self, expression: Expression) -> frozenset[Value] | None:
        """Return all values that an expression can have; None if they are many."""
        definition = self.definition(expression) if isinstance(expression, Column) else None
        return values_of(expression, self.values) if definition is None else definition[0].values(definition[1])

    def definition(self, expression: Expression) -> "tuple[TableExpression, Expression] | None":
        """Return the node below and the expression over it that give a value.

        The value of an expression; None if none does.
        """
        return None

    def unit_part(self, expression: Expression) -> str | None:
        """Return which stored part of the unit an expression is; None if it is none."""
        if self.private and self.unit is not None and expression == self.unit_expression:
            return WHOLE
        definition = self.definition(expression)
        return None if definition is None else definition[0].unit_part(definition[1])

    def is_unit(self, expression: Expression) -> bool:
        """Whether an expression is the unit as it is stored."""
        return self.unit_part(expression) == WHOLE

    def base_definition(self, expression: Expression) -> tuple[DeclaredTable, Expression] | None:
        """The table of which an expression is computed row by row, and how."""
        definition = self.definition(expression)
        return None if definition is None else definition[0].base_definition(definition[1])

    def base_column(self, expression: Expression) -> tuple[DeclaredTable, str] | None:
        """The table and column from which an expression comes unchanged."""
        definition = self.base_definition(expression)
        return (
            (definition[0], definition[1].name)
            if definition is not None and isinstance(definition[1], Column)
            else None
        )

    def keys_of(self, expression: Expression) -> tuple[Key, ...] | None:
        """Declared values of an expression over columns, however it is written."""
        definition = self.base_definition(expression)
        return None if definition is None else definition[0].keys_of(definition[1])

    def joint_keys(self, keys: Mapping[int, Expression]) -> Iterator[tuple[tuple[int, ...], tuple[Row, ...]]]:
        """Yield declared joint values of several keys of one table, by position."""
        below: dict[int, tuple[TableExpression, dict[int, Expression]]] = {}
        for index, key in keys.items():
            definition = self.definition(key)
            if definition is not None:
                below.setdefault(id(definition[0]), (definition[0], {}))[1][index] = definition[1]
        for tree, inner in below.values():
            yield from tree.joint_keys(inner)

    @abstractmethod
    def to_json(self) -> object:
        """One form for all that certainly means the same."""


@dataclass(frozen=True)
class Scan(TableExpression):
    """A declared table."""

    source: DeclaredTable

    @property
    def table(self) -> DeclaredTable:
        return self.source

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.source.schema)

    def column(self, name: str) -> Expression:
        return self.source.column(name)

    @property
    def unit(self) -> str | None:
        return self.source.unit_column

    def unit_part(self, expression: Expression) -> str | None:
        """A column that is read as another kind than its own could make two units one."""
        table = self.source
        whole = super().unit_part(expression)
        if whole or not isinstance(expression, Column) or table.path is not None or table.unit.column is None:
            return whole
        if expression.facts.kind is not table.schema.get(expression.name):
            return None
        if expression.name == table.unit.column:
            return WHOLE if table.unit.period is None else "column"
        return "period" if expression.name == table.unit.period else None

    def base_definition(self, expression: Expression) -> tuple[DeclaredTable, Expression]:
        return self.source, expression

    def joint_keys(self, keys: Mapping[int, Expression]) -> Iterator[tuple[tuple[int, ...], tuple[Row, ...]]]:
        return self.source.joint_keys(keys)

    def to_json(self) -> object:
        path, period = self.source.path, self.source.unit.period
        if path is not None:
            return {"table": self.source.name, "path": [path.key, Scan(path.parent).to_json(), path.parent_key]}
        return self.source.name if period is None else {"table": self.source.name, "period": period}


@dataclass(frozen=True)
class RowByRow(TableExpression):
    """Rows that each come from one row of the source."""

    source: TableExpression

    @property
    def table(self) -> DeclaredTable:
        return self.source.table

    @property
    def one_row_per_unit(self) -> bool:
        return self.source.one_row_per_unit

    @property
    def joins(self) -> int:
        return self.source.joins

    @property
    def tables(self) -> int:
        return self.source.tables

    def multiplicity(self, fixed: Names = NOTHING) -> int | None:
        return self.source.multiplicity(self.fixed_in(fixed, self.source))


def filtered(source: TableExpression, condition: Expression | None) -> TableExpression:
    """Return the rows for which a condition holds; all of them if it is None."""
    return source if condition is None else FilteredRows(source, condition)


@dataclass(frozen=True)
class FilteredRows(RowByRow):
    """The rows for which a condition holds."""

    condition: Expression

    def fixed_in(self, fixed: Names, source: TableExpression) -> Names:
        """Beside the columns themselves, those that the condition says the one value of."""
        return fixed | constants(self.condition)

    def definition(self, expression: Expression) -> tuple[TableExpression, Expression]:
        return self.source, expression

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names

    def column(self, name: str) -> Expression:
        return self.source.column(name)

    @property
    def unit(self) -> str | None:
        return self.source.unit

    def to_json(self) -> object:
        return {"filter": self.source.to_json(), "where": self.condition.to_json()}


@dataclass(frozen=True)
class Renamed(RowByRow):
    """Rows whose columns carry a prefix.

    So several table expressions can meet in a join.
    """

    prefix: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.prefix + name for name in self.source.names)

    def column(self, name: str) -> Expression:
        return renamed(self.source.column(name.removeprefix(self.prefix)), lambda column: self.prefix + column)

    @property
    def unit(self) -> str | None:
        return None if self.source.unit is None else self.prefix + self.source.unit

    def definition(self, expression: Expression) -> tuple[TableExpression, Expression] | None:
        if not all(name.startswith(self.prefix) for name in columns_of(expression)):
            return None
        return self.source, renamed(expression, lambda column: column.removeprefix(self.prefix))

    def fixed_in(self, fixed: Names, source: TableExpression) -> Names:
        return frozenset(name.removeprefix(self.prefix) for name in fixed)

    def to_json(self) -> object:
        return {"as": self.prefix, "of": self.source.to_json()}


@dataclass(frozen=True)
class Project(RowByRow):
    """Columns computed row by row; the unit is carried along."""

    columns: Mapping[str, Expression] = field(hash=False)

    def __post_init__(self) -> None:
        check_distinct_names(*self.columns, UNIT)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    def column(self, name: str) -> Expression:
        column_name = named(name, self.columns)
        return typed(column_name, self.columns[column_name].facts)

    @property
    def unit(self) -> str | None:
        return None if self.source.unit is None else UNIT

    def definition(self, expression: Expression) -> tuple[TableExpression, Expression] | None:
        column = self.columns.get(expression.name) if isinstance(expression, Column) else None
        return None if column is None else (self.source, column)

    def fixed_in(self, fixed: Names, source: TableExpression) -> Names:
        return determined(self.columns[name] for name in fixed if name in self.columns)

    def to_json(self) -> object:
        columns = {name: expression.to_json() for name, expression in self.columns.items()}
        return {"project": self.source.to_json(), "columns": columns}


def count_tables(*expressions: TableExpression) -> int:
    """Return the number of tables that several table expressions read.

    Each counts as often as it is named.

    Raises: UnsupportedQueryError if they are too many.
    """
    tables = sum(each.tables for each in expressions)
    if tables > MAX_TABLES:
        raise UnsupportedQueryError(
            f"the question reads {tables} tables, each counted as often as it is named; at most {MAX_TABLES} are "
            "joined. Ask several questions."
        )
    return tables


def typed(name: str, facts: Facts) -> Column:
    """A column that is made; of one that is always NULL an engine takes a type, text."""
    return Column(name, replace(facts, kind=Kind.TEXT) if facts.kind is Kind.NULL else facts)


def check_distinct_names(*names: str | None) -> None:
    """Refuse two columns of one name.

    An engine would take one for the other, and perhaps for the unit.
    """
    seen: set[str] = set()
    for name in names:
        if name is not None and name.casefold() in seen:
            raise UnsupportedQueryError(f"two columns would be called {name!r}. Use other aliases.")
        seen.add("" if name is None else name.casefold())


def named(name: str, known: Mapping[str, object]) -> str:
    match = name if name in known else next((one for one in known if one.casefold() == name.casefold()), None)
    if match is None:
        raise UnsupportedQueryError(
            f"the subquery has no column {name!r}.{did_you_mean(name, known)} Its columns: {', '.join(known)}."
        )
    return match


def made_nullable(column: Expression) -> Expression:
    """Return a column of the right side of a LEFT JOIN, which may be NULL."""
    return Column(column.name, replace(column.facts, nullable=True)) if isinstance(column, Column) else column


def renamed(expression: Expression, rename: Callable[[str], str]) -> Expression:
    """Return an expression over renamed columns."""
    return substituted(expression, lambda column: Column(rename(column.name), column.facts))
