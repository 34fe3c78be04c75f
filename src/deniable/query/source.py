"""From what the owner has in hand (a frame, a file) to an engine that holds it."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, cast

from deniable.errors import InvalidParameterError, SourceError
from deniable.ledger.postgres import is_url
from deniable.ledger.source import Source, SourceTable
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Declaration
from deniable.query.engines.base import Engine
from deniable.query.engines.remote import RemoteEngine
from deniable.query.engines.runner import SPARK, StatementRunner, is_remote
from deniable.query.promise import declared_tables
from deniable.rows import arrow_of
from deniable.rows.declared import Declared

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.query.engines.duckdb.files import Located
    from deniable.query.policy import Policy


def open_source(
    source: object,
    *,
    table: str | None = None,
    columns: Mapping[str, Declaration] | None = None,
    unit: str | None = None,
    memory: str | None = None,
    threads: int | None = None,
) -> Engine:
    """Return an engine over a dataframe, a file, or many Parquet files.

    A dataframe of pandas, Polars or Arrow; many files are a folder or a pattern.

    A column of a frame that has no type of its own, such as one of objects, is read entry by entry as what `columns`
    declares for it, or as the name of a unit; if neither does, no query can use it, whatever it holds.

    Args:
        table: inside a .duckdb file.

    Raises: SourceError if it is none of these, or cannot be opened.
    """
    from deniable.query.engines.duckdb.engine import DuckDBEngine

    runner = runner_of(source, table)
    if runner is not None:
        return _engine({"": runner}, None if table is None else table.rpartition(".")[2])
    part = _part(source, columns or {}, unit, table=table)
    return DuckDBEngine({"": part}, memory=memory, threads=threads)


def runner_of(source: object, table: str | None = None) -> StatementRunner | None:
    """Return a table or view of a PostgreSQL server or of Spark.

    Spark's is one of its catalogue, or a DataFrame. The rows stay there.
    """
    if isinstance(source, str) and source == SPARK:
        from deniable.query.engines.spark.runner import open_table

        if table is None:
            raise SourceError("say which table or view of Spark's catalogue is meant: table='database.name'.")
        return open_table(table)
    if isinstance(source, str) and is_url(source):
        from deniable.query.engines.postgres.runner import PostgresRunner

        if table is None:
            raise SourceError("say which table or view of the server is meant: table='schema.name'.")
        return PostgresRunner(source, table)
    if type(source).__module__.startswith("pyspark."):
        from deniable.query.engines.spark.runner import SparkRunner

        frame = cast(Any, source)
        view = f"deniable_{token_hex(16)}"  # processes may share a session, so no number
        return SparkRunner(frame.sparkSession, view, frame)
    return None


def _engine(runners: Mapping[str, StatementRunner], table: str | None = None) -> Engine:
    if any(runner.dialect.name != "Spark" for runner in runners.values()):
        return RemoteEngine(runners, table=table)
    from deniable.query.engines.spark.executors import SparkEngine

    return SparkEngine(runners)


def open_sources(
    sources: Mapping[str, object],
    *,
    columns: Mapping[str, Mapping[str, Declaration]],
    unit: str | None,
    memory: str | None = None,
    threads: int | None = None,
) -> Engine:
    """Return an engine over several sources, by the names of their tables.

    Each source is as `open_source` takes it.

    A table of a server is a pair: its URL, and the table's name there.
    """
    from deniable.query.engines.duckdb.engine import DuckDBEngine

    runners = {name: runner_of(*each) if isinstance(each, tuple) else runner_of(each) for name, each in sources.items()}
    remote = {name: runner for name, runner in runners.items() if runner is not None}
    if remote:
        if len(remote) < len(sources) or len({runner.server for runner in remote.values()}) > 1:
            raise SourceError("tables of one question are all on one server, all in one Spark session, or all here.")
        return _engine(remote)
    parts = {name: _part(source, columns.get(name, {}), unit) for name, source in sources.items()}
    return DuckDBEngine(parts, memory=memory, threads=threads)


def _part(
    source: object, columns: Mapping[str, Declaration], unit: str | None, table: str | None = None
) -> "Located | pa.Table":
    """Return what DuckDB reads for one source."""
    from deniable.query.engines.duckdb.engine import DuckDBEngine

    if isinstance(source, str) and "://" in source:
        raise SourceError("of servers, those of PostgreSQL are a source: dn.connect('postgresql://...', table=...).")
    if isinstance(source, str | Path):
        return DuckDBEngine.located(Path(source).resolve(), table=table)
    return _to_arrow(source, _as_declared(columns, unit))


def open_policy(
    policy: "Policy", *, memory: str | None = None, threads: int | None = None
) -> tuple[Engine, dict[str, DeclaredTable], Source]:
    """The engine of a policy, its tables, and what a ledger notes about them."""
    from deniable.query.engines.duckdb.engine import DuckDBEngine

    engine: Engine
    every = policy.several or {"": policy}
    if any(is_remote(each.source) for each in every.values()):
        pairs = {name: (each.source, each.table) for name, each in every.items()}
        alone = not policy.several
        engine = open_source(policy.source, table=policy.table) if alone else open_sources(pairs, columns={}, unit=None)
    else:
        parts = {
            name: DuckDBEngine.located(Path(each.source), table=each.table, csv=each.csv, partitions=each.partitions)
            for name, each in every.items()
        }
        engine = DuckDBEngine(parts, memory=memory, threads=threads)
    if not policy.several:
        return engine, {policy.name: policy.described(engine.schema())}, noted(engine)
    several = policy.several
    tables = declared_tables(
        several,
        schema=engine.schema,
        columns={name: each.columns for name, each in several.items()},
        public=[name for name, each in several.items() if each.public],
        unit=policy.unit,
        promise={
            word: getattr(policy, word) for word in ("relation", "rows", "groups", "total_rows", "assumed", "auto")
        },
        paths={name: each.path for name, each in several.items() if each.path},
    )
    return engine, tables, noted(engine, tables)


def noted(engine: Engine, tables: Mapping[str, DeclaredTable] | None = None) -> Source:
    """Return a source's location, tables and columns for the ledger; nothing of rows.

    Args:
        tables: by their names, where there are several: of each its place too, and whose its rows are.
    """
    columns = {
        f"{table}.{name}" if table else name: "other" if kind is None else kind.value
        for table in tables or ("",)
        for name, kind in engine.schema(table).items()
    }
    parts = {}
    for name, (path, table) in engine.locations.items():
        role = "the unit's" if tables is None else _role(tables[name])
        parts[name] = SourceTable(path=path, table=table, role=role, system=engine.system)
    return Source(path=engine.source_name, table=engine.table, columns=columns, tables=parts)


def _role(table: DeclaredTable) -> str:
    """Return in words which unit the rows of a table belong to."""
    if table.public:
        return "public"
    if table.path is not None:
        return f"of whom {table.path.key!r} meets in {table.path.parent.name!r}, {table.path.parent_key!r}"
    return f"of whom {table.unit.column!r} says"


def _to_arrow(frame: object, declared: Mapping[str, Declared]) -> "pa.Table":
    """Return the frame as an Arrow table.

    The frame's own errors may quote a value, so they are not passed on.
    """
    import narwhals as nw
    import pyarrow as pa

    try:
        narwhal = nw.from_native(cast(Any, frame))
    except TypeError:
        kind = type(frame).__name__
        raise SourceError(
            f"a source is a dataframe (pandas, Polars, Arrow) or the path of a file, got {kind}."
        ) from None
    columns: dict[str, Any] | None = None
    with suppress(Exception):  # raised below, outside of this block, so that no value is attached to it
        held = narwhal.collect() if isinstance(narwhal, nw.LazyFrame) else narwhal
        columns = {name: _column(part, declared.get(name)) for name, part in _parts(held)}
    if columns is None:
        raise SourceError("the frame cannot be read. Collect it first, and pass a frame of pandas, Polars or Arrow.")
    return pa.table(columns)


def _parts(frame: Any) -> Iterator[tuple[str, Any]]:
    """Return the columns of a frame of narwhals, by their names.

    The named levels of an index of pandas are among them.

    `reset_index` would guess the type of a level from its rows; the levels of a MultiIndex are categories.
    """
    index: Any = getattr(frame.to_native(), "index", None)
    for level, name in enumerate(getattr(index, "names", ())):
        if name is not None and hasattr(index, "levels"):
            import pandas as pd

            yield str(name), pd.Categorical.from_codes(index.codes[level], index.levels[level])
        elif name is not None:
            yield str(name), index.to_series()
    for part in frame.iter_columns():
        yield str(part.name), part.to_native()


def _column(part: Any, declared: Declared | None) -> Any:
    """One column in Arrow; one of a type that queries cannot use stays as it is."""
    import narwhals as nw

    try:
        return arrow_of(part, "column", declared)
    except InvalidParameterError:
        return nw.from_native(part, series_only=True).to_arrow()


def _as_declared(columns: Mapping[str, Declaration], unit: str | None) -> dict[str, Declared]:
    """Return the type as which the entries of each untyped column are read.

    A unit is identified by its text.
    """
    types: dict[str, Declared] = {} if unit is None else {unit: "text"}
    for name, declaration in columns.items():
        types[name] = cast(Declared, "real" if declaration.kind is None else declaration.kind.value)
    return types


def table_name(source: Path) -> str:
    """Return the name in SQL of a file, folder or pattern."""
    stem = source.parent.name if set("*?[") & set(source.name) else source.stem
    name = "".join(letter if letter.isalnum() else "_" for letter in stem)
    return name if name and not name[0].isdigit() else f"t_{name}"
