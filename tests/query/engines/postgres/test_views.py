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
    "CREATE SEQUENCE seen": None,
    "CREATE VIEW seen AS SELECT who, x FROM t WHERE x + x > 9223372036854775800": None,  # a row could stop it
    "CREATE VIEW seen AS SELECT who, CAST(g AS bigint) AS x FROM t": None,
    "CREATE VIEW seen AS SELECT who, x FROM t WHERE g OPERATOR(public.===) g": None,
    "CREATE VIEW seen AS SELECT who, x FROM generate_series(1, 3) AS f(n), t": None,
    "CREATE VIEW seen AS SELECT who, x FROM t TABLESAMPLE SYSTEM (50)": None,
}
# Over a table `low` whose policies are no function of the row alone; `keeper` is a role that owns nothing at first.
VIEW, MINE = "CREATE VIEW seen AS SELECT * FROM low", "ALTER TABLE low OWNER TO keeper"
OF_POLICIES: dict[str, int | None] = {
    "ALTER TABLE low RENAME TO seen": None,
    "ALTER TABLE low RENAME TO seen; ALTER ROLE reader BYPASSRLS": 60,
    "ALTER TABLE low RENAME TO seen; ALTER TABLE seen DISABLE ROW LEVEL SECURITY": 60,
    f"{MINE}; ALTER TABLE low RENAME TO seen; GRANT keeper TO reader": 60,
    f"{MINE}; ALTER TABLE low RENAME TO seen; GRANT keeper TO reader; ALTER TABLE seen FORCE ROW LEVEL SECURITY": None,
    VIEW: 60,
    f"{VIEW}; GRANT SELECT ON low TO keeper; ALTER VIEW seen OWNER TO keeper": None,
    f"{VIEW}; {MINE}; ALTER VIEW seen OWNER TO keeper": 60,
    f"{VIEW}; {MINE}; ALTER VIEW seen OWNER TO keeper; ALTER TABLE low FORCE ROW LEVEL SECURITY": None,
    f"{VIEW}; ALTER VIEW seen SET (security_invoker = yes)": None,  # from PostgreSQL 15 on
    f"CREATE TABLE seen {ROWS}; ALTER TABLE low INHERIT seen": 60,  # whose policies count where it is named alone
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


@pytest.mark.parametrize("statement", OF_POLICIES)
def test_tables_are_asked_where_no_policy_chooses_rows(
    shop: str, postgres_server: Server, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    with psycopg.connect(shop, autocommit=True) as connection:
        if "invoker" in statement and connection.info.server_version < 150000:
            pytest.skip("views of the invoker came with PostgreSQL 15")
        connection.execute(
            "CREATE ROLE keeper; GRANT ALL ON SCHEMA public TO keeper; CREATE TABLE low (LIKE t); INSERT INTO low "
            "SELECT * FROM t; ALTER TABLE low ENABLE ROW LEVEL SECURITY; "
            f"CREATE POLICY p ON low USING (x < (SELECT max(x) FROM t)); {statement}".encode()
        )
        try:
            expected = OF_POLICIES[statement]
            assert_understood_or_refused(lambda: open_source(as_reader(shop), table="seen"), expected)
            if expected is None:  # nor would the server answer, did we not refuse
                monkeypatch.setattr("deniable.query.engines.postgres.runner.refusal", lambda tree: None)
                with pytest.raises(SourceError, match="may not read it"):
                    open_source(as_reader(shop), table="seen")
        finally:
            connection.execute("ALTER ROLE reader NOBYPASSRLS; DROP TABLE IF EXISTS low CASCADE")
            connection.execute("DROP TABLE IF EXISTS seen CASCADE; DROP OWNED BY keeper; DROP ROLE keeper")


def test_a_view_that_changes_under_a_question_is_seen_before_it_is_paid(shop: str) -> None:
    import psycopg

    with psycopg.connect(shop, autocommit=True) as connection:
        connection.execute("CREATE VIEW changing AS SELECT who, x FROM t")
        db = dn.connect(as_reader(shop), table="changing", unit="who", columns={}, budget=dn.Budget(epsilon=1))
        connection.execute("CREATE OR REPLACE VIEW changing AS SELECT who, sum(x) OVER () ::bigint AS x FROM t")
        with pytest.raises(SourceError, match="one row of a table"):
            db.sql("SELECT COUNT(*) FROM changing", epsilon=1)
        assert db.ledger.entries() == []
