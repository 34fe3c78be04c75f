"""Views and policies of PostgreSQL: understood or refused, by its catalogs.

Rows are those of the table, of its partitions and of what inherits from it; or of a view in which each row comes from
one row of a table, by expressions that look at that row alone and that no value can stop.
"""

from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from deniable.query.engines.views import selects_rows

# The table or view, all that its rows can come from, and facts that decide. A rule depends on what its view reads, and
# on the functions, operators and types that are not the server's own. The role that reads decides whose policies choose
# rows: the owner of a view, unless it is one of its invoker; below a parent, its own policies alone count, so nobody.
# Names are those that `search_path` gives.
TREE = """
WITH RECURSIVE tree(oid, depth, reader) AS (
    SELECT %s::regclass::oid, 0, oid FROM pg_roles WHERE rolname = current_user
    UNION
    SELECT below.oid, least(depth + 1, 9), below.reader FROM tree JOIN pg_class AS c ON c.oid = tree.oid, LATERAL (
        SELECT inhrelid, 0::oid FROM pg_inherits WHERE inhparent = c.oid
        UNION SELECT refobjid, CASE WHEN EXISTS (
            SELECT FROM pg_options_to_table(c.reloptions) WHERE option_name = 'security_invoker' AND option_value::bool
        ) THEN (SELECT oid FROM pg_roles WHERE rolname = current_user) ELSE c.relowner END
        FROM pg_rewrite AS r JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = r.oid
        WHERE ev_class = c.oid AND ev_type = '1' AND refclassid = 'pg_class'::regclass AND refobjid <> c.oid
    ) AS below(oid, reader)
)
SELECT c.relkind::text, c.relispopulated,
    c.relrowsecurity AND EXISTS (SELECT FROM pg_roles AS r WHERE r.oid = reader AND NOT (rolsuper OR rolbypassrls)
                                 AND (c.relforcerowsecurity OR NOT pg_has_role(r.oid, c.relowner, 'USAGE'))),
    EXISTS (SELECT FROM pg_attribute WHERE attrelid = c.oid AND attgenerated NOT IN ('', 's')),
    EXISTS (SELECT FROM pg_rewrite AS r JOIN pg_depend ON classid = 'pg_rewrite'::regclass AND objid = r.oid
            WHERE ev_class = c.oid AND ev_type = '1'
            AND refclassid NOT IN ('pg_class'::regclass, 'pg_collation'::regclass)),
    CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END
FROM tree JOIN pg_class AS c ON c.oid = tree.oid ORDER BY depth, c.oid, reader
"""
TABLES, VIEWS = ("r", "p"), ("v", "m")  # kinds in pg_class: plain and partitioned; views and materialized ones
NOUNS = {
    "f": "a foreign table",
    "S": "a sequence",
    "c": "a type",
    "i": "an index",
    "I": "an index",
    "t": "a store of values",
}
TOTAL = (
    *(exp.Column, exp.Identifier, exp.Alias, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Where),
    *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Is, exp.Any, exp.Array),
    *(exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast, exp.DataType),
)
POLICIES = (  # which may look at other rows, at other tables and at settings
    "policies of row-level security choose the rows that its reader sees. Ask as a role with BYPASSRLS, or a view that "
    "the table's owner makes (CREATE VIEW ... AS SELECT ...), or a table of the rows (CREATE TABLE ... AS)."
)
CURE = "A row here must come from one row of a table. Make a table of it (CREATE TABLE ... AS), and ask that."


def refusal(tree: Sequence[tuple[Any, ...]]) -> str | None:
    """Return why a table or view cannot be asked; None if it can.

    The rows of `TREE` decide.
    """
    for kind, populated, policies, generated, own, definition in tree:
        why = None
        if kind not in (*TABLES, *VIEWS):
            why = f"it is, or reads, {NOUNS.get(kind, 'something that is not a table')}"
        elif policies:
            return POLICIES
        elif generated:
            why = "a column of it is computed when it is read"
        elif not populated:
            why = "it is a materialized view without rows"
        elif own:
            why = "it uses a function, an operator or a type that is not the server's own"
        elif definition is not None:
            why = _of_view(definition)
        if why is not None:
            return f"{why}. {CURE}"
    return None


def views_of(tree: Sequence[tuple[Any, ...]]) -> list[str]:
    """The definitions of the views among the rows of `TREE`."""
    return [definition for *_, definition in tree if definition is not None]


def _of_view(definition: str) -> str | None:
    try:
        select = sqlglot.parse_one(definition, dialect="postgres")
    except sqlglot.errors.SqlglotError:
        return "its text is not understood"
    return selects_rows(select, _is_total, "postgres")


def _is_total(node: exp.Expr) -> bool:
    """Whether an expression has a value whatever the row holds.

    It is then a function of the row alone.
    """
    if isinstance(node, exp.Cast):
        inner = node.this.unnest()
        return isinstance(inner, exp.Literal) or node.to.sql("postgres") == "TEXT"
    return isinstance(node, TOTAL)
