import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from deniable.errors import LedgerError, LedgerTamperedError
from deniable.ledger import Ledger, schema
from deniable.ledger.source import Source
from tests.ledger.conftest import entry, key, open_ledger


def add_notes(connection: sqlite3.Connection) -> None:
    """A migration of the future."""
    connection.execute("CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL)")


def fail_half_way(connection: sqlite3.Connection) -> None:
    """A migration that does not finish."""
    connection.execute("CREATE TABLE half (number INTEGER PRIMARY KEY)")
    raise sqlite3.OperationalError("disk I/O error")


def applied(path: Path) -> list[tuple[int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT number, name FROM migrations ORDER BY number").fetchall()


def test_an_old_ledger_is_migrated_and_keeps_its_chain(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    newest = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", newest[:1])
    old = open_ledger(path)
    old.store(old.reserve(entry(1)), "1")
    head = old.head
    assert applied(path) == [(1, "create_tables")]
    monkeypatch.setattr(schema, "MIGRATIONS", (*newest, add_notes))
    migrated = open_ledger(path)
    wanted = ["create_tables", "index_questions", "bind_sources", "add_notes"]
    assert applied(path) == list(enumerate(wanted, start=1))
    assert migrated.head == head
    assert migrated.recall(key(1)) == "1"
    migrated.reserve(entry(2))
    source = Source(path=str(path.with_name("survey.csv")), columns={"id": "integer"})
    for _ in range(2):  # it is told at the first opening what it is about
        open_ledger(path, source=source).verify(expected_head=head)
    with pytest.raises(LedgerError, match=r"'survey\.csv', not for a frame"):
        open_ledger(path, source=Source(columns={"id": "integer"}))


def test_a_migration_that_fails_changes_nothing(path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.reserve(entry(1))
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_notes, fail_half_way))
        with pytest.raises(LedgerError):
            open_ledger(path)
    assert [name for _, name in applied(path)] == [migration.__name__ for migration in schema.MIGRATIONS]
    open_ledger(path).verify()


def test_a_ledger_from_a_newer_version_is_refused(path: Path, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, add_notes))
        open_ledger(path)
    with pytest.raises(LedgerError, match="Upgrade deniable"):
        open_ledger(path)


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("DROP TRIGGER records_are_not_changed", "records_are_not_changed"),
        ("DROP INDEX questions", "questions"),
        ("DROP TABLE keys", "keys"),
        ("CREATE TABLE more (x)", "more"),
        ("ALTER TABLE records ADD COLUMN more TEXT", "records"),
        ("DELETE FROM migrations", "migrations"),
    ],
)
def test_an_altered_schema_is_noticed(path: Path, ledger: Ledger, statement: str, name: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(statement)
    for attempt in (ledger.verify, lambda: open_ledger(path)):
        with pytest.raises(LedgerTamperedError, match=name):
            attempt()


def test_statistics_of_the_engine_are_no_alteration(path: Path, ledger: Ledger) -> None:
    ledger.reserve(entry(1))
    head = ledger.head
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("ANALYZE")
    ledger.verify()
    assert ledger.head == head


def test_look_ups_do_not_scan(path: Path, ledger: Ledger) -> None:
    queries = [
        "SELECT * FROM records AS entry JOIN records AS answer ON answer.entry = entry.number WHERE entry.question = ?",
        "SELECT * FROM records WHERE entry = ?",
        "SELECT * FROM records WHERE number = ?",
    ]
    with closing(sqlite3.connect(path)) as connection:
        for query in queries:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {query}", ("x",)).fetchall()
            assert all("SEARCH" in row[-1] for row in plan), plan
