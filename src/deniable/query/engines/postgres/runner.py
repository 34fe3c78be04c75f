"""One table or view of a PostgreSQL server: its columns, and the rows of one statement.

Every statement has a connection and a transaction of its own, which may only read, finds no function or table by a path
that others can set, and ends after a while. A role needs CONNECT, USAGE and SELECT, and may come through a pooler that
lends a connection for a transaction: settings are those of the transaction, and no statement keeps a name.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from deniable.errors import InvalidParameterError, MissingExtraError, SourceError, redacted
from deniable.query.engines.dialect import quoted
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.engines.postgres.views import TREE, refusal, views_of
from deniable.query.engines.runner import Runner, not_opened

OLDEST = 14  # before it, NUMERIC has no infinity
SETTINGS: Mapping[str, str] = {  # what a statement's meaning depends on, whatever the user, database or server set
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "lc_numeric": "C",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
}
LOCAL = "SELECT " + ", ".join(f"pg_catalog.set_config('{name}', '{value}', true)" for name, value in SETTINGS.items())
OPENED = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'), a.attname,
       CASE WHEN EXISTS (SELECT FROM pg_cast WHERE castsource = t.oid AND castfunc >= 16384 AND casttarget::regtype IN
                         ('boolean', 'bigint', 'double precision', 'text', 'date', 'timestamp', 'numeric', 'integer'))
            THEN 'cast by a function of somebody'
            WHEN t.typtype = 'e' THEN 'enum' WHEN t.typname = 'citext' THEN 'text'
            ELSE format_type(a.atttypid, NULL) END
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
# Why nothing can be read, by what an SQLSTATE begins with. Before a connection stands there is none, and the server's
# words are searched for a piece of English instead, which is never shown.
CAUSES: Mapping[str, str] = {
    "42501": "this user may not read it. It needs CONNECT on the database, USAGE on the schema, SELECT on the table.",
    "28": "the server does not let this user in. Check user and password, and the server's pg_hba.conf.",
    "3D": "the server has no database of this name.",
    "42": "it is not there. Check how table and schema are spelt.",
    "53300": "the server has no connection left. Ask again later.",
    "57": "the server cut the connection off, stopped, or is starting. Ask again.",
    "08": "the server cannot be reached. Check its name and port, and that it runs.",
}
SPOKEN: Mapping[str, str] = {
    "password": "28",
    "pg_hba.conf": "28",
    "does not exist": "3D",
    "permission denied": "42501",
    "too many": "53300",
    "shutting down": "57",
    "starting up": "57",
}


class PostgresRunner(Runner):
    """A table, whose name is "schema.table", or "table" in the schema public; `url` as libpq takes it.

    Raises: SourceError if it cannot be opened, or is a view in which rows could touch; InvalidParameterError if the
        server is too old or not in UTF-8.
    """

    dialect = Postgres()

    def __init__(self, url: str, table: str, *, seconds: int = 3600) -> None:
        schema, _, name = table.rpartition(".")
        self.source = f"{quoted(schema or 'public')}.{quoted(name)}"
        self.place, self._seconds = url, seconds
        server, slash, path = redacted(url).partition("://")[2].partition("/")
        self.name, self.where = f"postgresql://{server.lower()}{slash}{path}", _where(url)
        self.table = f"{schema or 'public'}.{name}"
        found, tree = self._facts()
        if tree and (why := refusal(tree)):
            raise SourceError(f"{table!r} cannot be asked: {why}")
        cause = self.cause()
        if cause or not found or not tree:
            raise not_opened(table, cause)
        version, encoding, *_ = found[0]
        if version < OLDEST or encoding != "UTF8":
            raise InvalidParameterError(
                f"the server must be PostgreSQL {OLDEST} or newer with a database in UTF8, not {version} in {encoding}."
            )
        self._found, self._views = found, views_of(tree)
        self.types = {str(column): str(base) for *_, column, base in found}

    def _facts(self) -> list[list[tuple[Any, ...]]] | tuple[None, None]:
        """Its columns, and what it is made of."""
        return self._attempt(*((statement, (self.source,)) for statement in (OPENED, TREE)))[0] or (None, None)

    def unchanged(self) -> bool:
        found, tree = self._facts()  # partitions may come and go
        if found != self._found or not tree:
            return False
        return views_of(tree) == self._views and refusal(tree) is None

    def check(self, statement: str) -> bool:
        return self.rows(f"EXPLAIN {statement}") is not None

    def cause(self) -> str | None:
        return self._attempt((f"EXPLAIN SELECT FROM {self.source}", None))[1]

    def rows(self, statement: str) -> list[tuple[Any, ...]] | None:
        found, _ = self._attempt((statement, None))
        return None if found is None else found[0]

    def _attempt(
        self, *statements: tuple[str, Sequence[object] | None]
    ) -> tuple[list[list[tuple[Any, ...]]] | None, str | None]:
        return attempt(self.place, *statements, seconds=self._seconds)


def attempt(
    url: str, *statements: tuple[str, Sequence[object] | None], seconds: int = 60
) -> tuple[list[list[tuple[Any, ...]]] | None, str | None]:
    """The rows of statements with their values, or one of `CAUSES` if there is one."""
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError.of("postgres", "PostgreSQL needs psycopg") from None
    try:
        with psycopg.connect(url, connect_timeout=10, client_encoding="utf8") as connection:
            connection.read_only = True
            connection.execute(f"{LOCAL}, pg_catalog.set_config('statement_timeout', '{seconds}s', true)")
            return [  # binary: each is one statement, without a name that a pooler would keep
                connection.execute(statement.encode(), values, prepare=False, binary=True).fetchall()
                for statement, values in statements
            ], None
    except psycopg.Error as error:
        return None, _cause(error.sqlstate, str(error))
    except Exception:
        return None, None


def _where(url: str) -> str:
    """The server and database of a URL, wherever it names them."""
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    with suppress(Error):  # which quotes parts of the URL
        named = conninfo_to_dict(url)
        host, port, database, service = (named.get(key) or "" for key in ("host", "port", "dbname", "service"))
        return f"postgresql://{host or named.get('hostaddr') or service}:{port or 5432}/{database}"
    return redacted(url)


def _cause(state: str | None, words: str) -> str | None:
    if state is None:
        state = next((code for piece, code in SPOKEN.items() if piece in words), "08")
    return next((cause for code, cause in CAUSES.items() if state.startswith(code)), None)
