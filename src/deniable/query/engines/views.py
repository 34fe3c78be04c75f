"""Views as all engines read them: each row comes from one row of one table.

Each is a SELECT.
"""

from collections.abc import Callable

from sqlglot import exp

CLAUSES = frozenset({"expressions", "from", "where", "kind"})


def selects_rows(select: exp.Expr, understood: Callable[[exp.Expr], object], dialect: str) -> str | None:
    """Return why a row of a SELECT may not come from one row of one table.

    The reason is in words; None if each does.

    Args:
        understood: whether an expression's own node is a function of the row alone.
    """
    if not isinstance(select, exp.Select):
        return "it is not a SELECT of one table"
    used = [key.rstrip("_") for key, value in select.args.items() if value and key.rstrip("_") not in CLAUSES]
    if used:
        return f"it holds {used[0]}"
    table = table_of(select)
    if table is None:
        return "it does not read one plain table"
    more = {key.rstrip("_") for key, value in table.args.items() if value} - {"this", "db", "catalog", "alias"}
    if more:
        return f"it holds {', '.join(sorted(more))}"
    for part in (*select.expressions, select.args.get("where")):
        for node in part.find_all(exp.Expression) if part is not None else ():
            if not understood(node):
                return f"it holds {node.sql(dialect)}"
    return None


def table_of(select: exp.Select) -> exp.Table | None:
    """The one table of a SELECT."""
    start = select.args.get("from_") or select.args.get("from")
    table = start.this if start is not None else None
    return table if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier) else None
