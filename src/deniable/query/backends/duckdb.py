"""DuckDB, locked down: it may read one source, spill to one folder, and nothing else."""

import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from deniable.errors import ExecutionError, InvalidParameterError, SourceError, UnsupportedQueryError
from deniable.query.backends.base import Engine
from deniable.query.backends.duckdb_expression import KINDS, quoted, text
from deniable.query.backends.duckdb_sql import Generator
from deniable.query.expression import Kind
from deniable.query.plan import PricedPlan

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

SEPARATORS = ",;\t|"
PASSES = (1, 4, 16, 64, 256)  # over the source, each for a share of the units, where one pass needs too much memory


class DuckDBEngine(Engine):
    """Exact aggregates over a Parquet or CSV file, a table of a DuckDB file, or an Arrow table in memory."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", source: str) -> None:
        import duckdb

        self._connection = connection
        self._lock = threading.Lock()  # a cursor of its own would not see a registered table
        self._source = source
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        except duckdb.OutOfMemoryException:
            raise InvalidParameterError("memory is too little to open the source. Write it as '1GB' or more.") from None
        except duckdb.Error:
            raise SourceError(
                "the source cannot be opened as a table: it is not of the format that its name says, or it is damaged. "
                "Check the file with the program that wrote it."
            ) from None
        self._types = {str(row[0]): _base_type(str(row[1])) for row in described}

    @classmethod
    def from_arrow(cls, table: "pa.Table", *, memory: str | None = None, threads: int | None = None) -> Self:
        """An engine over a table in memory."""
        connection = _connect(memory, threads, None)
        connection.register("source", table)
        _lock(connection, [])
        return cls(connection, "source")

    @classmethod
    def from_file(
        cls, path: Path, *, table: str | None = None, memory: str | None = None, threads: int | None = None
    ) -> Self:
        """An engine over a file; `table` names the table inside a DuckDB file."""
        if not path.is_file():
            raise SourceError(f"there is no file {str(path)!r}.")
        match path.suffix.lower():
            case ".parquet" | ".pq":
                source = f"read_parquet({text(str(path))})"
            case ".csv" | ".tsv" | ".txt":
                source = _csv_source(path)
            case ".duckdb" | ".db":
                return cls._from_database(path, table, memory, threads)
            case other:
                raise SourceError(f"files ending in {other!r} cannot be read. Use .parquet, .csv, .tsv or .duckdb.")
        connection = _connect(memory, threads, None)
        _lock(connection, [path])
        return cls(connection, source)

    @classmethod
    def _from_database(cls, path: Path, table: str | None, memory: str | None, threads: int | None) -> Self:
        import duckdb

        try:
            connection = _connect(memory, threads, path)
            tables = [str(row[0]) for row in connection.execute("SHOW TABLES").fetchall()]
        except duckdb.Error:
            raise SourceError(f"{str(path)!r} cannot be opened as a DuckDB database.") from None
        if table is None and len(tables) == 1:
            table = tables[0]
        if table not in tables:
            raise SourceError(
                f"say which table of {str(path)!r} is meant, with table=...: {', '.join(tables) or 'it has none'}."
            )
        _lock(connection, [path])
        return cls(connection, quoted(table))

    def schema(self) -> Mapping[str, Kind | None]:
        return {name: KINDS.get(base) for name, base in self._types.items()}

    def check(self, plan: PricedPlan) -> None:
        import duckdb

        statement = Generator(self._source, self._types).plan(plan, secret=bytes(16))
        possible = True
        try:
            with self._lock:
                self._connection.execute(f"EXPLAIN {statement}").fetchall()
        except duckdb.Error:
            possible = False
        if not possible:
            raise UnsupportedQueryError("the engine cannot run this query. Write it with simpler expressions.")

    def exact(self, plan: PricedPlan, *, secret: bytes) -> list[NDArray[Any]]:
        generator = Generator(self._source, self._types)
        for passes in PASSES:
            statements = [generator.plan(plan, secret=secret, share=(turn, passes)) for turn in range(passes)]
            totals = self._sum(statements, plan)
            if totals is not None:
                return [_integers(total) for total in totals]
        raise ExecutionError

    def _sum(self, statements: list[str], plan: PricedPlan) -> list[list[int]] | None:
        """The totals of all statements, each over its share of the units; None if one needs more memory than allowed.

        Raises: ExecutionError for any other cause; it is raised outside of the handler, so that the engine's own text,
            which may quote a value, is not attached to it.
        """
        import duckdb

        totals = [[0] * plan.query.question.cells for _ in plan.parts]
        for statement in statements:
            failure: type[Exception] | None = None
            try:
                with self._lock:
                    rows = self._connection.execute(statement).fetchall()
            except (duckdb.OutOfMemoryException, MemoryError):
                failure = MemoryError
            except Exception:
                failure = ExecutionError
            if failure is MemoryError:
                return None
            if failure is not None:
                raise failure
            for cell, *values in rows:
                for total, value in zip(totals, values, strict=True):
                    total[cell] += value
        return totals


def _integers(values: list[int]) -> NDArray[Any]:
    """An int64 array, or one of Python integers if a value does not fit."""
    fits = all(-(2**62) < value < 2**62 for value in values)
    return np.array(values, dtype=np.int64 if fits else object)


def _base_type(name: str) -> str:
    """DECIMAL(10,2) is a DECIMAL, ENUM('a', 'b') an ENUM; arrays and structures keep their name, which is unknown."""
    head = name.split("(", 1)[0]
    return head if name.endswith(")") and head in ("DECIMAL", "ENUM") else name


def _connect(memory: str | None, threads: int | None, path: Path | None) -> "duckdb.DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect(str(path) if path else ":memory:", read_only=path is not None)
    settings: dict[str, str] = {"preserve_insertion_order": "false", "temp_directory": text(_spill_folder())}
    if memory is not None:
        settings["memory_limit"] = text(memory)
    if threads is not None:
        settings["threads"] = str(int(threads))
    for name, value in settings.items():
        try:
            connection.execute(f"SET {name} = {value}")
        except duckdb.Error:
            raise InvalidParameterError(
                f"{name} cannot be set to {value}. Write memory as '4GB', threads as 2."
            ) from None
    return connection


def _spill_folder() -> str:
    """A private folder for intermediate results that do not fit in memory; DuckDB creates and empties it."""
    folder = tempfile.mkdtemp(prefix="deniable-")
    import atexit
    import shutil

    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _lock(connection: "duckdb.DuckDBPyConnection", paths: list[Path]) -> None:
    """No file but `paths`, no extension, no further change of settings."""
    allowed = ", ".join(text(str(path)) for path in paths)
    connection.execute(f"SET allowed_paths = [{allowed}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET autoinstall_known_extensions = false")
    connection.execute("SET autoload_known_extensions = false")
    connection.execute("SET lock_configuration = true")


def header_of_csv(path: Path) -> tuple[str, list[str]]:
    """The separator and the column names, from the first line alone: nothing is inferred from private rows."""
    import csv

    try:
        with path.open("rb") as file:
            first = file.readline(1_000_000).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise SourceError(f"{str(path)!r} cannot be read as text in UTF-8.") from None
    separator = max(SEPARATORS, key=first.count)
    names = next(csv.reader([first], delimiter=separator), [])
    if not any(names) or len(set(names)) < len(names) or not all(names):
        raise SourceError(f"the first line of {str(path)!r} must name every column, each name once.")
    return separator, names


def _csv_source(path: Path) -> str:
    """Every column is read as text and cast where it is used, so that no row can stop the reader."""
    separator, names = header_of_csv(path)
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({text(str(path))}, delim={text(separator)}, columns={{{columns}}}, header=true, quote='\"', "
        "escape='\"', auto_detect=false, ignore_errors=true, null_padding=true, strict_mode=false, parallel=false)"
    )
