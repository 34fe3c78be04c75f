"""One table or view of a PostgreSQL server: its columns, and the rows of one statement.

Every statement has a connection of its own, which may only read, finds no function or table by a path that others can
set, and ends after a while.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.query.engines.dialect import quoted
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.engines.runner import Runner, not_opened

OLDEST = 14  # before it, NUMERIC has no infinity
SETTINGS: Mapping[str, str] = {  # what a statement's meaning depends on, whatever the user, database or server set
    "default_transaction_read_only": "on",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "lc_numeric": "C",
    "standard_conforming_strings": "on",
    "client_encoding": "UTF8",
    "transform_null_equals": "off",
    "lc_messages": "C",
}
OPENED = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
       a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' WHEN t.typname = 'citext' THEN 'text'
                  ELSE format_type(a.atttypid, NULL) END
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


class PostgresRunner(Runner):
    """A table, whose name is "schema.table", or "table" in the schema public; `url` as libpq takes it.

    Raises: SourceError if it cannot be opened; InvalidParameterError if the server is too old or not in UTF-8.
    """

    dialect = Postgres()

    def __init__(self, url: str, table: str, *, seconds: int = 3600) -> None:
        schema, _, name = table.rpartition(".")
        self.source = f"{quoted(schema or 'public')}.{quoted(name)}"
        self.place, self._seconds = url, seconds
        known = urlsplit(url)
        self.name = f"postgresql://{known.hostname or ''}{f':{known.port}' if known.port else ''}{known.path}"
        self._found = self.rows(OPENED, (self.source,))
        if not self._found:
            raise not_opened(table)
        version, encoding, *_ = self._found[0]
        if version < OLDEST or encoding != "UTF8":
            raise InvalidParameterError(
                f"the server must be PostgreSQL {OLDEST} or newer with a database in UTF8, not {version} in {encoding}."
            )
        self.types = {str(column): str(base) for *_, column, base in self._found}

    def unchanged(self) -> bool:
        return self.rows(OPENED, (self.source,)) == self._found

    def check(self, statement: str) -> bool:
        return self.rows(f"EXPLAIN {statement}") is not None

    def rows(self, statement: str, values: Sequence[object] | None = None) -> list[tuple[Any, ...]] | None:
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError.of("postgres", "PostgreSQL needs psycopg") from None
        settings = {**SETTINGS, "statement_timeout": str(self._seconds * 1000)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        try:
            with psycopg.connect(self.place, options=options, connect_timeout=10) as connection:
                found = connection.execute(statement.encode(), values, prepare=True)  # one statement, or none
                return list(found.fetchall())
        except Exception:
            return None
