"""Durable state of a stream: a file in which every step is released once.

The file is as private as the rows: it holds the exact sums behind the noise. Noise is drawn inside the transaction that
stores it, and a value leaves only after that is on the disk, so whatever dies, no step has two values.
"""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from deniable.errors import StreamError, redacted

VERSION = 1
_PATIENCE = 30.0  # seconds that a transaction waits for others
_SCHEMA = """
CREATE TABLE facts (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, plan TEXT NOT NULL,
    paid INTEGER NOT NULL, strategy TEXT, safe INTEGER NOT NULL);
CREATE TABLE now (id INTEGER PRIMARY KEY CHECK (id = 1), changes INTEGER NOT NULL, step INTEGER NOT NULL,
    pending TEXT NOT NULL, secret TEXT NOT NULL, public TEXT NOT NULL);
CREATE TABLE releases (step INTEGER PRIMARY KEY, noisy TEXT NOT NULL, totals BLOB NOT NULL);
CREATE TABLE history (step INTEGER PRIMARY KEY, exact TEXT NOT NULL);
CREATE TABLE units (unit TEXT PRIMARY KEY, steps INTEGER NOT NULL, latest INTEGER NOT NULL, rows INTEGER NOT NULL)
    WITHOUT ROWID;
CREATE TABLE batches (name TEXT PRIMARY KEY) WITHOUT ROWID;
"""


class StateFile:
    """The database of one stream.

    Args:
        path: of the file, made if there is none; None for a stream that ends with this process.
    """

    def __init__(self, path: Path | str | None) -> None:
        self.location = "in memory" if path is None else redacted(path)
        self._process = os.getpid()
        with self._in_plain_words():
            if path is None:
                self._connection = _connected(":memory:")
            else:
                with_owner_alone = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
                os.close(with_owner_alone)
                self._connection = _connected(str(path))
        self.changes = -1

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction, committed when the block ends and undone when it raises.

        Raises: StreamError if another process has the file, or changed it since this one read it.
        """
        self._require_own_process()
        with self._in_plain_words():
            self._connection.execute("BEGIN IMMEDIATE")
        try:
            if self.changes >= 0:
                (changes,) = self._connection.execute("SELECT changes FROM now").fetchone()
                if changes != self.changes:
                    raise StreamError(
                        f"Another process has gone on with the stream {self.location}. Nothing was added or released. "
                        "Open it again to go on from there; one process at a time should feed it."
                    )
                self._connection.execute("UPDATE now SET changes = changes + 1")
            yield self._connection
            with self._in_plain_words():
                self._connection.execute("COMMIT")
            if self.changes >= 0:
                self.changes += 1
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run one transaction that reads what was released."""
        self._require_own_process()
        with self._in_plain_words():
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("COMMIT")

    def create(self, connection: sqlite3.Connection, plan: str, safe: bool) -> bool:
        """Make the tables if there are none; return whether there were none.

        Raises: StreamError if the file is that of another stream, or something else.
        """
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO facts VALUES (1, ?, ?, 0, NULL, ?)", (VERSION, plan, safe))
            return True
        if not {"facts", "now", "releases"} <= tables:
            raise StreamError(f"{self.location} is not the state of a stream. Give another path.")
        version, known, kept_safe = connection.execute("SELECT version, plan, safe FROM facts").fetchone()
        if version != VERSION:
            raise StreamError(f"{self.location} was written by another version of deniable (format {version}).")
        if known != plan:
            raise StreamError(
                f"{self.location} is the state of another stream: its declared facts differ{_difference(known, plan)}. "
                "Open it with the facts that it was made with, or give another path; what a second stream reveals "
                "about the same people adds to the first."
            )
        if bool(kept_safe) != safe:
            raise StreamError(
                f"{self.location} was made with {'secure' if kept_safe else 'test'} bits. Go on with these."
            )
        return False

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def _require_own_process(self) -> None:
        if os.getpid() != self._process:
            raise StreamError("A stream belongs to the process that opened it. Open it again in this one.")

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                message = f"Another process has kept the stream {self.location} locked for {_PATIENCE:g} seconds."
                raise StreamError(f"{message} Nothing was released. Try again when it has finished.") from None
            if name == "SQLITE_NOTADB":
                raise StreamError(f"{self.location} is not the state of a stream. Give another path.") from None
            raise StreamError(
                f"The state of the stream {self.location} cannot be read or written. Check the path, permissions and "
                "free space."
            ) from None
        except OSError as error:
            raise StreamError(
                f"The state of the stream {self.location} cannot be written: {error.strerror}. Give a path in a folder "
                "on a local disk where you may write."
            ) from None


def packed(state: Any) -> str:
    """Return the state of a correlation as text."""  # arrays in dicts and lists
    return json.dumps(_plain(state))


def unpacked(text: str) -> Any:
    """Return the inverse of `packed`."""
    return _made(json.loads(text))


def _plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {"pairs": [[key, _plain(value)] for key, value in state.items()]}
    if isinstance(state, list):
        return [_plain(each) for each in state]
    return {"kind": state.dtype.str if state.dtype != object else "O", "values": state.tolist()}


def _made(data: Any) -> Any:
    if isinstance(data, list):
        return [_made(each) for each in data]
    if "pairs" in data:
        return {key: _made(value) for key, value in data["pairs"]}
    return np.array(data["values"], dtype=object if data["kind"] == "O" else np.dtype(data["kind"]))


def _connected(name: str) -> sqlite3.Connection:
    connection = sqlite3.connect(name, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    if connection.execute("PRAGMA page_count").fetchone() == (0,):  # nobody else's
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


def _difference(known: str, asked: str) -> str:
    """Say which declared facts differ."""
    one, other = json.loads(known), json.loads(asked)
    names = sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
    return f" ({', '.join(names)})" if names else ""
