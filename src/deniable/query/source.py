"""From what the owner has in hand (a frame, a file) to an engine that holds it."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deniable.errors import SourceError
from deniable.ledger import Source
from deniable.query.backends.base import Engine

if TYPE_CHECKING:
    import pyarrow as pa

LATER = ("postgresql://", "postgres://", "spark://")


def open_source(
    source: object, *, table: str | None = None, memory: str | None = None, threads: int | None = None
) -> Engine:
    """An engine over a dataframe (pandas, Polars, Arrow) or a file (.parquet, .csv, .tsv, .duckdb).

    Raises: SourceError if it is neither, or cannot be opened.
    """
    from deniable.query.backends.duckdb import DuckDBEngine

    if isinstance(source, str) and source.startswith(LATER):
        raise SourceError("PostgreSQL and Spark are not supported yet. Export the table to Parquet and give its path.")
    if isinstance(source, str | Path):
        return DuckDBEngine.from_file(Path(source).resolve(), table=table, memory=memory, threads=threads)
    return DuckDBEngine.from_arrow(_to_arrow(source), memory=memory, threads=threads)


def noted(engine: Engine, source: object) -> Source:
    """What a ledger notes about a source: its place, the table in it, and its columns. Nothing of the rows."""
    columns = {name: "other" if kind is None else kind.value for name, kind in engine.schema().items()}
    path = str(Path(source).resolve()) if isinstance(source, str | Path) else None
    return Source(path=path, table=engine.table, columns=columns)


def _to_arrow(frame: object) -> "pa.Table":
    """The frame as an Arrow table. The frame's own errors may quote a value, so they are not passed on."""
    import narwhals as nw
    import pyarrow as pa

    if isinstance(frame, pa.Table):
        return frame
    try:
        narwhal = nw.from_native(cast(Any, frame))
    except TypeError:
        kind = type(frame).__name__
        raise SourceError(
            f"a source is a dataframe (pandas, Polars, Arrow) or the path of a file, got {kind}."
        ) from None
    arrow: pa.Table | None = None
    with suppress(Exception):  # raised below, outside of this block, so that no value is attached to it
        arrow = (narwhal.collect() if isinstance(narwhal, nw.LazyFrame) else narwhal).to_arrow()
    if arrow is None:
        raise SourceError(
            "the frame cannot be turned into typed columns. Give every column one type (a column of mixed numbers and "
            "text: frame[column].astype(str))."
        )
    return arrow
