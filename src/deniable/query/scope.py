"""Scopes: what names mean in the rows of a query and in its result."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.expression import Expression, Key, Literal
from deniable.query.table_expression import TableExpression, made_nullable, renamed

Values = Callable[[exp.Expr], Sequence[Literal]]


class Scope(ABC):
    """Resolves the nodes whose meaning depends on where they stand."""

    @abstractmethod
    def resolve(self, node: exp.Expr) -> Expression | None:
        """The expression for a column or an aggregate; None for any other node."""

    def values(self, query: exp.Expr) -> Sequence[Literal]:
        """Return the constants that a subquery over public tables gives.

        They are read while the question is planned.

        Raises: UnsupportedQueryError if it reads private tables, or stands where none is read.
        """
        raise UnsupportedQueryError("a subquery cannot stand here.")


@dataclass(frozen=True)
class Item:
    """One table or subquery of a FROM, under the name that the query gives it.

    Args:
        aliases: what the query calls it, the wanted name first.
        prefix: of its columns' names in the source of the whole FROM.
        merged: columns that another item shows already, by USING.
        outer: whether its columns may be missing, by LEFT JOIN.
    """

    aliases: tuple[str, ...]
    source: TableExpression
    prefix: str = ""
    merged: frozenset[str] = frozenset()
    outer: bool = False

    @property
    def alias(self) -> str:
        return self.aliases[0]

    def shows(self, name: str) -> bool:
        """Whether the bare name means one of its columns."""
        folded = name.casefold()
        return folded not in self.merged and any(each.casefold() == folded for each in self.source.names)

    def column(self, name: str) -> Expression:
        column = renamed(self.source.column(name), lambda column: self.prefix + column)
        return made_nullable(column) if self.outer else column


class RowScope(Scope):
    """Scope of WHERE, GROUP BY and the arguments of aggregates.

    Names are columns of the rows that FROM gives.
    """

    def __init__(
        self,
        source: TableExpression,
        items: Sequence[Item],
        values: Values | None = None,
        public: Callable[[TableExpression, Expression], tuple[Key, ...] | None] | None = None,
    ) -> None:
        self.source = source
        self.items = items
        self._values = values
        self._public = public

    def values(self, query: exp.Expr) -> Sequence[Literal]:
        return super().values(query) if self._values is None else self._values(query)

    @property
    def names(self) -> Iterator[str]:
        """The bare names of all columns, in lower case."""
        return (name.casefold() for item in self.items for name in item.source.names)

    def keys_of(self, expression: Expression) -> tuple[Key, ...] | None:
        """Return the public values of an expression.

        They are declared, or those of a column in the rows of a public table.
        """
        declared = self.source.keys_of(expression)
        if declared is None and self._public is not None and expression.facts.keys is None:
            return self._public(self.source, expression)
        return declared

    def resolve(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup):
            raise UnsupportedQueryError(
                "an aggregate (COUNT, SUM, AVG) cannot stand in WHERE, GROUP BY or another aggregate."
            )
        return self.column(node) if isinstance(node, exp.Column) else None

    def column(self, node: exp.Column) -> Expression:
        """Return the expression of a column that the query names.

        Raises: UnsupportedQueryError if no table of FROM has it, or several have.
        """
        name, item = self.name_of(node), self._item(node)
        try:
            return item.column(name)
        except UnsupportedQueryError as error:
            if not node.this.args.get("quoted"):
                raise
            raise UnsupportedQueryError(f"{error} Double quotes name a column; text is written '{name}'.") from None

    def name_of(self, node: exp.Column) -> str:
        """The column's name, once it is known to be one."""
        if not isinstance(node.this, exp.Identifier):
            raise UnsupportedQueryError("SELECT * would list rows of people. Ask for COUNT(*), SUM(...) or AVG(...).")
        return str(node.name)

    def _item(self, node: exp.Column) -> Item:
        """Return the table of FROM that a column is of.

        Where none is, the first, which says so best.
        """
        if node.table:
            qualifier = node.table.casefold()
            for position in range(2):  # a table may be called by its own name too, where nothing else is
                for item in self.items:
                    if qualifier in (alias.casefold() for alias in item.aliases[position : position + 1]):
                        return item
            known = " or ".join(repr(item.alias) for item in self.items)
            raise UnsupportedQueryError(f"{node.table!r} is not a table of this query. Its table is {known}.")
        shown = [item for item in self.items if item.shows(node.name)]
        if len(shown) > 1:
            which = " or ".join(f"{item.alias}.{node.name}" for item in shown)
            raise UnsupportedQueryError(f"several tables have a column {node.name!r}. Write {which}.")
        return (shown or list(self.items))[0]
