"""What a server puts between rows and those who ask, asked by a role with SELECT alone: understood, or refused."""

import re
from collections.abc import Iterator

import pytest

import deniable as dn
from deniable.errors import SourceError
from deniable.query.source import open_source
from tests.postgres import Server, as_reader
from tests.query.engines.test_views import ALL, NEW, ROWS, VALUES, assert_understood_or_refused

OF_POSTGRES: dict[str, int | None] = {  # statements about `seen`, and its total
    "CREATE VIEW seen WITH (security_barrier) AS SELECT * FROM t": 60,
    "CREATE VIEW seen (x, who, g) AS SELECT x, who, g FROM t": 60,
    "CREATE VIEW seen AS SELECT u AS who, y AS x FROM t AS s(u, y, z)": 60,
    "CREATE MATERIALIZED VIEW seen AS SELECT * FROM t": 60,
    "CREATE MATERIALIZED VIEW seen AS SELECT who, sum(x) OVER () AS x FROM t": None,
    "CREATE MATERIALIZED VIEW seen AS SELECT * FROM t WITH NO DATA": None,
    "CREATE TABLE seen (LIKE t); INSERT INTO seen SELECT * FROM t; "
    "CREATE RULE no AS ON INSERT TO seen DO INSTEAD NOTHING": 60,
    "CREATE TABLE seen (LIKE t, y bigint GENERATED ALWAYS AS (x + 1) STORED); INSERT INTO seen SELECT * FROM t": 60,
    "CREATE TABLE seen (LIKE t); CREATE TABLE part () INHERITS (seen); INSERT INTO part SELECT * FROM t": 60,
    f"CREATE TABLE seen {ROWS} PARTITION BY RANGE (x); CREATE TABLE low PARTITION OF seen DEFAULT; "
    "INSERT INTO seen SELECT * FROM t": 60,
    f"CREATE TABLE seen {ROWS} PARTITION BY RANGE (x); "
    "CREATE FOREIGN TABLE away PARTITION OF seen DEFAULT SERVER far": None,
    f"CREATE FOREIGN TABLE seen {ROWS} SERVER far": None,
    "CREATE TABLE seen AS SELECT * FROM t; ALTER TABLE seen ENABLE ROW LEVEL SECURITY; "
    "CREATE POLICY p ON seen USING (x < (SELECT max(x) FROM t))": None,
    "CREATE TABLE low AS SELECT * FROM t; ALTER TABLE low ENABLE ROW LEVEL SECURITY; "
    "CREATE VIEW seen AS SELECT * FROM low": None,
    "CREATE SEQUENCE seen": None,
    "CREATE VIEW seen AS SELECT who, x FROM t WHERE x + x > 9223372036854775800": None,  # a row could stop it
    "CREATE VIEW seen AS SELECT who, CAST(g AS bigint) AS x FROM t": None,
    "CREATE VIEW seen AS SELECT who, x FROM t WHERE g OPERATOR(public.===) g": None,
    "CREATE VIEW seen AS SELECT who, x FROM generate_series(1, 3) AS f(n), t": None,
    "CREATE VIEW seen AS SELECT who, x FROM t TABLESAMPLE SYSTEM (50)": None,
}


@pytest.fixture(scope="module")
def shop(postgres_server: Server) -> Iterator[str]:
    import psycopg

    with postgres_server.database() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(
                f"CREATE TABLE t {ROWS}; {VALUES}; {NEW}; CREATE EXTENSION postgres_fdw; "
                "CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw; "
                "CREATE FUNCTION mine(v bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT max(x) FROM t'; "
                "CREATE FUNCTION same(v text, w text) RETURNS boolean LANGUAGE sql AS 'SELECT random() < 1'; "
                "CREATE OPERATOR public.=== (FUNCTION = same, LEFTARG = text, RIGHTARG = text)".encode()
            )
        yield url


@pytest.mark.parametrize(("statement", "expected"), [*ALL, *OF_POSTGRES.items()])
def test_objects_of_a_server(shop: str, statement: str, expected: int | None) -> None:
    import psycopg

    with psycopg.connect(shop, autocommit=True) as connection:
        connection.execute(statement.encode())
        try:
            assert_understood_or_refused(lambda: open_source(as_reader(shop), table="seen"), expected)
        finally:
            kind, name = re.findall(r"((?:FOREIGN )?TABLE|VIEW|MATERIALIZED VIEW|SEQUENCE) (seen|low)", statement)[0]
            connection.execute(f"DROP {kind} {name} CASCADE".encode())


def test_a_view_that_changes_under_a_question_is_seen_before_it_is_paid(shop: str) -> None:
    import psycopg

    with psycopg.connect(shop, autocommit=True) as connection:
        connection.execute("CREATE VIEW changing AS SELECT who, x FROM t")
        db = dn.connect(as_reader(shop), table="changing", unit="who", columns={}, budget=dn.Budget(epsilon=1))
        connection.execute("CREATE OR REPLACE VIEW changing AS SELECT who, sum(x) OVER () ::bigint AS x FROM t")
        with pytest.raises(SourceError, match="Connect again"):
            db.sql("SELECT COUNT(*) FROM changing", epsilon=1)
        assert db.ledger.entries() == []
