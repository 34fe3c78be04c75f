"""Plans before and after rules, over one small table: region (keys), age and income (bounds), note (text)."""

from collections.abc import Mapping
from typing import Any

from deniable.query.catalog import DeclaredTable
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.rules.plan import Plan, Request
from tests.query.conftest import frame, table_of

ENGINE = DuckDBEngine.from_arrow(frame())


def tables(**options: Any) -> Mapping[str, DeclaredTable]:
    return {"t": table_of(ENGINE, **options)}


def asked(
    question: Any = "SELECT COUNT(*) AS n FROM t", *, bounds: Mapping[str, Any] | None = None, **how: Any
) -> Plan:
    """The plan of a question before the first rule; `bounds` are options of the table."""
    return Plan(request=Request(question=question, **how), tables=tables(**(bounds or {})))
