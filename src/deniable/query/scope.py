"""What names mean: columns in the row part of a query, aggregates, groups and aliases in its result part."""

from abc import ABC, abstractmethod

from sqlglot import exp

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import Table
from deniable.query.expression import Expression


class Scope(ABC):
    """Resolves the nodes whose meaning depends on where they stand."""

    @abstractmethod
    def resolve(self, node: exp.Expr) -> Expression | None:
        """The expression for a column or an aggregate; None for any other node."""


class RowScope(Scope):
    """Inside WHERE, GROUP BY and the arguments of aggregates: names are columns of the private table."""

    def __init__(self, table: Table, alias: str) -> None:
        self.table = table
        self.alias = alias

    def resolve(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.AggFunc | exp.Filter):
            raise UnsupportedQueryError(
                "an aggregate (COUNT, SUM, AVG) cannot stand in WHERE, GROUP BY or another aggregate."
            )
        if not isinstance(node, exp.Column):
            return None
        name = self.name_of(node)
        try:
            return self.table.column(name)
        except UnsupportedQueryError as error:
            if not node.this.args.get("quoted"):
                raise
            raise UnsupportedQueryError(f"{error} Double quotes name a column; text is written '{name}'.") from None

    def name_of(self, node: exp.Column) -> str:
        """The column's name, once its qualifier is known to be this table."""
        qualifier = node.table
        if qualifier and qualifier.casefold() not in (self.alias.casefold(), self.table.name.casefold()):
            raise UnsupportedQueryError(f"{qualifier!r} is not a table of this query. Its table is {self.alias!r}.")
        if not isinstance(node.this, exp.Identifier):
            raise UnsupportedQueryError("SELECT * would list rows of people. Ask for COUNT(*), SUM(...) or AVG(...).")
        return str(node.name)
