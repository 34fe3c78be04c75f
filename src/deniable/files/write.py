"""Import of a CSV file into a typed, columnar file, with a report.

The report names every line that was not read whole.

The owner does this once, before any question. The imported file is the table that is protected: its shape and types
follow from the declaration alone, each value from its own field.
"""

import csv as plain_csv
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from deniable.errors import SourceError, redacted
from deniable.files.casts import cast, given
from deniable.files.declaration import Csv
from deniable.files.imported import KEY, facts_of_import, path_of_import, stamp
from deniable.files.lines import Block, CsvRows, decoded, header

if TYPE_CHECKING:
    import pyarrow as pa

SHOWN = 12  # kinds of losses in a summary


@dataclass(frozen=True)
class Import:
    """Exact report of an import, for the owner of the data alone.

    `losses` counts by column ("" for whole lines) and reason; every one has its line in the report.
    """

    source: Path
    path: Path
    report: Path
    rows: int
    losses: Mapping[tuple[str, str], int] = field(default_factory=dict)

    def __str__(self) -> str:
        lines = [f"{self.rows:,} rows of {self.source.name} imported to {self.path.name}"]
        if not self.losses:
            return f"{lines[0]}; nothing was lost"
        for (column, reason), count in sorted(self.losses.items(), key=lambda loss: -loss[1])[:SHOWN]:
            lines.append(f"{count:,} x {column + ': ' if column else ''}{reason}")
        if len(self.losses) > SHOWN:
            lines.append("...")
        return "\n".join([*lines, f"each with its line in {self.report.name}: for the owner alone, as is this summary"])

    __repr__ = __str__


def import_csv(source: str | Path, csv: Csv, *, progress: Callable[[float], object] | None = None) -> Import:
    """Import a CSV file as declared.

    A typed file and a report are written beside it, in place of older ones.

    Args:
        source: the path of the file.
        csv: how it is read; `guess_csv(source)` proposes it.
        progress: called with the share of the file that is read, block by block.

    Both files are whole or not there, and can be read by their owner alone.
    Raises: SourceError if the file cannot be read, does not fit the declaration, or changes meanwhile.

    >>> import deniable as dn
    >>> file = dn.datasets.path("visits.csv")
    >>> report = dn.import_csv(file, dn.guess_csv(file))
    """
    source = Path(source).resolve()
    imported = path_of_import(source)
    report_path = source.with_name(source.name + ".report.csv")
    if imported.exists() and facts_of_import(imported) is None:
        raise SourceError(
            f"{redacted(imported)!r} exists and is not an import of ours. Move it away: the import belongs there."
        )
    with ExitStack() as stack:
        try:
            file = stack.enter_context(source.open("rb"))
            before = stamp(source)
            draft = stack.enter_context(_draft(imported))
            report = stack.enter_context(_draft(report_path))
        except OSError as error:
            raise SourceError(f"{redacted(source)!r} cannot be imported ({error.strerror}).") from None
        names = header(file, csv)
        _check_names(source, names, csv)
        losses = stack.enter_context(_Losses(report))
        with _Writer(draft, names, csv, losses) as writer:
            for block in CsvRows(csv, names, losses.record_line).blocks(decoded(file, csv)):
                writer.write(block)
                if progress is not None:
                    progress(min(1.0, file.tell() / max(1, before[0])))
            if stamp(source) != before:
                raise SourceError(f"{source.name!r} was changed while it was imported. Import it again.")
            done = Import(source, imported, report_path, writer.rows, dict(losses.counts))
            writer.state(_facts(done, csv, before))
        losses.close()
        _publish(report, report_path)
        _publish(draft, imported)
    return done


def _check_names(source: Path, names: tuple[str, ...], csv: Csv) -> None:
    """Refuse what is said of a column that is not there.

    An expression over columns says nothing here.
    """
    for name, column in csv.columns.items():
        is_expression = not re.fullmatch(r"\w+", name) and column.format is None and column.sign is None
        if name not in names and not is_expression:
            raise SourceError(f"{source.name!r} has no column {name!r}. Its columns: {', '.join(names)}.")


def _facts(done: Import, csv: Csv, stamped: list[int]) -> dict[str, Any]:
    size, mtime = stamped
    losses = [[column, reason, count] for (column, reason), count in done.losses.items()]
    return {
        "source": done.source.name,
        "size": size,
        "mtime": mtime,
        "declaration": csv.fingerprint,
        "rows": done.rows,
        "losses": losses,
    }


class _Losses:
    """Counts what is lost and writes a line about each."""

    def __init__(self, path: Path) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self._file: IO[str] = path.open("w", encoding="utf-8", newline="")
        self._writer = plain_csv.writer(self._file)
        self._writer.writerow(("line", "column", "what was lost"))

    def record_line(self, line: int, column: str, reason: str) -> None:
        self.counts[column, reason] += 1
        self._writer.writerow((line, column, reason))

    def record_lines(self, lines: "np.ndarray[Any, Any]", column: str, reason: str) -> None:
        self.counts[column, reason] += len(lines)
        self._writer.writerows((line, column, reason) for line in lines.tolist())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> "_Losses":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Writer:
    """Casts blocks of text and appends them to a Parquet file."""

    def __init__(self, path: Path, names: tuple[str, ...], csv: Csv, losses: _Losses) -> None:
        import duckdb
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.rows = 0
        self._csv, self._losses = csv, losses
        self._names = {f"c{index}": name for index, name in enumerate(names)}  # which may be any text
        self._connection = duckdb.connect(":memory:")
        for setting in ("TimeZone = 'UTC'", "enable_external_access = false", "lock_configuration = true"):
            self._connection.execute(f"SET {setting}")
        self._typed = {plain: csv.column(name) for plain, name in self._names.items() if name in csv.columns}
        types = {
            "text": pa.string(),
            "integer": pa.int64(),
            "real": pa.float64(),
            "boolean": pa.bool_(),
            "date": pa.date32(),
            "timestamp": pa.timestamp("us"),
        }
        self._schema = pa.schema([(name, types[csv.column(name).type]) for name in names])
        # Without statistics: they would tell about single rows, and no question may look at them.
        self._parquet = pq.ParquetWriter(path, self._schema, compression="zstd", write_statistics=False)

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._parquet.close()
        self._connection.close()

    def state(self, facts: Mapping[str, Any]) -> None:
        """Store what the file says about itself."""
        self._parquet.add_key_value_metadata({KEY: json.dumps(facts).encode()})

    def write(self, block: Block) -> None:
        from pyarrow.compute import indices_nonzero

        if not block.data:
            return
        text = text_columns(block, list(self._names), self._csv)
        values, bad = [], []
        for plain in self._names:
            value = given(plain, self._csv)
            values.append(f"{value} AS {plain}_given")
            column = self._typed.get(plain)
            if column is not None and column.type != "text":
                values.append(f"{cast(plain + '_given', column, self._csv)} AS {plain}_value")
                bad.append(plain)
        chosen = [f"{plain}_{'value' if plain in bad else 'given'} AS {plain}" for plain in self._names]
        chosen += [f"({plain}_given IS NOT NULL AND {plain}_value IS NULL) AS {plain}_bad" for plain in bad]
        self._connection.register("block", text)
        table = self._connection.sql(
            f"SELECT {', '.join(chosen)} FROM (SELECT {', '.join(values)} FROM block)"
        ).to_arrow_table()
        self._connection.unregister("block")
        for plain in bad:
            unreadable = indices_nonzero(table.column(f"{plain}_bad"))
            if len(unreadable):
                name = self._names[plain]
                self._losses.record_lines(
                    block.lines[unreadable.to_numpy()], name, f"cannot be read as {_said(self._csv, name)}"
                )
        typed = table.select(list(self._names)).rename_columns(list(self._names.values())).cast(self._schema)
        self._parquet.write_table(typed)
        self.rows += len(block.lines)


def text_columns(block: Block, names: list[str], csv: Csv) -> "pa.Table":
    """Return the fields as text, empty ones too."""
    import pyarrow as pa
    import pyarrow.csv as pc

    table = pc.read_csv(
        pa.BufferReader(block.data),
        read_options=pc.ReadOptions(column_names=names, block_size=len(block.data) + 1),
        parse_options=pc.ParseOptions(
            delimiter=csv.delimiter,
            quote_char=csv.quote or False,
            newlines_in_values=block.multiline,
            ignore_empty_lines=False,
        ),
        convert_options=pc.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False, check_utf8=False
        ),
    )
    assert len(table) == len(block.lines)
    return table


def _said(csv: Csv, name: str) -> str:
    column = csv.column(name)
    return column.type if column.format is None else f"{column.type} {column.format}"


@contextmanager
def _draft(path: Path) -> Iterator[Path]:
    """Return a file beside `path` that only its owner can read.

    Removed at the end, unless it was published.
    """
    handle, name = tempfile.mkstemp(prefix=".deniable-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _publish(draft: Path, path: Path) -> None:
    """Give the file its name, once it is on disk."""
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    os.replace(draft, path)
    if os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
