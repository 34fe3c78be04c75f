"""Statements planned by a DuckDB of their own, over no rows, and never run.

DuckDB does not look for an interruption while it binds names, so this happens in a thread that can be left alone.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from deniable.query.effort import in_time

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


class PlanningTrial:
    """Trial of whether DuckDB can plan statements in time.

    It ends after `MAX_SECONDS` and is open to Ctrl-C.

    Args:
        connect: opens a DuckDB that holds the tables.
        name: of the table of keys that were found.
    """

    def __init__(self, connect: "Callable[[], duckdb.DuckDBPyConnection]", name: str) -> None:
        self._connect, self._name = connect, name
        self._lock = threading.Lock()
        self._connection: duckdb.DuckDBPyConnection | None = None

    def admits(self, statements: Sequence[str], keys_table: "pa.Table | None") -> bool:
        """Whether all statements can be planned, over keys that were found or none.

        Raises: UnsupportedQueryError if that takes too long.
        """
        with self._lock:
            connection = self._connection = self._connection or self._connect()

            def leave() -> None:
                self._connection = None  # this one may be busy for long
                connection.interrupt()

            return in_time(lambda: self._plans(connection, statements, keys_table), leave)

    def _plans(
        self, connection: "duckdb.DuckDBPyConnection", statements: Sequence[str], keys_table: "pa.Table | None"
    ) -> bool:
        with suppress(Exception):
            if keys_table is not None:
                connection.register(self._name, keys_table)
            for statement in statements:
                connection.execute(f"EXPLAIN {statement}").fetchall()
            return True
        return False
