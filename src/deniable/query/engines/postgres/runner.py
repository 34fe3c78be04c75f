"""One table or view of a PostgreSQL server, and the rows of one statement.

It knows the columns of the table too.

Every statement has a connection and a transaction of its own, which may only read, finds no function or table by a path
that others can set, and ends after a while. A role needs CONNECT, USAGE and SELECT, and may come through a pooler that
lends a connection for a transaction: settings are those of the transaction, and no statement keeps a name.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from deniable.errors import InvalidParameterError, MissingExtraError, SourceError, UnsupportedQueryError, redacted
from deniable.query import effort
from deniable.query.engines.dialect import quoted
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.engines.postgres.views import TREE, refusal, views_of
from deniable.query.engines.runner import StatementRunner, not_opened

T = TypeVar("T")
Rows = list[tuple[Any, ...]]
OLDEST = 14  # before it, NUMERIC has no infinity
SETTINGS: Mapping[str, str] = {  # what a statement's meaning depends on, whatever the user, database or server set
    "search_path": "pg_catalog, pg_temp",  # temporary tables last, which else come first
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "lc_numeric": "C",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "gin_fuzzy_search_limit": "0",  # else some indexes find some of the rows
    "row_security": "off",  # what a policy would choose rows of fails
    "idle_in_transaction_session_timeout": "0",
}
# PostgreSQL 17 can end a transaction too; the limits here are those of statements.
BEGIN = (  # at once, so that no limit of others ends it before ours hold
    "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SELECT "
    + ", ".join(f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in SETTINGS.items())
    + ", CASE WHEN pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL "
    "THEN pg_catalog.set_config('transaction_timeout', '0', true) END"
)
OPENED = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'), current_database(),
       current_user, has_function_privilege('pg_control_system()', 'EXECUTE'), a.attname,
       CASE WHEN EXISTS (SELECT FROM pg_cast WHERE castsource = t.oid AND castfunc >= 16384 AND casttarget::regtype IN
                         ('boolean', 'bigint', 'double precision', 'text', 'date', 'timestamp', 'numeric', 'integer'))
            THEN 'cast by a function of somebody'
            WHEN t.typtype = 'e' THEN 'enum' WHEN t.typname = 'citext' THEN 'text'
            ELSE format_type(a.atttypid, NULL) END
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
SYSTEM = "SELECT system_identifier::text FROM pg_control_system()"  # of the files of a server and of its standbys
SLOW = "the server does not answer in time. Ask again when it has less to do."
# Why nothing can be read, by what an SQLSTATE begins with. Before a connection stands there is none, and the server's
# words are searched for a piece of English instead, which is never shown; it may speak another language.
CAUSES: Mapping[str, str] = {
    "42501": "this user may not read it. It needs CONNECT on the database, USAGE on the schema, SELECT on the table.",
    "28": "the server does not let this user in. Check user and password, and the server's pg_hba.conf.",
    "3D": "the server has no database of this name.",
    "42": "it is not there. Check how table and schema are spelt.",
    "53300": "the server has no connection left. Ask again later.",
    "55P03": "another session has locked it. Ask again later.",
    "57014": SLOW,
    "57": "the server cut the connection off, stopped, or is starting. Ask again.",
    "08": "the server cannot be reached. Check its name and port, and that it runs.",
    "?": "the server cannot be reached, or does not let this user in. Its log says which.",
}
SPOKEN: Mapping[str, str] = {
    "password": "28",
    "pg_hba.conf": "28",
    "does not exist": "3D",
    "permission denied": "42501",
    "too many": "53300",
    "shutting down": "57",
    "starting up": "57",
    **dict.fromkeys(("No such file", "refused", "resolve", "translate", "timeout", "timed out", "unreachable"), "08"),
}


class PostgresRunner(StatementRunner):
    """A table of a PostgreSQL server, whose name is "schema.table".

    The name "table" is one in the schema public; `url` is as libpq takes it.

    Raises: SourceError if it cannot be opened, or is a view in which rows could touch; InvalidParameterError if the
        server is too old or not in UTF-8.
    """

    dialect = Postgres()

    def __init__(self, url: str, table: str, *, seconds: int = 3600) -> None:
        schema, _, name = table.rpartition(".")
        self.source = f"{quoted(schema or 'public')}.{quoted(name)}"
        self.server, self._seconds = url, seconds
        server, slash, path = redacted(url).partition("://")[2].partition("/")
        self.name = f"postgresql://{server.lower()}{slash}{path}"
        self.table = f"{schema or 'public'}.{name}"
        facts, cause = in_planning(url, self._readable)
        if facts is None or not facts.columns:
            raise not_opened(table, cause)
        if facts.refusal:
            raise SourceError(f"{table!r} cannot be asked: {facts.refusal}")
        version, encoding, database, *_ = facts.columns[0]
        if version < OLDEST or encoding != "UTF8":
            raise InvalidParameterError(
                f"the server must be PostgreSQL {OLDEST} or newer with a database in UTF8, not {version} in {encoding}."
            )
        self._opened = facts
        self.where = f"postgresql://{facts.address}/{database}"
        self.system = facts.system
        self.types = {str(column): str(base) for *_, column, base in facts.columns}

    def _facts(self, connection: Any) -> "ServerFacts":
        columns, tree = (answer(connection, statement, (self.source,)) for statement in (OPENED, TREE))
        allowed = bool(columns) and columns[0][4]
        return ServerFacts(
            columns=columns,
            views=views_of(tree),  # partitions may come and go
            refusal=refusal(tree),
            address=_address(self.server, connection),
            system=answer(connection, SYSTEM)[0][0] if allowed else None,
        )

    def _readable(self, connection: Any) -> "ServerFacts":
        facts = self._facts(connection)
        if facts.refusal is None:
            answer(connection, f"EXPLAIN SELECT FROM {self.source}")
        return facts

    def unchanged(self) -> bool:
        return in_planning(self.server, self._facts)[0] == self._opened

    def check(self, statement: str) -> bool:
        return self.checks([statement])

    def checks(self, statements: Sequence[str]) -> bool:
        results, cause = in_planning(
            self.server, lambda connection: [answer(connection, f"EXPLAIN {each}") for each in statements]
        )
        if cause == SLOW:
            raise effort.too_long()
        return results is not None

    def cause(self) -> str | None:
        facts, cause = in_planning(self.server, self._readable)
        return cause if facts is None else facts.refusal

    def rows(self, statement: str) -> Rows | None:
        return attempt(self.server, lambda connection: answer(connection, statement), seconds=self._seconds)[0]


@dataclass(frozen=True, kw_only=True)
class ServerFacts:
    """Facts of a table or view that must not change while it is asked.

    Args:
        address: host and port, as the URL names them, else those that the connection has.
        system: the identifier of the server's files; None where the role may not know it.
    """

    columns: Rows
    views: list[str]
    refusal: str | None
    address: str
    system: str | None


def answer(connection: Any, statement: str, values: Sequence[object] | None = None) -> Rows:
    """Return the rows of one statement.

    They come in binary; the statement has no name, which a pooler would keep.
    """
    rows: Rows = connection.execute(statement.encode(), values, prepare=False, binary=True).fetchall()
    return rows


def attempt(
    url: str,
    work: Callable[[Any], T],
    *,
    seconds: float = 60,
    patience: float = 0,
    held: list[Any] | None = None,
) -> tuple[T | None, str | None]:
    """Return the result of work in a transaction of its own, or one of `CAUSES`.

    Args:
        work: takes the connection.
        seconds: that each statement may take; patience: that it may wait for a lock, 0 for as long.
        held: is given the connection.
    """
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError.of("postgres", "PostgreSQL needs psycopg") from None
    limits = {"statement_timeout": seconds, "lock_timeout": patience}
    limited = [f"pg_catalog.set_config('{name}', '{1000 * limit:.0f}', true)" for name, limit in limits.items()]
    try:
        with psycopg.connect(url, connect_timeout=10, client_encoding="utf8", autocommit=True) as connection:
            if held is not None:
                held.append(connection)
            connection.execute(", ".join([BEGIN, *limited]).encode())
            result = work(connection)
            connection.execute("COMMIT")
            return result, None
    except psycopg.Error as error:
        return None, _cause(error.sqlstate, str(error))
    except Exception:
        return None, None


def in_planning(url: str, work: Callable[[Any], T]) -> tuple[T | None, str | None]:
    """Return the result of `attempt`, within the time for planning.

    It is open to Ctrl-C: it serves what is asked before a payment.
    """
    held: list[Any] = []

    def leave() -> None:
        for connection in held:
            Thread(target=connection.cancel, daemon=True).start()

    seconds = effort.MAX_SECONDS
    with suppress(UnsupportedQueryError):
        return effort.in_time(lambda: attempt(url, work, seconds=seconds, patience=seconds / 2, held=held), leave)
    return None, SLOW


def _address(url: str, connection: Any) -> str:
    """Return host and port of a URL, as it names them.

    Else those of the connection, which come from elsewhere.
    """
    from psycopg.conninfo import conninfo_to_dict

    named = conninfo_to_dict(url)
    host = named.get("host") or named.get("hostaddr") or connection.info.host
    return f"{host}:{named.get('port') or connection.info.port}"


def _cause(state: str | None, words: str) -> str | None:
    if state is None:
        state = next((code for piece, code in SPOKEN.items() if piece in words), "?")
    return next((cause for code, cause in CAUSES.items() if state.startswith(code)), None)
