"""A statement that was written for DuckDB, as another engine reads it.

What a statement is made of by us (layers, groups, bounds) is parsed by sqlglot, changed where engines differ, and
printed for the engine. What stands for the analyst's expressions, names and constants is sealed before: it was written
for the engine by its dialect, appears as a name that nothing else has, and is put in its place at the very end.
"""

import re
from collections.abc import Mapping

import sqlglot
from sqlglot import exp

NAMES: Mapping[str, str] = {"PostgreSQL": "postgres", "Spark": "spark"}  # of the dialects, in sqlglot
WIDE = exp.DataType.build("DECIMAL(38, 0)")


class Seals:
    """Pieces of SQL in an engine's own words, each under a name.

    Args:
        nonce: letters that nobody who writes a query or a policy knows.
    """

    def __init__(self, nonce: str) -> None:
        self._nonce = nonce
        self._pieces: dict[str, int] = {}

    def seal(self, sql: str) -> str:
        """A name for a piece of SQL, quoted as DuckDB has it."""
        return f'"seal_{self._nonce}_{self._pieces.setdefault(sql, len(self._pieces))}"'

    def opened(self, statement: str) -> str:
        """Return the statement with the pieces in their places.

        Nothing inside a piece is looked at any more.
        """
        pieces = list(self._pieces)
        return re.sub(rf'(["`])seal_{self._nonce}_(\d+)\1', lambda match: pieces[int(match[2])], statement)


def printed(statement: str, dialect: str) -> str:
    """A statement of ours for the engine of this name."""
    tree = sqlglot.parse_one(statement, dialect="duckdb")
    for number, node in enumerate(list(tree.walk())):
        if isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join) and not node.alias:
            node.set("alias", exp.TableAlias(this=exp.to_identifier(f"from{number}")))  # PostgreSQL 15 wants one
        changed = _changed(node, dialect)
        if changed is not node:
            node.replace(changed)
    return tree.sql(dialect=NAMES[dialect])


def _changed(node: exp.Expr, dialect: str) -> exp.Expr:
    """A node with the same meaning on the engine."""
    match node:
        case exp.Try():
            inner: exp.Expr = node.this  # which is total
            return inner
        case exp.TryCast():
            return exp.Cast(this=node.this, to=node.args["to"])
        case exp.DataType() if node.this is exp.DataType.Type.INT128:
            return WIDE.copy()
        case exp.Sum() if dialect == "Spark":  # which would stop beyond 64 bits
            node.set("this", exp.Cast(this=node.this, to=WIDE.copy()))
        case exp.Cast() if dialect == "Spark" and node.to.is_type("bigint") and _is_float(node.this):
            node.set("this", exp.Anonymous(this="rint", expressions=[node.this]))
    return node


def _is_float(node: exp.Expr) -> bool:
    return any(cast.to.is_type("double") for cast in node.find_all(exp.Cast))
