"""Views in a DuckDB file, where a row comes from one row of one table.

The table is in the same file.

A view that joins, groups, sorts or looks into files is refused: there, one row could change others, or the view could
not be read at all. What a row makes fail is NULL, as everywhere.
"""

import re
from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp

from deniable.errors import SourceError
from deniable.query.engines.duckdb.expression import quoted
from deniable.query.engines.views import selects_rows, table_of

ALLOWED = (
    *(exp.Column, exp.Identifier, exp.Alias, exp.Star, exp.Literal, exp.Boolean, exp.Null, exp.Paren),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In, exp.Is),
    *(exp.Like, exp.ILike, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Case, exp.If),
    *(exp.Cast, exp.TryCast, exp.DataType, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Trim, exp.Abs),
    *(exp.Floor, exp.Ceil, exp.Year, exp.Month, exp.Day, exp.Substring, exp.Length, exp.Round),
)
CURE = "Export the view to a file (COPY ... TO 'view.parquet'); then its rows are what is protected."


def view_source(
    name: str,
    views: Mapping[str, str],
    tables: Sequence[str],
    base: str,
    *,
    macros: Sequence[str] = (),
    above: tuple[str, ...] = (),
) -> str:
    """SQL for the rows of a view.

    Args:
        views: the statement of each view of the file.
        tables: of the file.
        base: what stands before the name of a table.
        macros: of the file; one may have the name of a function.
        above: the views that are made of this one.

    Raises: SourceError if a row of the view is not made from one row of a table of the file.
    """
    if name in above:
        raise SourceError(f"the view {name!r} is made of itself.")
    select = _select(name, views[name])
    if why := selects_rows(select, _is_understood, "duckdb"):
        raise _refused(name, why)
    table = table_of(select)
    assert table is not None
    if table.alias_column_names:
        raise _refused(name, "it renames the columns of its table in a list; name them with AS")
    words = {word.casefold() for word in re.findall(r"\w+", views[name])}
    if shadowing := sorted(macro for macro in macros if macro.casefold() in words):
        raise _refused(name, f"it may call {shadowing[0]}, which is a macro of the file")
    known = {other.casefold(): other for other in (*tables, *views)}
    below = known.get(table.name.casefold())
    if below is None or (table.db or "main") != "main" or table.catalog:
        raise _refused(name, f"it reads {table.sql('duckdb')}, which is not a table of the file")
    columns = ", ".join(map(_total, select.expressions))
    where = select.args.get("where")
    inner = (
        f"{base}.{quoted(below)}"
        if below in tables
        else view_source(below, views, tables, base, macros=macros, above=(*above, name))
    )
    condition = "" if where is None else f" WHERE TRY({where.this.sql('duckdb')})"
    return f"(SELECT {columns} FROM {inner} AS {quoted(table.alias_or_name)}{condition})"


def _is_understood(node: exp.Expr) -> bool:
    """Whether an expression's own node is a function of the row alone.

    `rowid` is a place among other rows.
    """
    odd = isinstance(node, exp.In) and node.args.get("query") is not None
    odd = odd or (isinstance(node, exp.Star) and any(node.args.values()))
    odd = odd or (isinstance(node, exp.Column) and node.name.casefold() == "rowid")
    return isinstance(node, (*ALLOWED, exp.Where)) and not odd


def _select(name: str, statement: str) -> exp.Select:
    try:
        create = sqlglot.parse_one(statement, dialect="duckdb")
    except sqlglot.errors.SqlglotError:
        raise _refused(name, "its text is not understood") from None
    select = create.args.get("expression")
    if not isinstance(create, exp.Create) or not isinstance(select, exp.Select):
        raise _refused(name, "it is not a SELECT of one table")
    named = create.this.expressions if isinstance(create.this, exp.Schema) else []
    if named:
        raise _refused(name, "it renames its columns in a list; name them with AS")
    return select


def _total(column: exp.Expression) -> str:
    """A column of the view, NULL where it cannot be computed."""
    if column.is_star:
        return column.sql("duckdb")
    value = column.unalias()
    return f"TRY({value.sql('duckdb')}) AS {quoted(column.alias_or_name or column.sql('duckdb'))}"


def _refused(name: str, why: str) -> SourceError:
    return SourceError(f"the view {name!r} cannot be asked: {why}. A row of a view must come from one row. {CURE}")
