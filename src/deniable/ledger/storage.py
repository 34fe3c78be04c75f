"""Where a ledger's database lives, and its transactions.

A connection to a file lasts for one transaction. So threads, forked children and killed processes share nothing
but the file, and SQLite's locks on it.
"""

import os
import secrets
import sqlite3
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from deniable.errors import LedgerError, LedgerTamperedError

PATIENCE = 30.0  # seconds that a transaction waits for others


class Storage(ABC):
    """A database that runs short transactions."""

    place: str
    identity: str  # of the database, within this process

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        """One transaction: committed durably when the block ends, undone when it raises."""
        with _in_plain_words(self.place), self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    @abstractmethod
    def _connection(self) -> AbstractContextManager[sqlite3.Connection]: ...


class FileStorage(Storage):
    """A SQLite file in WAL mode that several processes may use at once."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()  # a later change of folder does not lose it
        self.place = str(path)
        self.identity = str(self.path.resolve())

    def exists(self) -> bool:
        return os.path.lexists(self.path)

    def create(self, build: Callable[[sqlite3.Connection], None]) -> bool:
        """Make the file complete or not at all; False if another process made it first.

        It is built under another name and then linked to its own, so nobody sees half a ledger. Only the owner
        of the file may read or write it.
        """
        draft = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.draft")
        with _in_plain_words(self.place):
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                with closing(_connect(draft)) as connection:
                    connection.execute("BEGIN IMMEDIATE")
                    build(connection)
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

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with closing(_connect(self.path)) as connection:
            yield connection


class MemoryStorage(Storage):
    """A database in the memory of one process; threads take turns, forked children are refused."""

    def __init__(self, build: Callable[[sqlite3.Connection], None]) -> None:
        self.place = "the ledger in memory"
        self.identity = f"memory {id(self)}"
        self._owner = os.getpid()
        self._turn = threading.RLock()
        self._database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._database.close)
        with self.transaction(write=True) as connection:
            build(connection)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._owner:
            raise LedgerError(
                "A ledger in memory belongs to the process that opened it; a forked copy would spend the same budget "
                "twice. Open the ledger with a path."
            )
        with self._turn:
            yield self._database


def _connect(path: Path) -> sqlite3.Connection:
    uri = f"file:{quote(str(path))}?mode=rw"  # rw: never create
    connection = sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)
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
def _in_plain_words(place: str) -> Iterator[None]:
    """Translate what SQLite and the operating system say."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translated(error, place) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise LedgerError(
            f"The ledger {place} cannot be written: {reason}. Give a path in an existing folder on a local disk "
            "where you may write."
        ) from error


def _translated(error: sqlite3.Error, place: str) -> LedgerError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return LedgerError(
            f"Another process has kept the ledger {place} locked for {PATIENCE:g} seconds. Nothing was written. "
            "Try again when it has finished."
        )
    if name == "SQLITE_NOTADB":
        return LedgerError(f"{place} is not a ledger: it is no SQLite database. Give another path for the ledger.")
    if name.startswith("SQLITE_CANTOPEN"):
        return LedgerError(
            f"The ledger {place} cannot be opened. Check that the file exists and that you may write it."
        )
    if name.startswith(("SQLITE_CORRUPT", "SQLITE_CONSTRAINT", "SQLITE_ERROR")) or not name:
        return LedgerTamperedError(
            f"The ledger {place} is damaged or was changed by another program ({error}). Restore it from a backup."
        )
    return LedgerError(f"The ledger {place} cannot be written ({error}). Check permissions and free space.")
