"""PostgreSQL as an engine: the same secret integers as from DuckDB, bit for bit, and what it refuses."""

import hashlib
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import ExecutionError, SourceError, UnsupportedQueryError
from deniable.query.engines.base import Engine
from deniable.query.engines.doctor import Doctor
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.postgres.runner import PostgresRunner
from deniable.query.source import open_sources
from tests.postgres import Server, as_reader
from tests.query.engines.integers import (
    COLUMNS,
    OTHERS,
    QUESTIONS,
    RELATIONS,
    UNITS,
    arrow,
    assert_same,
    assert_same_relations,
    tables_of,
)

psycopg = pytest.importorskip("psycopg")


TYPES = {"string": "text", "int64": "bigint", "double": "double precision", "date32[day]": "date", "bool": "boolean"}


def load(url: str, name: str, rows: pa.Table) -> None:
    """A table, whose texts have collations in which more of them are equal than bytes are."""
    blind = {"g": "text COLLATE blind", "name": "public.citext"} if name == "t" else {}
    with psycopg.connect(url, autocommit=True) as connection:
        declared = ", ".join(f"{f.name} {blind.get(f.name, TYPES[str(f.type)])}" for f in rows.schema)
        connection.execute(f"CREATE TABLE {name} ({declared})".encode())
        with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
            for row in zip(*rows.to_pydict().values(), strict=True):
                copy.write_row(row)


ODD = {  # settings of a role
    **{"TimeZone": "'Asia/Kolkata'", "DateStyle": "'German'", "IntervalStyle": "'sql_standard'"},
    **{"client_encoding": "'LATIN1'", "bytea_output": "'escape'", "extra_float_digits": "-3", "array_nulls": "off"},
    **{"standard_conforming_strings": "off", "backslash_quote": "on", "escape_string_warning": "off"},
    **{"transform_null_equals": "on", "quote_all_identifiers": "on", "search_path": "shadows, public, pg_catalog"},
    **{"default_transaction_read_only": "on", "default_transaction_isolation": "'serializable'", "row_security": "off"},
    **{"statement_timeout": "'9s'", "plan_cache_mode": "'force_generic_plan'", "enable_hashagg": "off"},
}
SHADOWS = """
CREATE SCHEMA shadows; GRANT USAGE ON SCHEMA shadows TO reader;
CREATE TABLE shadows.t (who int); CREATE VIEW shadows.pg_class AS SELECT * FROM pg_catalog.pg_class LIMIT 0;
CREATE FUNCTION shadows.length(text) RETURNS int LANGUAGE sql AS 'SELECT 13';
CREATE FUNCTION shadows.md5(text) RETURNS text LANGUAGE sql AS $$SELECT repeat('0', 32)$$;
CREATE DOMAIN shadows.date AS int
"""


@pytest.fixture(scope="module")
def engines(postgres_server: Server) -> Iterator[tuple[Engine, Engine, str]]:
    """All tables on DuckDB and on a server, and its URL; its locale and settings are none that we would choose."""
    tables = {"t": arrow(), **OTHERS}
    ((version,),) = postgres_server.execute("SELECT current_setting('server_version_num')::int / 10000")
    turkish = "TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'" if int(str(version)) > 14 else ""
    with postgres_server.database(turkish) as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
            )
            connection.execute("CREATE EXTENSION citext")
            connection.execute(SHADOWS)
            for name, value in ODD.items():
                connection.execute(f"ALTER ROLE reader SET {name} = {value}".encode())
        for name, rows in tables.items():
            load(url, name, rows)
        pairs = {name: (as_reader(url), name) for name in tables}
        yield DuckDBEngine(tables), open_sources(pairs, columns={}, unit=None), as_reader(url)
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER ROLE reader RESET ALL")


@pytest.mark.parametrize("unit", ["who", "name", None])
@pytest.mark.parametrize("text", QUESTIONS)
def test_a_server_gives_the_same_integers(engines: Any, text: str, unit: str | None) -> None:
    assert_same(*engines[:2], text, unit)


@pytest.mark.parametrize(("text", "unit"), list(zip(RELATIONS, cycle(UNITS))))  # under `make spark`, each with each
def test_a_server_gives_the_same_integers_of_all_relations(engines: Any, text: str, unit: tuple[str, ...]) -> None:
    assert_same_relations(*engines[:2], text, *unit)


@pytest.mark.parametrize("unit", UNITS)
def test_the_doctor_of_a_server_finds_what_that_of_files_finds(engines: Any, unit: tuple[str, ...]) -> None:
    one, other, _ = engines
    for table in tables_of(one, *unit, bound={"rows": 2, "groups": 2}).values():
        here, there = list(Doctor(one).examine(table)), list(Doctor(other).examine(table))
        assert here == there
        assert not [finding for finding in here if finding.count is None]


def test_no_text_of_a_query_reaches_a_server_but_as_a_constant(engines: Any) -> None:
    """A key that is spelled like a sealed piece would end a constant in the middle, and the rest would be obeyed."""
    *_, url = engines
    db = dn.connect(url, table="t", unit="who", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    nonce = hashlib.sha256(b"seals" + bytes(16)).hexdigest()[:16]
    for place in range(4):
        text = (
            "SELECT CASE WHEN note = ', 0)) AS d0(value, position) ON TRUE) SELECT 1; SELECT 1 / (0 * COUNT(*)) --' "
            f"""THEN '"seal_{nonce}_{place}"' ELSE 'z' END AS said, COUNT(*) FROM t GROUP BY said"""
        )
        assert db.explain(text, epsilon=1).plan.query.question.cells == 2
    with pytest.raises(ExecutionError):
        PostgresRunner(url, "t").run("SELECT 1; SELECT 2")


def test_an_answer_and_a_statistic_from_a_server(engines: Any) -> None:
    *_, url = engines
    db = dn.connect(url, table="t", unit="who", columns=COLUMNS, budget=dn.Budget(epsilon=4), rows=2, groups=2)
    answer = db.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
    assert len(answer) == 8
    assert len(db.median("x", epsilon=1)) == 1
    assert "correct" not in f"{db!r}{answer}{db.history()}"


def test_what_a_server_cannot_do_is_refused_before_it_is_paid(engines: Any) -> None:
    *_, url = engines
    db = dn.connect(url, table="t", unit="who", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    for text, words in (
        ("SELECT COUNT(DISTINCT x) FROM t", "of kind real"),
        ("SELECT SUM(GREATEST(LEAST(LN(x), 1), 0)) FROM t", "not computed alike"),
    ):
        with pytest.raises(UnsupportedQueryError, match=words):
            db.sql(text, epsilon=1)
    assert db.ledger.entries() == []
    with pytest.raises(SourceError, match="say which table"):
        dn.connect(url, unit="who", budget=dn.Budget(epsilon=1), columns={}, name="t")
