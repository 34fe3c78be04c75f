"""The reader of SQL: text to a question about declared tables.

`statement` parses the text, `tables` reads FROM, `clauses` the other clauses, and `translation` the nodes in them.
"""

from collections.abc import Mapping

from deniable.errors import UnsupportedQueryError
from deniable.query.catalog import DeclaredTable
from deniable.query.clauses import read_select
from deniable.query.plan import Query
from deniable.query.statement import read_statement
from deniable.query.tables import Known, Look, read_from


def parse(
    text: str,
    tables: Mapping[str, DeclaredTable],
    look: Look | None = None,
    dialect: str = "duckdb",
    *,
    find: bool = False,
) -> Query:
    """Return the question that a text asks about tables.

    Args:
        look: reads a column of public rows; None where no subquery may need it.
        dialect: of the text.
        find: whether groups may be found that are not declared, which takes a price with delta.

    Raises: UnsupportedQueryError if the text is not one SELECT made of listed parts over declared names.
    """
    try:
        select = read_statement(text, dialect)
        return read_select(text, select, read_from(select, Known(tables, look)), find=find)
    except RecursionError:
        raise UnsupportedQueryError("the query is too deeply nested. Write it with fewer nested expressions.") from None
    except UnsupportedQueryError as error:
        if error.position is None:
            raise
        before = text[: error.position]
        line = before.count("\n") + 1
        column = error.position - before.rfind("\n")
        raise UnsupportedQueryError(f"line {line}, column {column}: {error}") from None
