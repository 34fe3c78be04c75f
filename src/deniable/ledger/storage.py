"""Where a ledger's database lives, and its transactions.

What a file, memory and a server have in common.

A connection serves one transaction at a time and is kept for the next. None is kept while a process forks, so children
share nothing but the database and its locks.
"""

import os
import secrets
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar, Protocol
from urllib.parse import quote

from deniable.errors import LedgerError, LedgerTamperedError, redacted
from deniable.ledger import process, schema

PATIENCE = 30.0  # seconds that a transaction waits for others


class Cursor(Protocol):
    """Cursor of a statement."""

    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...


class Connection(Protocol):
    """A connection in a transaction.

    Statements are those that SQLite and PostgreSQL both read, with ? for values.
    """

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Cursor: ...


class Storage(ABC):
    """A database that runs short transactions, each alone or as if it were."""

    location: str  # path or address, without passwords
    identity: str  # of the database, within this process
    folder: Path | None = None  # from which paths of data are seen
    lasting = True

    @abstractmethod
    def exists(self) -> bool:
        """Whether there is something at the place, be it a ledger or not."""

    @abstractmethod
    def create(self, fill: Callable[[Any], object]) -> bool:
        """Make the ledger complete or not at all; False if another process made it first."""

    @abstractmethod
    def upgrade(self) -> None:
        """Apply migrations that are missing.

        Raises: LedgerError if it is not a ledger, or that of a newer version. Nothing is written then.
        """

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Connection]:
        """Run one transaction, committed when the block ends and undone when it raises."""

    @abstractmethod
    def check(self, connection: Any, *, deeply: bool = False) -> None:
        """Refuse tables and guards that are not those of the migrations.

        Raises: LedgerTamperedError.
        """

    def begin(self, connection: Any, number: int) -> None:
        """Note that this process answers a reservation, which it is about to commit."""
        process.begin(self.identity, number)

    def end(self, number: int) -> None:
        """Note that it has answered, or given up."""
        process.end(self.identity, number)

    def in_progress(self, connection: Any, by: object, number: int) -> bool:
        """Whether somebody is at work on a reservation."""
        return process.in_progress(by, self.identity, number)

    def close(self) -> None:  # noqa: B027 - memory has nothing to let go of
        """Let go of the database until the next transaction."""


class Kept:
    """Connections that wait for the next transaction of their process."""

    _all: ClassVar["weakref.WeakSet[Kept]"] = weakref.WeakSet()
    _inherited: ClassVar[list[Any]] = []  # of a parent; to close them would disturb it

    def __init__(self) -> None:
        self._idle: list[tuple[int, object, Any]] = []
        self._all.add(self)
        weakref.finalize(self, _close, self._idle)

    def take(self, mark: object) -> Any:
        """Return a connection that was given back under this mark, or None."""
        while self._idle:
            owner, kept, connection = self._idle.pop()
            if owner != os.getpid():
                self._inherited.append(connection)
            elif kept == mark:
                return connection
            else:
                connection.close()
        return None

    def give(self, mark: object, connection: Any) -> None:
        """Keep a connection."""
        self._idle.append((os.getpid(), mark, connection))

    def close(self) -> None:
        """Close all of them."""
        _close(self._idle)

    @classmethod
    def close_everywhere(cls) -> None:
        """Close the connections of all ledgers of this process.

        SQLite's locks and a socket must not have two owners.
        """
        for kept in list(cls._all):
            kept.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=Kept.close_everywhere)


class SqliteStorage(Storage):
    """A database of SQLite."""

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        with _in_plain_words(self.location), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def upgrade(self) -> None:
        with self.transaction(write=False) as connection:
            known = schema.identify(connection, self.location)
        if known < len(schema.MIGRATIONS):
            with self.transaction(write=True) as connection:
                schema.migrate(connection)

    def check(self, connection: sqlite3.Connection, *, deeply: bool = False) -> None:
        if deeply:
            (report,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
            if report != "ok":
                raise sqlite3.DatabaseError(report)
        schema.check(connection, self.location)

    @abstractmethod
    def _connection(self) -> AbstractContextManager[sqlite3.Connection]: ...


class FileStorage(SqliteStorage):
    """A SQLite file in WAL mode that several processes may use at once."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # a later change of folder does not lose it
        self.location = redacted(path)
        self.identity = str(self.path.resolve())
        self.folder = self.path.parent.resolve()
        self._kept = Kept()

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def create(self, fill: Callable[[sqlite3.Connection], object]) -> bool:
        """Make the file; see Storage.

        It is built under another name and then linked to its own, so nobody sees half a ledger. Only the owner
        of the file may read or write it.
        """
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.draft")
        with _in_plain_words(self.location):
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                with closing(_connect(draft)) as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    schema.create(connection)
                    fill(connection)
                    connection.execute("COMMIT")
                    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode != "wal":
                    raise OSError("its file system does not support SQLite's write-ahead log")
                os.link(draft, self.path)
                _sync_folder(self.path.parent)
            except FileExistsError:
                return False
            finally:
                for leftover in (draft, Path(f"{draft}-wal"), Path(f"{draft}-shm"), Path(f"{draft}-journal")):
                    with suppress(OSError):
                        leftover.unlink(missing_ok=True)
        return True

    def close(self) -> None:
        self._kept.close()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        connection = self._kept.take(self._mark()) or _connect(self.path)
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        self._kept.give(self._mark(), connection)

    def _mark(self) -> list[tuple[int, int]]:
        """Return which files have the names of the ledger and its log now.

        Others may have taken their place, or none.
        """
        marks = []
        for name in (self.path, f"{self.path}-wal"):
            with suppress(FileNotFoundError):
                file = os.stat(name)
                marks.append((file.st_dev, file.st_ino))
        return marks


class MemoryStorage(SqliteStorage):
    """A database in the memory of one process.

    Threads take turns, forked children are refused.
    """

    lasting = False

    def __init__(self) -> None:
        self.location = "the ledger in memory"
        self.identity = f"memory {id(self)}"
        self._owner = os.getpid()
        self._turn = threading.RLock()
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close)

    def exists(self) -> bool:
        return False

    def create(self, fill: Callable[[sqlite3.Connection], object]) -> bool:
        with self.transaction(write=True) as connection:
            schema.create(connection)
            fill(connection)
        return True

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._owner:
            raise LedgerError(
                "A ledger in memory belongs to the process that opened it; a forked copy would spend the same budget "
                "twice. Open the ledger with a path."
            )
        with self._turn:
            yield self._database


def _close(idle: list[tuple[int, object, Any]]) -> None:
    while idle:
        owner, _, connection = idle.pop()
        if owner == os.getpid():
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode=rw"  # rw: never create
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = ON")
        connection.execute("PRAGMA trusted_schema = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def _in_plain_words(location: str) -> Iterator[None]:
    """Translate errors of SQLite and of the operating system into errors of ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, location) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise LedgerError(
            f"The ledger {location} cannot be written: {reason}. Give a path in an existing folder on a local disk "
            "where you may write."
        ) from None  # which would name the path


def _translated(error: sqlite3.Error, location: str) -> LedgerError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerError(
            f"Another process has kept the ledger {location} locked for {PATIENCE:g} seconds. Nothing was written. "
            "Try again when it has finished."
        )
    if name == "SQLITE_NOTADB":
        return LedgerError(
            f"{location} is not a ledger: it is not a SQLite database. Give another path for the ledger."
        )
    if name.startswith("SQLITE_CANTOPEN"):
        return LedgerError(
            f"The ledger {location} cannot be opened. Check that the file exists and that you may write it."
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_CONSTRAINT", "SQLITE_ERROR")) or not name:
        return LedgerTamperedError(
            f"The ledger {location} is damaged or was changed by another program ({error}). Restore it from a backup."
        )
    return LedgerError(f"The ledger {location} cannot be written ({error}). Check permissions and free space.")
