"""Whatever an owner's database puts between rows and those who ask is understood, or refused before it is paid.

For each kind of object: either a question gets the integers of the table itself, or a sentence. All as a role that may
connect, use the schema and select, and nothing else. `make spark` asks the same of Spark.
"""

import re
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

import deniable as dn
from deniable.errors import SourceError
from deniable.query.aggregates.aggregate import PricedAggregate
from deniable.query.engines.base import Engine
from deniable.query.engines.duckdb.engine import DuckDBEngine
from tests.query.conftest import SECRET, plan_of
from tests.query.conftest import table_of as declared

ROWS = "(who bigint, x bigint, g text)"
VALUES = "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (2, 30, 'a'), (NULL, 40, NULL)"
VIEWS: dict[str, int | None] = {  # and the total of x, None where it is refused
    "SELECT * FROM t": 60,
    "SELECT who, x, g FROM t": 60,
    "SELECT t.g, t.x, t.who FROM t WHERE g = 'a' OR x IN (20, 40)": 60,
    "SELECT who, x FROM (SELECT 1) AS nothing, t": None,
    "SELECT who, x FROM t WHERE x BETWEEN 15 AND 25": 20,
    "SELECT who, CASE WHEN g = 'b' THEN 5 ELSE x END AS x FROM t": 45,
    "SELECT who, x FROM inner_view WHERE x > 15": 50,
    "SELECT who, sum(x) OVER () AS x FROM t": None,
    "SELECT who, x FROM t WHERE random() < 2": None,
    "SELECT who, (SELECT max(x) FROM t) AS x FROM t": None,
    "SELECT who, x FROM t LIMIT 2": None,
    "SELECT DISTINCT who, x FROM t": None,
    "SELECT who, max(x) AS x FROM t GROUP BY who": None,
    "SELECT who, x FROM t UNION ALL SELECT who, x FROM t": None,
    "SELECT a.who, b.x FROM t a JOIN t b ON a.who = b.who": None,
    "SELECT who, mine(x) AS x FROM t": None,
    "WITH w AS (SELECT * FROM t) SELECT * FROM w": None,
    "SELECT who, x FROM t WHERE who IN (SELECT who FROM t)": None,
    "SELECT who, x FROM broken_view": None,
}
OF_DUCKDB: dict[str, int | None] = {
    "CREATE VIEW seen AS SELECT u AS who, y AS x FROM t AS s(u, y, z)": None,
    "CREATE VIEW seen (x, who) AS SELECT who, x FROM t": None,
    "CREATE TABLE seen (who bigint, x bigint AS (CAST(random() * who AS bigint)), g text)": None,
    "CREATE TABLE low (who bigint, x bigint AS (1 // who)); CREATE VIEW seen AS SELECT * FROM low": None,
    "CREATE MACRO coalesce_x(v) AS random(); CREATE MACRO lower(v) AS random(); "
    "CREATE VIEW seen AS SELECT who, x, lower(g) AS g FROM t": None,
}
NEW = (
    "CREATE VIEW inner_view AS SELECT x, who FROM t WHERE x > 5; "
    "CREATE VIEW broken_view AS SELECT who, sum(x) OVER () AS x FROM t"
)
ALL = [(f"CREATE VIEW seen AS {view}", total) for view, total in VIEWS.items()]


def assert_understood_or_refused(engine: Callable[[], Engine], expected: int | None) -> None:
    """The integers of the table itself, or a sentence that says what to do."""
    if expected is None:
        with pytest.raises(SourceError, match=r"cannot be asked|computed when it is read") as refused:
            engine()
        assert re.search("CREATE TABLE|COPY|Parquet", str(refused.value))
        return
    held = engine()
    table = declared(held, unit="who", columns={"x": dn.Number(lower=0, upper=100)}, rows=5)
    plan = plan_of(table, "SELECT SUM(x) FROM t")
    held.check(plan)
    (part,) = plan.parts
    assert isinstance(part, PricedAggregate)
    assert [[int(each) for each in values] for values in held.exact(plan, secret=SECRET)] == [[expected * part.share]]


@pytest.mark.parametrize(("statement", "expected"), [*ALL, *OF_DUCKDB.items()])
def test_objects_of_a_duckdb_file(tmp_path: Path, statement: str, expected: int | None) -> None:
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t {ROWS}; {VALUES}; CREATE MACRO mine(v) AS v; {NEW}; {statement}")
    assert_understood_or_refused(lambda: DuckDBEngine.from_file(tmp_path / "t.duckdb", table="seen"), expected)
