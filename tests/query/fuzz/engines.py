"""Databases of a world's rows on each engine."""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

import deniable as dn
from deniable.query.database import Database
from tests.postgres import Server, as_reader, programs
from tests.query.fuzz.worlds import Rows, World

POSTGRES = {"string": "text", "int64": "bigint", "int32": "integer", "int8": "smallint", "double": "double precision"}
POSTGRES |= {"float": "real", "decimal128(12, 2)": "numeric(12, 2)", "bool": "boolean", "date32[day]": "date"}
POSTGRES |= {"timestamp[us]": "timestamp"}


class Engine(ABC):
    """Where tables are kept."""

    name: str
    same: bool = False  # whether a pair has the same rows, on two engines

    @contextmanager
    def pair(self, world: World) -> Iterator[tuple[Database, Database]]:
        """Databases of two neighbours."""
        with self.opened(world, world.here) as here, self.opened(world, world.there) as there:
            yield here, there

    @abstractmethod
    @contextmanager
    def opened(self, world: World, rows: Rows) -> Iterator[Database]:
        """A database of these rows."""


class DuckDB(Engine):
    """Frames; a single table also as a view of a file."""

    name = "duckdb"

    @contextmanager
    def opened(self, world: World, rows: Rows) -> Iterator[Database]:
        tables = {name: world.table(name, rows) for name in world.schemas}
        if not world.view or len(tables) > 1:
            yield dn.connect(tables, threads=1, **world.options)
            return
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rows.duckdb"
            with duckdb.connect(str(path)) as connection:
                connection.register("rows", tables["t"])
                connection.execute("CREATE TABLE base AS SELECT * FROM rows")
                connection.execute(f"CREATE VIEW t AS SELECT {viewed(world, 't')} FROM base")
            options = {
                name: value for name, value in world.options.items() if name not in ("public", "paths", "columns")
            }
            yield dn.connect(path, table="t", threads=1, columns=world.options["columns"].get("t", {}), **options)


def viewed(world: World, name: str) -> str:
    """The columns of a view, one of them computed."""
    return ", ".join("CASE WHEN TRUE THEN s END AS s" if each == "s" else each for each in world.schemas[name].names)


class Postgres(Engine):
    """Tables or views of a server, read by a role that may do nothing else."""

    name = "postgres"

    def __init__(self, url: str) -> None:
        import psycopg

        self._url, self._numbers = url, count(1)
        self._connection = psycopg.connect(url, autocommit=True)
        self.close = self._connection.close

    @contextmanager
    def opened(self, world: World, rows: Rows) -> Iterator[Database]:
        schema = f"s{next(self._numbers)}"
        self._connection.execute(f"CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO reader".encode())
        try:
            for name in world.schemas:
                self._load(schema, world, name, world.table(name, rows))
            self._connection.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO reader".encode())
            tables = {name: f"{schema}.{name}" for name in world.schemas}
            yield dn.connect(as_reader(self._url), table=tables, **world.options)
        finally:
            self._connection.execute(f"DROP SCHEMA {schema} CASCADE".encode())

    def _load(self, schema: str, world: World, name: str, rows: pa.Table) -> None:
        base = f"{schema}.{name}{'_rows' if world.view else ''}"
        columns = ", ".join(f"{each.name} {POSTGRES[str(each.type)]}" for each in rows.schema)
        self._connection.execute(f"CREATE TABLE {base} ({columns})".encode())
        with self._connection.cursor().copy(f"COPY {base} FROM STDIN".encode()) as copy:
            for row in rows.to_pylist():
                copy.write_row(tuple(row.values()))
        if world.view:
            self._connection.execute(
                f"CREATE VIEW {schema}.{name} AS SELECT {', '.join(rows.column_names)} FROM {base}".encode()
            )


class Spark(Engine):
    """DataFrames of a session."""

    name = "spark"

    def __init__(self, session: Any) -> None:
        self._session = session

    @contextmanager
    def opened(self, world: World, rows: Rows) -> Iterator[Database]:
        frames = {name: self._session.createDataFrame(world.table(name, rows)) for name in world.schemas}
        yield dn.connect(frames, **world.options)


class Both(Engine):
    """The same rows on two engines, which must have the same secret numbers."""

    name, same = "both", True

    def __init__(self, one: Engine, other: Engine) -> None:
        self._one, self._other = one, other

    @contextmanager
    def pair(self, world: World) -> Iterator[tuple[Database, Database]]:
        with self._one.opened(world, world.here) as here, self._other.opened(world, world.here) as there:
            yield here, there

    def opened(self, world: World, rows: Rows) -> AbstractContextManager[Database]:
        return self._one.opened(world, rows)


@contextmanager
def started(name: str) -> Iterator[Engine]:
    """An engine by its name, with a server or session of its own."""
    if name == "duckdb":
        yield DuckDB()
    elif name in ("postgres", "both"):
        folder = programs()
        assert folder is not None, "needs PostgreSQL's server programs: make postgres"
        server = Server(folder)
        try:
            with server.database() as url, closing(Postgres(url)) as engine:
                yield engine
        finally:
            server.remove()
    else:
        from tests.query.engines.spark.conftest import started as session

        with session() as held:
            yield Spark(held)
