"""A ledger on PostgreSQL: what a server and the way to it can do that a file cannot."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import (
    BudgetExceededError,
    CatalogError,
    InvalidParameterError,
    LedgerError,
    LedgerTamperedError,
    MissingExtraError,
)
from deniable.ledger import Ledger, postgres, storage
from deniable.ledger.source import Source
from tests.ledger.conftest import a_schema, entry, key, open_ledger
from tests.postgres import PASSWORD, Pooler, Server

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return a_schema(request)


@pytest.fixture
def ledger(url: str) -> Ledger:
    return open_ledger(url)


@pytest.fixture
def execute(url: str, postgres_server: Server) -> Callable[..., list[tuple[object, ...]]]:
    """Another program at work on the schema, as a superuser."""
    database, schema = url.split("/")[3].split("?", maxsplit=1)[0], url.rpartition("schema=")[2]

    def run(*statements: str) -> list[tuple[object, ...]]:
        return postgres_server.execute("; ".join([f"SET search_path = {schema}", *statements]), database=database)

    return run


class Line:
    """A way to the server that is cut at a word of one who writes, before or after the server has heard it."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.folder, self._server = folder, str(server.folder / ".s.PGSQL.5432")
        self.cut_at, self.heard, self.open = b"", False, True
        self._done = threading.Event()  # the server has answered
        self._gate = socket.socket(socket.AF_UNIX)
        self._gate.bind(str(folder / ".s.PGSQL.5432"))
        self._gate.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._gate.accept()
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX) as server, suppress(OSError):
            server.connect(self._server)
            threading.Thread(target=self._answer, args=(server, client), daemon=True).start()
            writes = False
            while self.open and (said := client.recv(65536)):
                writes = b"LOCK TABLE" in said or (writes and b"BEGIN" not in said)
                if writes and self.cut_at and self.cut_at in said:
                    self.cut_at = b""
                    client.shutdown(socket.SHUT_RDWR)
                    self._done.clear()
                    if self.heard:
                        server.sendall(said)
                        self._done.wait()
                    break
                server.sendall(said)
            server.shutdown(socket.SHUT_RDWR)

    def _answer(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while said := server.recv(65536):
                self._done.set()
                with suppress(OSError):
                    client.sendall(said)

    def close(self) -> None:
        self.open = False
        self._gate.close()


@pytest.fixture
def line(postgres_server: Server, tmp_path: Path) -> Iterator[Line]:
    made = Line(postgres_server, tmp_path)
    yield made
    made.close()


def through(line: Line, url: str, server: Server) -> str:
    return url.replace(quote(str(server.folder), safe=""), quote(str(line.folder), safe=""))


# --- cuts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [b"INSERT INTO records", b"UPDATE head", b"COMMIT"])
def test_a_connection_cut_before_the_server_commits_charges_nothing(
    word: bytes, ledger: Ledger, line: Line, url: str, postgres_server: Server
) -> None:
    cut = open_ledger(through(line, url, postgres_server))
    line.cut_at = word
    with pytest.raises(LedgerError, match="Nothing was written"):
        cut.reserve(entry(1))
    assert ledger.entries() == []
    cut.reserve(entry(2))
    assert [record.text for record in ledger.entries()] == ["SELECT 2"]


def test_a_commit_that_was_not_confirmed_is_found_again_and_charged_once(
    ledger: Ledger, line: Line, url: str, postgres_server: Server
) -> None:
    cut = open_ledger(through(line, url, postgres_server))
    line.cut_at, line.heard = b"COMMIT", True
    number = cut.reserve(entry(1))
    line.cut_at = b"COMMIT"
    cut.store(number, "17")
    assert cut.answer(entry(1), lambda: "18") == ("17", True)
    assert [(record.number, record.answered) for record in ledger.entries()] == [(number, True)]
    line.cut_at = b"COMMIT"
    assert cut.answer(entry(2), lambda: "19") == ("19", False)
    assert ledger.recall(key(2)) == "19"
    assert [cut.answer(entry(3), lambda: "20") for _ in range(2)] == [("20", False), ("20", True)]
    assert ledger.spent().epsilon == Fraction(3, 10)
    ledger.verify()


def test_a_record_of_another_process_is_not_taken_for_ours(
    ledger: Ledger, line: Line, url: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the cut another process writes the record of that number, before we ask for it."""
    cut, settle = open_ledger(through(line, url, postgres_server)), postgres.PostgresStorage._settle

    def late(storage: postgres.PostgresStorage, number: int, wanted: str) -> None:
        ledger.reserve(entry(7))
        settle(storage, number, wanted)

    monkeypatch.setattr(postgres.PostgresStorage, "_settle", late)
    line.cut_at = b"COMMIT"
    with pytest.raises(LedgerError, match="Nothing was written"):
        cut.reserve(entry(1))
    assert [record.text for record in ledger.entries()] == ["SELECT 7"]


def test_a_server_that_does_not_come_back_leaves_the_question_unanswered_and_perhaps_charged(
    ledger: Ledger, line: Line, url: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = open_ledger(through(line, url, postgres_server))
    line.cut_at, line.heard = b"COMMIT", True
    monkeypatch.setattr(storage, "PATIENCE", 0.1)
    monkeypatch.setattr(postgres.PostgresStorage, "_connect", lambda _: psycopg.connect(host="/nowhere"))
    computed: list[int] = []
    with pytest.raises(LedgerError, match="may have been charged"):
        cut.answer(entry(1), lambda: str(computed.append(1)))
    assert computed == []  # no row is read for it
    monkeypatch.undo()
    assert ledger.spent().epsilon == Fraction(1, 10)


def test_two_that_write_the_same_at_once_are_told_apart(ledger: Ledger) -> None:
    """A cut commit is found again by the hash of its record, so no two records may be alike."""
    bodies = set()
    for _ in range(2):
        with suppress(ZeroDivisionError), ledger._storage.transaction(write=True) as connection:
            ledger._append(connection, entry(1), entry(1).loss.charge())
            bodies.add(connection.execute("SELECT body FROM records ORDER BY number DESC LIMIT 1").fetchone()[0])
            raise ZeroDivisionError
    assert len(bodies) == 2
    assert all('"token":"' in body for body in bodies)


def test_a_server_that_restarts_between_two_questions_is_not_noticed(postgres_server: Server) -> None:
    with postgres_server.database() as url:
        ledger = open_ledger(url)
        ledger.reserve(entry(1))
        postgres_server.stop()
        try:
            with pytest.raises(LedgerError, match="cannot be reached"):
                ledger.reserve(entry(2))
        finally:
            postgres_server.start()
        ledger.reserve(entry(3))
        assert [record.text for record in ledger.entries()] == ["SELECT 1", "SELECT 3"]
        ledger.verify()


@pytest.mark.parametrize("pooler", [2], indirect=True)
def test_who_answers_keeps_a_lock_behind_a_pooler_too(url: str, pooler: Pooler) -> None:
    """A lock of a session stayed with a connection of the server that others got, and they gave it up for us."""
    mine, other = open_ledger(pooler.of(url)), open_ledger(pooler.of(url))
    waits = threading.Event()

    def compute() -> str:
        assert other.answer(entry(2), lambda: "2") == ("2", False)  # which gives up its own lock, and no other
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        mine.secret("rows")  # on the same connection
        return "1"

    waiting = threading.Thread(target=lambda: waits.set() if other.answer(entry(1), str) == ("1", True) else None)
    assert mine.answer(entry(1), compute) == ("1", False)
    waiting.join()
    assert waits.is_set()

    def dies() -> str:
        (session,) = mine._storage._answering.values()  # type: ignore[attr-defined]
        session.connection.close()
        assert other.answer(entry(3), lambda: "3") == ("3", False)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        mine.answer(entry(3), dies)
    assert [record.text for record in mine.entries()] == ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 3"]
    mine.verify()


def test_an_answer_is_stored_though_its_lock_was_lost(ledger: Ledger, postgres_server: Server) -> None:
    def compute() -> str:
        assert ledger.answer(entry(2), lambda: "2") == ("2", False)  # within, on the same connection
        (session,) = ledger._storage._answering.values()  # type: ignore[attr-defined]
        assert len(session.answers) == 1
        postgres_server.execute(f"SELECT pg_terminate_backend({session.connection.info.backend_pid})")
        return "1"

    assert ledger.answer(entry(1), compute) == ("1", False)
    assert ledger.recall(key(1)) == "1"
    assert not ledger._storage._answering  # type: ignore[attr-defined]


# --- the promise of the server -----------------------------------------------------------------------------------


def test_a_server_that_does_not_sync_is_refused_and_a_role_that_does_not_wait_is_made_to(
    ledger: Ledger, execute: Callable[..., list[tuple[object, ...]]], url: str
) -> None:
    execute("ALTER ROLE deniable SET synchronous_commit = off")
    try:
        patient = open_ledger(url)
        patient.reserve(entry(1))
        with patient._storage.transaction(write=True) as connection:
            assert connection.execute("SHOW synchronous_commit").fetchone() == ("on",)
            connection.execute("SET LOCAL synchronous_commit = off")
            with pytest.raises(LedgerError, match=r"forget what was charged.*Nothing was written"):
                patient._storage._check_durable(connection)  # type: ignore[attr-defined]
    finally:
        execute("ALTER ROLE deniable RESET synchronous_commit")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE records SET body = '{}' WHERE number = 1",
        "DELETE FROM records WHERE number = 2",
        "TRUNCATE records CASCADE",
        "INSERT INTO records VALUES (-1, 'entry', NULL, NULL, '{}', '')",
        "INSERT INTO records VALUES (9, 'entry', NULL, NULL, '{}', '')",
        "INSERT INTO records VALUES (1, 'entry', NULL, NULL, '', '') ON CONFLICT (number) DO UPDATE SET body = ''",
        "UPDATE head SET number = 1",
        "UPDATE head SET number = number + 1",
        "DELETE FROM head",
        "INSERT INTO head VALUES (1, 0, '')",
        "UPDATE keys SET key = ''",
        "DELETE FROM keys",
        "TRUNCATE keys",
    ],
)
def test_the_database_itself_refuses_to_forget(ledger: Ledger, execute: Callable[..., object], statement: str) -> None:
    ledger.reserve(entry(1))
    ledger.secret("rows")
    head = ledger.head
    with pytest.raises(psycopg.IntegrityError, match="append-only"):
        execute(statement)
    assert ledger.head == head
    ledger.verify()


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE records SET body = replace(body, '0.1', '0.2') WHERE number = 1", "Record 1 .*match its hash"),
        ("UPDATE records SET question = 'x' WHERE number = 1", "Record 1 .*match its columns"),
        ("DELETE FROM records WHERE number = 1", "Record 1 .*missing"),
        ("DELETE FROM records WHERE number = 2", "Record 1 .*head"),
        ("INSERT INTO records VALUES (-5, 'entry', NULL, NULL, '{}', '')", "Record -5 "),
        ("DELETE FROM keys", "keys"),
    ],
)
def test_what_a_superuser_changes_is_named(
    ledger: Ledger, execute: Callable[..., object], statement: str, named: str
) -> None:
    ledger.reserve(entry(1))
    ledger.secret("rows") if "keys" in statement else ledger.reserve(entry(2))
    execute("SET session_replication_role = replica", statement)
    with pytest.raises(LedgerTamperedError, match=named):
        ledger.verify()


def test_a_full_disk_spends_nothing(ledger: Ledger, execute: Callable[..., object]) -> None:
    full = "BEGIN RAISE EXCEPTION 'no space left on device' USING ERRCODE = 'disk_full'; END"
    execute(f"CREATE FUNCTION full() RETURNS trigger LANGUAGE plpgsql AS $${full}$$")
    execute("CREATE TRIGGER z BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION full()")
    with pytest.raises(LedgerError, match=r"no space left on device.*free space"):
        ledger.reserve(entry(1))
    execute("DROP FUNCTION full CASCADE")
    ledger.verify()
    assert ledger.spent().epsilon == 0


def test_a_locked_ledger_is_waited_for_and_then_given_up_without_spending(
    ledger: Ledger, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.store(ledger.reserve(entry(1)), "1")
    other = open_ledger(url)
    with other._storage.transaction(write=True):
        monkeypatch.setattr(storage, "PATIENCE", 0.05)
        with pytest.raises(LedgerError, match=r"locked for 0\.05 seconds.*Nothing was written"):
            ledger.reserve(entry(2))
        assert ledger.recall(key(1)) == "1"  # readers do not wait
    ledger.reserve(entry(2))


# --- who may open it ---------------------------------------------------------------------------------------------


def test_a_role_that_may_not_make_schemas_uses_one_that_was_made_for_it(
    execute: Callable[..., object], url: str, postgres_server: Server
) -> None:
    schema = url.rpartition("=")[2]
    execute("CREATE ROLE asker LOGIN PASSWORD 'x'", f"CREATE SCHEMA {schema} AUTHORIZATION asker")
    try:
        mine = url.replace("deniable:" + quote(PASSWORD, safe=""), "asker:x")
        open_ledger(mine, budget=1).reserve(entry(1))
        with pytest.raises(LedgerError, match="permission denied"):
            open_ledger(mine.replace(schema, "another"))
    finally:
        execute("DROP OWNED BY asker", "DROP ROLE asker")


def test_a_schema_of_others_is_refused_and_not_written(url: str, execute: Callable[..., list[object]]) -> None:
    schema = url.rpartition("=")[2]
    execute(f"CREATE SCHEMA {schema}", f"CREATE TABLE {schema}.t (x INT)")
    for budget in (1, None):
        with pytest.raises(LedgerError, match="no ledger of deniable"):
            open_ledger(url, budget=budget)
    assert execute(f"SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace") == [("t",)]


def test_a_ledger_of_a_newer_version_is_refused(ledger: Ledger, execute: Callable[..., object], url: str) -> None:
    execute("INSERT INTO migrations VALUES (2, 'of the future')")
    with pytest.raises(LedgerError, match="Upgrade deniable"):
        open_ledger(url)


def test_a_server_that_is_too_old_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "OLDEST", 99)
    with pytest.raises(LedgerError, match="must be PostgreSQL 99 or newer"):
        open_ledger(url)


def test_a_missing_migration_is_applied(ledger: Ledger, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    notes = ("add_index", "CREATE INDEX more ON records (kind)")
    monkeypatch.setattr(postgres, "MIGRATIONS", (*postgres.MIGRATIONS, notes))
    monkeypatch.setattr(postgres, "GUARDED", postgres.GUARDED | {"relation.more:ip"})
    open_ledger(url).reserve(entry(1))
    ledger.verify()
    with ledger._storage.transaction(write=False) as connection:
        assert connection.execute("SELECT name FROM migrations").fetchall() == [("create_tables",), ("add_index",)]


def test_a_missing_ledger_needs_a_budget_and_what_exists_must_agree(url: str) -> None:
    assert not Ledger.exists(url)
    with pytest.raises(LedgerError, match="There is no ledger at postgresql"):
        open_ledger(url, budget=None)
    source = Source(path="/data/survey.parquet", columns={"id": "integer"})
    open_ledger(url, source=source).reserve(entry(1))
    assert Ledger.exists(url)
    for others in ({"budget": 2}, {"dataset": "other"}, {"source": Source(path="/x", columns={"id": "integer"})}):
        with pytest.raises(LedgerError, match="was opened for"):
            open_ledger(url, **others)  # type: ignore[arg-type]
    open_ledger(url, budget=None, source=source).reserve(entry(2))


def test_a_database_a_policy_and_the_command_line_take_the_url(url: str, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from deniable.app.cli import app

    pq.write_table(dn.datasets.visits(), tmp_path / "visits.parquet")
    policy = tmp_path / "visits.toml"
    policy.write_text(
        f'[data]\nsource = "visits.parquet"\n[privacy]\nunit = "patient"\n[budget]\nepsilon = 1\nledger = "{url}"\n'
    )

    def verified() -> Any:
        return CliRunner().invoke(app, ["budget", str(policy), "--verify"])

    missing = verified()
    assert "There is no ledger at the URL of the policy" in missing.stderr
    asked = [dn.connect(policy).sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25) for _ in range(2)]
    assert "stored answer cost nothing" in asked[1].to_json()
    found = verified()
    assert (missing.exit_code, found.exit_code) == (2, 0)
    assert "epsilon=0.75" in found.stdout
    assert "horse" not in missing.stderr + found.stdout
    with pytest.raises(LedgerError, match="was opened for dataset visits"):
        dn.connect(dn.datasets.visits(), name="trips", unit="patient", budget=dn.Budget(epsilon=1), ledger=url)
    with pytest.raises(CatalogError, match='such as name="visits"'):
        dn.connect(dn.datasets.visits(), unit="patient", budget=dn.Budget(epsilon=1), ledger=url)


# --- passwords ---------------------------------------------------------------------------------------------------


def seen(work: Callable[[], object]) -> str:
    """All that a failure shows: its message, and those of its causes."""
    with pytest.raises((LedgerError, InvalidParameterError)) as failure:
        work()
    shown, error = [], failure.value
    while error is not None:
        shown.append(repr(error))
        error = error.__cause__ or error.__context__  # type: ignore[assignment]
    return " ".join(shown)


@pytest.mark.parametrize(
    "wrong",
    [
        "postgresql://u:top-secret@/db?host=/nowhere",
        "postgresql://u:top@secret@host/db",
        "postgresql://u:top/secret@host/db",
        "postgresql://u:top?secret@host/db",
        "postgresql://u:top#secret@host/db",
        "postgresql://u:top-secret@host:port/db",
        "postgresql://u:top%secret@host/db",
        "postgresql://host/db?password=top-secret&odd",
        "postgresql://u:top-secret@host/db?schema=A b",
        "postgresql://u:top-secret@host/db?schema=a&schema=b",
        "postgresql://u:top-secret@host/db?schema=pg_catalog",
        "postgresql:/u:top-secret@host/db",
    ],
)
def test_a_url_that_cannot_be_used_shows_no_password(wrong: str) -> None:
    shown = seen(lambda: open_ledger(wrong))
    assert "top" not in shown
    assert "secret" not in shown


def test_no_password_is_shown_or_kept(ledger: Ledger, url: str, execute: Callable[..., list[object]]) -> None:
    ledger.reserve(entry(1))
    wrong = quote(PASSWORD, safe="")
    everything = [
        repr(ledger),
        ledger.location,
        seen(lambda: open_ledger(url.replace(wrong, "ho" + wrong))),
        seen(lambda: open_ledger(url, dataset="other")),
        str(execute("SELECT * FROM records")),
    ]
    assert not [text for text in everything if "horse" in text or "staple" in text]


def test_a_path_that_was_a_url_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="or a text such as postgresql://"):
        open_ledger(Path("postgresql://host/db"))


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[postgres\]'"):
        open_ledger("postgresql://host/db")


def test_what_is_left_is_refused_alike(ledger: Ledger) -> None:
    ledger.reserve(entry(1, "0.9"))
    with pytest.raises(BudgetExceededError):
        ledger.reserve(entry(2, "0.2"))
    ledger.reserve(entry(3, "0.1"))
    assert ledger.left().epsilon == 0
