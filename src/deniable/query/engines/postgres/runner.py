"""One table or view of a PostgreSQL server: its columns, and the rows of one statement.

Every statement has a connection of its own, which may only read, finds no function or table by a path that others can
set, and ends after a while. What the server says of a failure may quote a value, so none of it is passed on.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from deniable.errors import ExecutionError, InvalidParameterError, MissingExtraError, SourceError
from deniable.query.engines.duckdb.expression import quoted
from deniable.query.engines.postgres.expression import KINDS, Postgres
from deniable.query.expression import Kind

OLDEST = 14  # before it, NUMERIC has no infinity
SETTINGS: Mapping[str, str] = {  # what a statement's meaning depends on, whatever the user, database or server set
    "default_transaction_read_only": "on",
    "search_path": "pg_catalog",
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "standard_conforming_strings": "on",
    "client_encoding": "UTF8",
    "transform_null_equals": "off",
    "lc_messages": "C",
}
OPENED = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
       a.attname, CASE WHEN t.typtype = 'e' THEN 'enum' ELSE format_type(a.atttypid, NULL) END
FROM pg_attribute AS a JOIN pg_type AS t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""


class PostgresRunner:
    """A table, whose name is "schema.table", or "table" in the schema public; `url` as libpq takes it.

    Raises: SourceError if it cannot be opened; InvalidParameterError if the server is too old or not in UTF-8.
    """

    dialect = Postgres()

    def __init__(self, url: str, table: str, *, seconds: int = 3600) -> None:
        schema, _, name = table.rpartition(".")
        self.source = f"{quoted(schema or 'public')}.{quoted(name)}"
        self._url, self._seconds = url, seconds
        found = self._rows(OPENED, (self.source,))
        if not found:
            raise SourceError(
                f"the table {table!r} cannot be opened. Check that the server runs, that the user may read the table, "
                "and how its schema is spelt."
            )
        version, encoding, *_ = found[0]
        if version < OLDEST or encoding != "UTF8":
            raise InvalidParameterError(
                f"the server must be PostgreSQL {OLDEST} or newer with a database in UTF8, not {version} in {encoding}."
            )
        self.types = {str(column): str(base) for *_, column, base in found}

    def schema(self) -> Mapping[str, Kind | None]:
        """The columns in their order; None for a type that queries cannot use. Reads no row."""
        return {name: KINDS.get(base) for name, base in self.types.items()}

    def check(self, statement: str) -> bool:
        """Whether the server can run a statement. Reads no row."""
        return self._rows(f"EXPLAIN {statement}") is not None

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of a statement.

        Raises: ExecutionError, with a constant text, if the server stops for any reason.
        """
        rows = self._rows(statement)
        if rows is None:  # raised here, so that the server's own text is not attached to it
            raise ExecutionError
        return rows

    def _rows(self, statement: str, values: Sequence[object] | None = None) -> list[tuple[Any, ...]] | None:
        """The rows of a statement, None if anything fails."""
        try:
            import psycopg
        except ImportError:
            raise MissingExtraError("PostgreSQL needs psycopg. Install it: pip install 'deniable[postgres]'") from None
        settings = {**SETTINGS, "statement_timeout": str(self._seconds * 1000)}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        try:
            with psycopg.connect(self._url, options=options, connect_timeout=10) as connection:
                return list(connection.execute(statement.encode(), values).fetchall())
        except Exception:
            return None
