"""Tables of a ledger and the migrations that make them.

A migration may add tables, indices and triggers, and loosen a check. It never changes a record: the chain is
append-only.
"""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime

from deniable.errors import LedgerError, LedgerTamperedError

APPLICATION = int.from_bytes(b"dnbl", "big")

_RECORDS = """
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL CHECK (kind IN ('opening', 'entry', 'answer', 'key')),
    question TEXT,
    entry INTEGER UNIQUE REFERENCES records (number),
    body TEXT NOT NULL,
    hash TEXT NOT NULL
)"""

_HEAD = """
CREATE TABLE head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    number INTEGER NOT NULL,
    hash TEXT NOT NULL
)"""

_KEYS = "CREATE TABLE keys (name TEXT PRIMARY KEY, key BLOB NOT NULL)"

_MIGRATIONS = "CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL, time TEXT NOT NULL)"

# INSERT OR REPLACE would delete without firing the delete trigger; the insert trigger closes that door.
_TRIGGERS = (
    """
CREATE TRIGGER records_follow_the_head BEFORE INSERT ON records
WHEN NEW.number IS NOT (SELECT COALESCE(MAX(number) + 1, 0) FROM head)
BEGIN SELECT RAISE(ABORT, 'records are appended after the head'); END""",
    """
CREATE TRIGGER records_are_not_changed BEFORE UPDATE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END""",
    """
CREATE TRIGGER records_are_not_deleted BEFORE DELETE ON records
BEGIN SELECT RAISE(ABORT, 'records are append-only'); END""",
    """
CREATE TRIGGER head_is_born_at_the_opening BEFORE INSERT ON head
WHEN EXISTS (SELECT 1 FROM head) OR NEW.number <> 0
BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END""",
    """
CREATE TRIGGER head_moves_one_record_on BEFORE UPDATE ON head
WHEN NEW.only <> 1 OR NEW.number <> OLD.number + 1
    OR NEW.hash IS NOT (SELECT hash FROM records WHERE number = NEW.number)
BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END""",
    """
CREATE TRIGGER head_is_not_deleted BEFORE DELETE ON head
BEGIN SELECT RAISE(ABORT, 'the head only moves on'); END""",
    """
CREATE TRIGGER keys_are_not_changed BEFORE UPDATE ON keys
BEGIN SELECT RAISE(ABORT, 'keys are append-only'); END""",
    """
CREATE TRIGGER keys_are_not_replaced BEFORE INSERT ON keys
WHEN EXISTS (SELECT 1 FROM keys WHERE name = NEW.name)
BEGIN SELECT RAISE(ABORT, 'keys are append-only'); END""",
    """
CREATE TRIGGER keys_are_not_deleted BEFORE DELETE ON keys
BEGIN SELECT RAISE(ABORT, 'keys are append-only'); END""",
)


def create_tables(connection: sqlite3.Connection) -> None:
    """Create the chain, its head and the keys, each append-only."""
    for statement in (_RECORDS, _HEAD, _KEYS, *_TRIGGERS):
        connection.execute(statement)


def index_questions(connection: sqlite3.Connection) -> None:
    """Index questions, so that stored answers are found without a scan."""
    connection.execute("CREATE INDEX questions ON records (question, number) WHERE question IS NOT NULL")


def bind_sources(connection: sqlite3.Connection) -> None:
    """Allow records that name the source.

    SQLite changes a check by a copy of the table, record by record.
    """
    for statement in _TRIGGERS:
        connection.execute(f"DROP TRIGGER {statement.split()[2]}")
    connection.execute(_RECORDS.replace("records (", "copied (", 1).replace("'key')", "'key', 'source')"))
    connection.execute("INSERT INTO copied SELECT * FROM records")
    connection.execute("DROP TABLE records")
    connection.execute("ALTER TABLE copied RENAME TO records")
    for statement in _TRIGGERS:
        connection.execute(statement)
    index_questions(connection)
    connection.execute("CREATE INDEX sources ON records (number) WHERE kind = 'source'")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (create_tables, index_questions, bind_sources)


def identify(connection: sqlite3.Connection, location: str) -> int:
    """Return how many migrations the database has.

    Raises: LedgerError if it is not a ledger, or a ledger from a newer version. Nothing is written.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise LedgerError(f"{location} is a database, but not a ledger of deniable. Give another path for the ledger.")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise LedgerError(
            f"{location} has schema version {version}; this deniable knows versions up to {len(MIGRATIONS)}. "
            "Upgrade deniable to use this ledger."
        )
    return int(version)


def create(connection: sqlite3.Connection) -> None:
    """Mark an empty database as a ledger and apply every migration."""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(_MIGRATIONS)
    migrate(connection)


def migrate(connection: sqlite3.Connection) -> None:
    """Apply the migrations that the database does not have yet.

    The caller holds a write transaction.
    """
    (done,) = connection.execute("PRAGMA user_version").fetchone()
    time = datetime.now(UTC).isoformat(timespec="seconds")
    for number, migration in enumerate(MIGRATIONS[done:], start=done + 1):
        migration(connection)
        connection.execute("INSERT INTO migrations VALUES (?, ?, ?)", (number, migration.__name__, time))
        connection.execute(f"PRAGMA user_version = {number}")


def check(connection: sqlite3.Connection, location: str) -> None:
    """Refuse tables, indices and triggers that differ from those of the migrations.

    Raises: LedgerTamperedError.
    """
    fresh = sqlite3.connect(":memory:", isolation_level=None)
    try:
        create(fresh)
        wanted = _statements(fresh)
    finally:
        fresh.close()
    existing = _statements(connection)
    strange = sorted(name for name in wanted.keys() | existing.keys() if wanted.get(name) != existing.get(name))
    if strange:
        raise LedgerTamperedError(
            f"{location} has been changed by another program: {', '.join(strange)} is missing or altered. "
            "Restore the ledger from a backup."
        )
    names = [name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY number")]
    if names != [migration.__name__ for migration in MIGRATIONS]:
        raise LedgerTamperedError(f"{location} has an altered list of migrations. Restore the ledger from a backup.")


def _statements(connection: sqlite3.Connection) -> dict[str, str | None]:
    rows = connection.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'")
    return dict(rows.fetchall())
