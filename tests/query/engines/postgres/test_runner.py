"""A table of a PostgreSQL server as a source: what is read, what is said, and what no setting changes."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.errors import ExecutionError, InvalidParameterError, LedgerError, SourceError, UnsupportedQueryError
from deniable.query.engines.dialect import Translator
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.engines.postgres.runner import SETTINGS, PostgresRunner, _cause
from deniable.query.expression import Column, Facts, Kind, literal
from deniable.query.operators import call
from tests.postgres import PASSWORD, Server, as_reader

EVERY = {
    **dict.fromkeys(("smallint", "integer", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("real", "double precision", "numeric", "numeric(12, 3)"), Kind.REAL),
    **dict.fromkeys(("text", "varchar(9)", "char(9)", "uuid", "mood"), Kind.TEXT),
    **dict.fromkeys(("timestamp", "timestamptz", "timestamp(0)"), Kind.TIMESTAMP),
    **{"boolean": Kind.BOOLEAN, "date": Kind.DATE},
    **dict.fromkeys(("json", "integer[]", "bytea", "interval", "time", "money", "citytext"), None),
}


@pytest.fixture
def runner(postgres: str) -> Iterator[PostgresRunner]:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('sad', 'ok')")
        connection.execute("CREATE DOMAIN citytext AS text")
        columns = ", ".join(f'"c {place}" {kind}' for place, kind in enumerate(EVERY))
        connection.execute(f'CREATE SCHEMA "the.shop"; CREATE TABLE "a ""b" ({columns}, gone int)'.encode())
        connection.execute('ALTER TABLE "a ""b" DROP COLUMN gone')
        connection.execute(
            "CREATE TABLE odd (n numeric, d date, s timestamp, z timestamptz, c char(3), t text, x real)"
        )
        connection.execute(
            "INSERT INTO odd VALUES ('NaN', 'infinity', '-infinity', 'infinity', 'a', 'x', 'NaN'), "
            "('Infinity', '0044-03-15 BC', '0044-03-15 BC', '9999-12-31 23:30:00-01', 'b ', '', '1e-40'), "
            "('1e400', '2024-02-29', '2024-02-29 12:00', '2024-02-29 12:00+05:30', 'c', NULL, 0.1), "
            "('-1e-400', '10000-01-01', '10000-01-01', '0001-01-01 00:00+00', NULL, '-7.5', '-Infinity')"
        )
        connection.execute("CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        connection.execute("CREATE TABLE words AS SELECT 'Ab'::text COLLATE blind AS t")
        connection.execute(
            "ALTER ROLE reader SET TimeZone = 'Asia/Kolkata'; ALTER ROLE reader SET DateStyle = 'German'"
        )
        connection.execute("ALTER ROLE reader SET standard_conforming_strings = off")
        connection.execute("CREATE FUNCTION public.abs(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 13'")
        connection.execute("ALTER ROLE reader SET search_path = public, pg_catalog")
        yield PostgresRunner(as_reader(postgres), "odd", seconds=5)
        connection.execute("ALTER ROLE reader RESET ALL")


def values(runner: PostgresRunner, kind: Kind, name: str, operator: str | None = None) -> list[object]:
    column = Column(name, Facts(kind=kind))
    expression = column if operator is None else call(operator, column)
    return [row[0] for row in runner.run(f"SELECT {Translator(runner.dialect, runner.types).expression(expression)} "
                                         f"FROM {runner.source}")]  # fmt: skip


def test_types_are_known_by_kind_and_others_are_not_read(postgres: str, runner: PostgresRunner) -> None:
    found = PostgresRunner(as_reader(postgres), 'a "b').schema()
    assert list(found) == [f"c {place}" for place in range(len(EVERY))]
    assert dict(zip(EVERY, found.values(), strict=True)) == EVERY
    assert set(Postgres.kinds.values()) | {Kind.NULL} == set(Kind)


def test_odd_values_have_none_and_stop_nothing(runner: PostgresRunner) -> None:
    leap = datetime(2024, 2, 29)
    assert values(runner, Kind.REAL, "n") == [None, float("inf"), float("inf"), 0]
    assert values(runner, Kind.REAL, "x") == [None, 9.99994610111476e-41, 0.10000000149011612, -float("inf")]
    assert values(runner, Kind.DATE, "d") == [None, None, leap.date(), None]
    assert values(runner, Kind.TIMESTAMP, "s") == [None, None, leap.replace(hour=12), None]
    assert values(runner, Kind.TIMESTAMP, "z") == [None, None, datetime(2024, 2, 29, 6, 30), datetime(1, 1, 1)]
    assert values(runner, Kind.TEXT, "c", "length") == [1, 1, 1, None]
    assert values(runner, Kind.INTEGER, "t") == [None, None, None, -8]  # text that is declared a whole number
    assert values(runner, Kind.INTEGER, "n") == [None, None, None, 0]
    assert values(runner, Kind.TEXT, "d") == [None, None, "2024-02-29", None]


def test_neither_collations_nor_functions_of_others_matter(postgres: str, runner: PostgresRunner) -> None:
    words = PostgresRunner(as_reader(postgres), "words")
    column = Column("t", Facts(kind=Kind.TEXT))
    for other, same in (("ab", False), ("Ab", True)):
        sql = Translator(words.dialect, words.types).expression(call("eq", column, literal(other)))
        assert words.run(f"SELECT {sql} FROM {words.source}") == [(same,)]
    assert words.run(f"SELECT {Translator(words.dialect, {}).expression(call('abs', literal(-5)))}") == [(5,)]
    assert words.run(f"SELECT {Postgres().constant(chr(92) + chr(39))}") == [("\\'",)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 'secret'::int",
        "SELEC",
        "SELECT pg_sleep(9)",
        "CREATE TABLE public.mine (a int)",
        "DELETE FROM public.odd",
    ],
)
def test_a_failure_has_one_constant_text_and_the_next_question_is_answered(
    runner: PostgresRunner, statement: str
) -> None:
    runner = PostgresRunner(runner.server, "odd", seconds=1)
    with pytest.raises(ExecutionError) as failure:
        runner.run(statement)
    assert str(failure.value) == str(ExecutionError())
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    assert runner.run("SELECT 1") == [(1,)]
    assert not runner.check("SELEC")
    assert runner.check(f"SELECT * FROM {runner.source}")


def test_a_connection_that_is_cut_is_made_anew(postgres: str, runner: PostgresRunner) -> None:
    assert runner.run("SELECT count(*) FROM public.odd") == [(4,)]
    with pytest.raises(ExecutionError):
        runner.run("SELECT pg_terminate_backend(pg_backend_pid())")
    assert runner.run("SELECT count(*) FROM public.odd") == [(4,)]


CAUSES: dict[str, Callable[[str, Server], tuple[str, str]]] = {
    "not there. Check how table": lambda url, server: (url, "nothing"),
    "no database of this name": lambda url, server: (server.dsn("nowhere", user="reader"), "odd"),
    "does not let this user in": lambda url, server: (url.replace("reader:", "nobody:"), "odd"),
    "may not read it. It needs CONNECT": lambda url, server: (url, "closed"),
    "cannot be reached": lambda url, server: ("host=/nowhere password=battery", "odd"),
}


@pytest.mark.parametrize("words", CAUSES)
def test_why_a_table_cannot_be_opened_is_said_in_constant_words(
    postgres: str, postgres_server: Server, runner: PostgresRunner, words: str
) -> None:
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE TABLE closed AS SELECT 1 AS battery; REVOKE ALL ON closed FROM reader")
    url, table = CAUSES[words](as_reader(postgres), postgres_server)
    with pytest.raises(SourceError, match=words) as failure:
        PostgresRunner(url, table)
    assert failure.value.__cause__ is None
    assert "battery" not in str(failure.value)


def test_a_server_that_is_too_old_is_refused(postgres: str, runner: PostgresRunner, monkeypatch: Any) -> None:
    monkeypatch.setattr("deniable.query.engines.postgres.runner.OLDEST", 99)
    with pytest.raises(InvalidParameterError, match="99 or newer"):
        PostgresRunner(as_reader(postgres), "odd")


def test_a_database_in_another_encoding_is_refused(postgres_server: Server) -> None:
    for encoding in ("LATIN1", "SQL_ASCII"):
        with postgres_server.database(f"TEMPLATE template0 ENCODING '{encoding}' LOCALE 'C'") as url:
            postgres_server.execute("CREATE TABLE odd (t text)", database=url.split("/")[3].partition("?")[0])
            with pytest.raises(InvalidParameterError, match=f"in UTF8, not .* in {encoding}"):
                PostgresRunner(as_reader(url), "odd")


def test_a_right_that_is_revoked_is_said_before_anything_is_paid(postgres: str, runner: PostgresRunner) -> None:
    import psycopg

    db = dn.connect(as_reader(postgres), table="odd", unit="t", columns={}, budget=dn.Budget(epsilon=1))
    with psycopg.connect(postgres) as connection:
        connection.execute("REVOKE ALL ON odd FROM reader")
    with pytest.raises(SourceError, match="may not read it"):
        db.sql("SELECT COUNT(*) FROM odd", epsilon=1)
    assert db.ledger.entries() == []


def test_no_statement_needs_its_connection_beyond_a_transaction(
    postgres: str, runner: PostgresRunner, monkeypatch: Any
) -> None:
    """A pooler lends a connection for one transaction: it takes no options at its start, and names outlive it."""
    import psycopg

    connect, said = psycopg.connect, []
    monkeypatch.setattr(psycopg, "connect", lambda *_, **how: said.append(how) or connect(*_, **how))
    names = "SELECT count(*) FROM pg_prepared_statements"
    assert [runner.run(statement) for statement in (names, names)] == [[(0,)]] * 2
    assert all(set(how) == {"connect_timeout", "client_encoding", "autocommit"} for how in said)


def test_settings_of_others_do_not_hold(postgres: str, postgres_server: Server, runner: PostgresRunner) -> None:
    others = {"statement_timeout": "9s", "lock_timeout": "9s", "idle_in_transaction_session_timeout": "9s"}
    others |= {"default_transaction_isolation": "serializable", "default_transaction_read_only": "off"}
    ours = {**SETTINGS, "statement_timeout": "5s", "lock_timeout": "0", "transaction_isolation": "read committed"}
    ours["transaction_read_only"] = "on"
    if postgres_server.execute("SELECT current_setting('transaction_timeout', true)") != [(None,)]:
        others["transaction_timeout"], ours["transaction_timeout"] = "9s", "0"
    for name, value in others.items():
        postgres_server.execute(f"ALTER ROLE reader SET {name} = '{value}'")
    asked = ", ".join(f"current_setting('{name}')" for name in ours)
    (found,) = runner.run(f"SELECT {asked}")
    assert dict(zip(ours, found, strict=True)) == ours


@pytest.mark.parametrize("way", ["variables", "service"])
def test_a_ledger_is_about_the_server_that_was_asked_however_it_is_named(
    postgres: str, postgres_server: Server, runner: PostgresRunner, tmp_path: Path, monkeypatch: Any, way: str
) -> None:
    """`postgresql://` alone is a server of the environment: its answers were those of any other."""
    named = {"host": str(postgres_server.folder), "user": "reader", "password": PASSWORD}
    database = postgres.split("/")[3].partition("?")[0]
    ledger = tmp_path / "odd.ledger"

    def ask(database: str, **how: Any) -> str:
        settings = named | {"dbname": database}
        if way == "service":
            (tmp_path / "services").write_text("\n".join(["[shop]", *(f"{key}={settings[key]}" for key in settings)]))
            settings = {"servicefile": str(tmp_path / "services"), "service": "shop"}
        for key, value in settings.items():
            monkeypatch.setenv(f"PG{key.replace('dbname', 'database')}".upper(), value)
        db = dn.connect(
            "postgresql://", table="odd", unit="t", columns={}, budget=dn.Budget(epsilon=9), ledger=ledger, **how
        )
        return db.sql("SELECT COUNT(*) AS n FROM odd", epsilon=1).to_json()

    first = ask(database)
    assert "stored answer cost nothing" in ask(database)
    assert "stored" not in first
    with postgres_server.database() as other:
        postgres_server.execute("CREATE TABLE odd (t text)", database=other.split("/")[3].partition("?")[0])
        with pytest.raises(LedgerError, match=f"server 'postgresql://{named['host']}:5432/{database}', not for the"):
            ask(other.split("/")[3].partition("?")[0])
    with monkeypatch.context() as patched:  # a server at the same place, with other files
        patched.setattr("deniable.query.engines.postgres.runner.SYSTEM", "SELECT '7'")
        with pytest.raises(LedgerError, match=r"server with the identifier '\d+', not for the .* identifier '7'"):
            ask(database)
        assert "stored" in ask(database, moved=True)
    postgres_server.execute("REVOKE ALL ON FUNCTION pg_control_system() FROM PUBLIC", database=database)
    with pytest.raises(LedgerError, match="not for a server that does not say which it is"):
        ask(database)
    assert PASSWORD.encode() not in ledger.read_bytes()


SLOW = "CREATE FUNCTION slow() RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(60); RETURN 1; END'"


def test_what_a_server_is_asked_before_a_payment_has_a_deadline(
    postgres: str, runner: PostgresRunner, monkeypatch: Any
) -> None:
    import psycopg

    db = dn.connect(as_reader(postgres), table="odd", unit="t", columns={}, budget=dn.Budget(epsilon=1))
    with psycopg.connect(postgres) as connection:
        connection.execute(SLOW)
    monkeypatch.setattr("deniable.query.effort.MAX_SECONDS", 0.5)
    with pytest.raises(UnsupportedQueryError, match="seconds to plan"):
        runner.check("SELECT public.slow()")  # which is computed where it is planned
    assert runner.checks(["SELECT 1", "SELECT 2"])
    with psycopg.connect(postgres) as connection:
        connection.execute("LOCK TABLE odd")
        with pytest.raises(SourceError, match="another session has locked it"):
            db.sql("SELECT COUNT(*) FROM odd", epsilon=1)
        with pytest.raises(SourceError, match="another session has locked it"):
            PostgresRunner(as_reader(postgres), "odd")
    monkeypatch.setattr("deniable.query.engines.postgres.runner.attempt", lambda *_, **__: time.sleep(3))  # no network
    with pytest.raises(SourceError, match="does not answer in time"):
        PostgresRunner(as_reader(postgres), "odd")
    assert db.ledger.entries() == []


def test_ctrl_c_ends_what_a_server_plans(postgres: str, runner: PostgresRunner) -> None:
    import psycopg

    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs do without
    asked = "SELECT FROM pg_stat_activity WHERE query LIKE 'EXPLAIN%slow%' AND state = 'active'"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(SLOW)

        def press() -> None:
            while not connection.execute(asked).fetchall():
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        with pytest.raises(KeyboardInterrupt):
            runner.check("SELECT public.slow()")
        for _ in range(200):
            if not connection.execute(asked).fetchall():
                return
            time.sleep(0.01)
    pytest.fail("the server is still at it")


def test_a_policy_that_begins_to_choose_rows_stops_a_statement(postgres: str, runner: PostgresRunner) -> None:
    import psycopg

    with psycopg.connect(postgres) as connection:
        connection.execute("ALTER TABLE odd ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON odd USING (x > 0)")
    with pytest.raises(ExecutionError):
        runner.run("SELECT count(*) FROM public.odd")


def test_causes_in_other_languages_are_not_guessed() -> None:
    assert "or does not let this user in" in str(_cause(None, "FATAL: Passwort-Authentifizierung fehlgeschlagen"))
    assert "does not let this user in. Check" in str(_cause(None, "FATAL: password authentication failed"))
    assert "cannot be reached. Check" in str(_cause(None, "connection failed: Connection refused"))
