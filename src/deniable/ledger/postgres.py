"""A ledger in a schema of a PostgreSQL database, for many hosts.

The same chain, and the same statements as in a file.

Whoever writes takes the lock of the head first and holds it to the end, so writers go one by one on all hosts; readers
see one moment and wait for nobody. A commit whose outcome is unknown, because the connection was cut, is settled by
the lock too: whoever has it next sees whether the head that was to be is in the chain. Who answers a question holds a
lock that the server gives up when that process, its host or its connection dies. It is a lock of a session, so that
thread keeps its connection until the answer is stored, and never leaves a transaction: a pooler that lends connections
for transactions lends it to nobody else.
"""

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import unquote

from deniable.errors import InvalidParameterError, LedgerError, LedgerTamperedError, MissingExtraError
from deniable.ledger import storage
from deniable.ledger.guards import FACTS, GUARDED, TABLES
from deniable.ledger.storage import Kept, Storage

MIGRATIONS = (("create_tables", TABLES),)

OLDEST = 12  # the first with COMMIT AND CHAIN
_CHAIN = "COMMIT AND CHAIN"  # the next transaction begins at once
_ANSWERING = "hashtext(current_schema()) & 2147483647"  # with a number, the lock of a question that is being answered
_LOCK = "LOCK TABLE head IN SHARE ROW EXCLUSIVE MODE"
_URL = re.compile(r"postgres(ql)?:/")


def is_url(source: object) -> bool:
    """Whether a source is the URL of a server, not a path."""
    return _URL.match(str(source)) is not None


class PostgresStorage(Storage):
    """A schema that holds one ledger."""

    def __init__(self, url: str) -> None:
        self._settings, self._schema = _read(url)
        named = [self._settings.get(name, "") for name in ("host", "port", "dbname")]
        self.location = f"postgresql://{named[0]}{named[1] and ':'}{named[1]}/{named[2]}?schema={self._schema}"
        self.identity = self.location
        self._kept = Kept()
        self._answering: dict[tuple[int, int], _Session] = {}  # by process and thread

    def exists(self) -> bool:
        with self.transaction(write=False) as session:
            return _relations(session, self._schema)

    def create(self, fill: Callable[["_Session"], object]) -> bool:
        lock = "SELECT pg_advisory_xact_lock(hashtext('a ledger of deniable'))"
        with self._transaction(f"BEGIN READ WRITE; {self._local()}; {lock}", durable=True) as session:
            if _relations(session, self._schema):
                return False
            if session.execute("SELECT to_regnamespace(?)", (self._schema,)).fetchone() == (None,):
                session.execute(f'CREATE SCHEMA "{self._schema}"')
            session.execute("CREATE TABLE migrations (number BIGINT PRIMARY KEY, name TEXT NOT NULL)")
            self._migrate(session, 0)
            fill(session)
        return True

    def upgrade(self) -> None:
        with self.transaction(write=False) as session:
            if session.execute("SELECT to_regclass('migrations'), to_regclass('head')").fetchone().count(None):
                raise LedgerError(f"{self.location} has tables, but no ledger of deniable. Give another schema.")
            done = len(session.execute("SELECT number FROM migrations").fetchall())
        if done > len(MIGRATIONS):
            raise LedgerError(
                f"{self.location} has schema version {done}; this deniable knows versions up to {len(MIGRATIONS)}. "
                "Upgrade deniable to use this ledger."
            )
        if done < len(MIGRATIONS):
            with self.transaction(write=True) as session:
                self._migrate(session, len(session.execute("SELECT number FROM migrations").fetchall()))

    def check(self, connection: "_Session", *, deeply: bool = False) -> None:
        facts = {fact for (fact,) in connection.execute(FACTS).fetchall()}
        names = [name for (name,) in connection.execute("SELECT name FROM migrations ORDER BY number").fetchall()]
        strange = sorted({fact.partition(":")[0] for fact in facts ^ GUARDED})
        if strange or names != [name for name, _ in MIGRATIONS]:
            raise LedgerTamperedError(
                f"{self.location} has been changed by another program: {', '.join(strange) or 'migrations'} is missing "
                "or altered. Restore the ledger from a backup."
            )

    def transaction(self, *, write: bool) -> Any:
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ {'READ WRITE' if write else 'READ ONLY'}; {self._local()}"
        return self._transaction(f"{begin}; {_LOCK}" if write else begin, write)

    def begin(self, connection: "_Session", number: int) -> None:
        connection.execute(f"SELECT pg_try_advisory_lock({_ANSWERING}, ?)", (number,))
        connection.answers.add(number)

    def end(self, number: int) -> None:
        from psycopg import Error

        for session in [each for each in list(self._answering.values()) if number in each.answers]:
            session.answers.discard(number)
            with suppress(Error):  # a lock that was lost is free
                session.execute(f"{self._local()}; SELECT pg_advisory_unlock({_ANSWERING}, {number}); {session.end}")
                self._give_back(session)
                return
            self._close(session)

    def in_progress(self, connection: "_Session", by: object, number: int) -> bool:
        held = connection.execute(
            "SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database WHERE datname = current_database() "
            f"AND locktype = 'advisory' AND classid::bigint = {_ANSWERING} AND objid::bigint = ? AND granted",
            (number,),
        )
        return held.fetchone() is not None

    def close(self) -> None:
        self._kept.close()

    def _local(self) -> str:
        wait = f"{1000 * storage.PATIENCE:.0f}"
        return (
            f'SET LOCAL search_path = "{self._schema}", pg_temp; SET LOCAL synchronous_commit = on; '
            f"SET LOCAL lock_timeout = {wait}; SET LOCAL statement_timeout = 0; "
            "SET LOCAL idle_in_transaction_session_timeout = 30000"
        )

    @contextmanager
    def _transaction(self, begin: str, durable: bool) -> Iterator["_Session"]:
        import psycopg

        with self._in_plain_words():
            session = self._begun(begin)
            end = None
            try:
                if durable:
                    self._check_durable(session)
                yield session
                end = session.execute("SELECT number, hash FROM head").fetchone() if durable else None
                if session.execute(session.end).statusmessage != "COMMIT":
                    raise LedgerError(f"The server has undone a transaction of the ledger {self.location}. Try again.")
            except BaseException as error:
                cut = isinstance(error, psycopg.Error) and session.connection.closed
                self._close(session)
                if not cut or end is None:
                    raise
                self._settle(*end)
            else:
                self._give_back(session)

    def _settle(self, number: int, wanted: str) -> None:
        """Return if the record was committed before the connection was cut.

        Raises: LedgerError if it was not, or if nobody can tell.
        """
        lock = f"BEGIN READ WRITE; {self._local()}; {_LOCK}"
        pause = storage.PATIENCE / 1000
        while pause < storage.PATIENCE:
            try:
                with self._transaction(lock, False) as session:
                    kept = session.execute("SELECT hash FROM records WHERE number = ?", (number,)).fetchone()
            except LedgerError:
                time.sleep(pause)
                pause *= 2
                continue
            if kept == (wanted,):
                return
            raise LedgerError(f"The connection to the ledger {self.location} was cut. Nothing was written. Try again.")
        raise LedgerError(
            f"The connection to the ledger {self.location} was cut while it wrote, and the server does not come back. "
            "The question may have been charged, as the ledger will show; it was not answered."
        )

    def _begun(self, begin: str) -> "_Session":
        """Return a session in a transaction.

        One that was kept may have been cut since; then nothing has happened.
        """
        answering = self._answering.get(_here())
        if answering is not None and not answering.busy:
            answering.busy = True
            if self._can(answering.connection, begin.replace("BEGIN", f"{_CHAIN}; SET TRANSACTION", 1)):
                return answering
            self._forget(answering)  # its lock is lost
        while True:
            kept = self._kept.take(None)
            connection = kept or self._connect()
            if self._can(connection, begin, anew=kept is None):
                return _Session(connection)

    def _can(self, connection: Any, begin: str, *, anew: bool = False) -> bool:
        """Whether a transaction has begun.

        False if the connection, which was not made `anew`, has been cut before.
        """
        import psycopg

        try:
            connection.execute(begin.encode())
        except BaseException as error:
            cut = isinstance(error, psycopg.OperationalError) and connection.closed
            connection.close()
            if anew or not cut:
                raise
            return False
        return True

    def _give_back(self, session: "_Session") -> None:
        """Keep a session whose transaction has ended.

        For its thread while that answers, else for everybody.
        """
        session.busy = False
        if session.answers:
            self._answering[session.thread] = session
            return
        self._forget(session)
        self._kept.give(None, session.connection)

    def _close(self, session: "_Session") -> None:
        """Give up a session, with the locks that it holds."""
        session.connection.close()
        self._forget(session)

    def _forget(self, session: "_Session") -> None:
        """Let its thread use others."""
        if self._answering.get(session.thread) is session:
            del self._answering[session.thread]

    def _connect(self) -> Any:
        import psycopg

        patience = {"connect_timeout": "10", "keepalives_idle": "10", "tcp_user_timeout": "30000"}
        settings: dict[str, Any] = {**patience, "application_name": "deniable", **self._settings}
        connection = psycopg.connect(**settings, autocommit=True, prepare_threshold=None)
        if (version := connection.info.server_version // 10000) < OLDEST:
            connection.close()
            raise LedgerError(
                f"The server of the ledger {self.location} must be PostgreSQL {OLDEST} or newer, not {version}."
            )
        return connection

    def _check_durable(self, session: "_Session") -> None:
        asked = "SELECT current_setting('fsync'), current_setting('synchronous_commit')"
        if session.execute(asked).fetchone() != ("on", "on"):
            raise LedgerError(
                f"The server of the ledger {self.location} may forget what was charged when its power is cut. Set "
                "fsync = on in its configuration. Nothing was written."
            )

    def _migrate(self, session: "_Session", done: int) -> None:
        for number, (name, statements) in enumerate(MIGRATIONS[done:], start=done + 1):
            session.execute(statements)
            session.execute("INSERT INTO migrations VALUES (?, ?)", (number, name))

    @contextmanager
    def _in_plain_words(self) -> Iterator[None]:
        """Translate errors of the server into errors of ours, without details.

        Details may quote what was to be written.
        """
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            raise _translated(error, self.location) from None


class _Session:
    """A connection in a transaction, which takes ? for values."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.thread = _here()
        self.answers: set[int] = set()  # the reservations whose locks this connection holds
        self.busy = True

    @property
    def end(self) -> str:
        """SQL that ends the transaction.

        While it holds a lock, another begins in which nothing waits.
        """
        if not self.answers:
            return "COMMIT"
        limits = ["idle_in_transaction_session_timeout"]
        limits += ["transaction_timeout"] if self.connection.info.server_version >= 170000 else []
        return "; ".join([_CHAIN, *(f"SET LOCAL {limit} = 0" for limit in limits)])

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Any:
        return self.connection.execute(statement.replace("?", "%s").encode(), values or None)


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def _relations(session: _Session, schema: str) -> bool:
    """Whether a schema holds anything."""
    asked = "SELECT FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = ? LIMIT 1"
    return session.execute(asked, (schema,)).fetchone() is not None


def _read(url: str) -> tuple[dict[str, Any], str]:
    """Return the settings of a connection and the name of the schema.

    No message repeats a URL, which may hold a password.
    """
    try:
        from psycopg import Error
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise MissingExtraError.of("postgres", "A ledger on PostgreSQL needs psycopg") from error
    base, _, query = url.partition("?")
    options = [option for option in query.split("&") if option]
    schemas = [unquote(option.partition("=")[2]) for option in options if option.startswith("schema=")]
    schema = schemas[0] if len(schemas) == 1 else "deniable" if not schemas else ""
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", schema) or schema.startswith("pg_"):
        raise InvalidParameterError(
            "schema must be one name of small letters, digits and underscores. Write the ledger as "
            "postgresql://user@host/database?schema=survey."
        )
    rest = "&".join(option for option in options if not option.startswith("schema="))
    settings = None
    # A sign that should have been encoded would make one part of a password look like the name of a host.
    if re.fullmatch(r"postgres(ql)?://([^@/?#]*@)?[^@#]*", f"{base}?{rest}"):
        with suppress(Error):  # which quotes parts of the URL
            settings = conninfo_to_dict(f"{base}?{rest}" if rest else base)
    if settings is None or not re.fullmatch("[0-9,]*", str(settings.get("port", ""))):  # a password without an @
        raise InvalidParameterError(
            "ledger must be a path, or a text such as postgresql://user@host/database?schema=survey; this URL cannot "
            "be read. Percent-encode signs such as @ / ? # in a password, or keep it in ~/.pgpass."
        )
    return dict(settings), schema


def _translated(error: Any, location: str) -> LedgerError:
    state = error.sqlstate or ""
    said = error.diag.message_primary or " ".join(str(error).split())
    if state == "55P03":
        return LedgerError(
            f"Another process has kept the ledger {location} locked for {storage.PATIENCE:g} seconds. Nothing was "
            "written. Try again when it has finished."
        )
    if state.startswith(("53", "54", "25006", "42501")):  # full, too much, read-only, may not
        return LedgerError(f"The ledger {location} cannot be written ({said}). Check permissions and free space.")
    if state.startswith(("23", "42", "22", "XX")):
        return LedgerTamperedError(
            f"The ledger {location} is damaged or was changed by another program ({said}). Restore it from a backup."
        )
    return LedgerError(
        f"The ledger {location} cannot be reached ({said}). Nothing was written. Check the server, then try again."
    )
