"""Files that DuckDB reads at a path: fixed ones, of agreed columns.

Public facts about them alone decide which these are.
"""

import glob
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from deniable.errors import CatalogError, SourceError, redacted
from deniable.files.declaration import Csv
from deniable.files.imported import facts_of_import, find_import, is_text_file
from deniable.query.engines.duckdb.expression import quoted, text
from deniable.query.engines.duckdb.views import view_source

if TYPE_CHECKING:
    import duckdb

Connect = Callable[[], "duckdb.DuckDBPyConnection"]
PARQUET = (".parquet", ".pq")
DATABASES = (".duckdb", ".db")
PATTERN = set("*?[")
ATTACHED = "private"
QUOTED = re.compile("'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"")


@dataclass(frozen=True)
class Located:
    """Source of a path.

    Args:
        source: SQL for its rows.
        paths: the files that may be read, and no others.
        name: of the data, for ever: that of the CSV file where an import is read.
        table: inside a database file.
        attach: statements to be run before the connection is locked.
    """

    source: str
    paths: tuple[Path, ...]
    name: str
    table: str | None = None
    attach: tuple[str, ...] = ()


def locate(
    path: Path,
    *,
    table: str | None = None,
    csv: Csv | None = None,
    partitions: bool = False,
    connect: Connect,
) -> Located:
    """Return the source of a path: Parquet files, or a table or view of a database.

    Args:
        table: inside a database file.
        csv: how a text file must have been imported.
        partitions: whether folders named column=value are columns too.
        connect: opens an engine, for a look at schemas.

    Raises: SourceError or CatalogError, by names and schemas alone: no row is read.
    """
    if path.is_dir() or (set(str(path)) & PATTERN and not path.exists()):
        return _parquet(path, _files(path), partitions, connect)
    if not path.is_file():
        raise SourceError(f"there is no file {redacted(path)!r}.")
    if is_text_file(path):
        return replace(_parquet(path, [find_import(path, csv)], False, connect), name=str(path))
    match path.suffix.lower():
        case suffix if suffix in PARQUET:
            located = _parquet(path, [path], partitions, connect)
            facts = facts_of_import(path)  # opened by its own name, it is still that of its source
            return located if facts is None else replace(located, name=str(path.with_name(facts["source"])))
        case suffix if suffix in DATABASES:
            return _database(path, table, connect)
        case other:
            raise SourceError(
                f"files ending in {other!r} cannot be read. Use .parquet, .csv, .tsv or .duckdb, or a folder of "
                ".parquet files."
            )


def _files(path: Path) -> list[Path]:
    """The Parquet files of a folder, of what lies in it too, or of a pattern."""
    if path.is_dir():
        files = [file for file in path.rglob("*") if file.suffix.lower() in PARQUET]
    else:
        files = [Path(name) for name in glob.glob(str(path), recursive=True)]
        for file in files:
            if file.suffix.lower() not in PARQUET:
                raise SourceError(
                    f"a pattern stands for .parquet files, but {redacted(path)!r} finds {file.name!r} too."
                )
    files = sorted(file.resolve() for file in files if file.is_file() and not file.name.startswith((".", "_")))
    if not files:
        raise SourceError(f"{redacted(path)!r} holds no .parquet file.")
    return files


def _parquet(path: Path, files: Sequence[Path], partitions: bool, connect: Connect) -> Located:
    wanted: dict[str, str] | None = None
    with connect() as connection:
        for file in files:
            schema = _schema(file, connection)
            wanted = wanted or schema
            for name in {**wanted, **schema}:
                here, there = schema.get(name), wanted.get(name)
                if here != there:
                    raise SourceError(
                        f"{redacted(file)!r} has column {name!r} as {here or 'none'}, {files[0].name!r} as "
                        f"{there or 'none'}. All files need the same columns with the same types."
                    )
    listed = ", ".join(text(str(file)) for file in files)
    options = "hive_partitioning=true, hive_types_autocast=false" if partitions else "hive_partitioning=false"
    return Located(f"read_parquet([{listed}], {options}, union_by_name=false)", tuple(files), str(path))


def _schema(file: Path, connection: "duckdb.DuckDBPyConnection") -> dict[str, str]:
    """The columns of a file with their types, from its footer."""
    import duckdb

    if set(str(file)) & PATTERN:
        raise SourceError(f"the path {redacted(file)!r} holds one of * ? [, which stand for many files. Rename it.")
    path_text = text(str(file))
    try:
        described = connection.execute(
            f"DESCRIBE SELECT * FROM read_parquet({path_text}, hive_partitioning=false)"
        ).fetchall()
        stored = connection.execute(f"SELECT name FROM parquet_schema({path_text})").fetchall()
    except duckdb.Error:
        described = stored = []
    if not described:
        raise SourceError(
            f"{redacted(file)!r} cannot be opened as a table: it is not of the format that its name says, or it is "
            "damaged. Check it with the program that wrote it."
        )
    schema = {str(row[0]): str(row[1]) for row in described}
    check_names(schema, renamed=set(schema) - {str(row[0]) for row in stored})
    return schema


def _database(path: Path, table: str | None, connect: Connect) -> Located:
    import duckdb

    attach = f"ATTACH {text(str(path))} AS {ATTACHED} (READ_ONLY)"
    try:
        with connect() as connection:
            connection.execute(attach)
            ((off,),) = connection.execute("SELECT current_setting('disabled_optimizers')").fetchall()
            here = f"WHERE database_name = '{ATTACHED}' AND schema_name = 'main'"
            tables = dict(connection.execute(f"SELECT table_name, sql FROM duckdb_tables() {here}").fetchall())
            macros = [
                str(row[0])
                for row in connection.execute(f"SELECT function_name FROM duckdb_functions() {here}").fetchall()
            ]
            views = dict(
                connection.execute(f"SELECT view_name, sql FROM duckdb_views() {here} AND NOT internal").fetchall()
            )
    except duckdb.Error:
        raise SourceError(f"{redacted(path)!r} cannot be opened as a DuckDB database.") from None
    if table is None and len(tables) + len(views) == 1:
        table = [*tables, *views][0]
    if table is None or table not in (*tables, *views):
        raise SourceError(
            f"say which table of {redacted(path)!r} is meant, with table=...: "
            f"{', '.join([*tables, *views]) or 'it has none'}."
        )
    base = f"{ATTACHED}.main"
    for name, statement in tables.items():
        if "GENERATED ALWAYS AS" in QUOTED.sub("", statement).upper() and (name == table or table in views):
            raise SourceError(
                f"the table {name!r} has a column that is computed when it is read, which other rows or chance could "
                "enter. Export the table to a file (COPY ... TO 'table.parquet'); then its rows are what is protected."
            )
    if table in tables:
        return Located(f"{base}.{quoted(table)}", (path,), str(path), table, (attach,))
    # This pass makes a join of IN with its list and runs it outside of TRY, where a row of a view may stop it.
    whole = f"SET disabled_optimizers = {text(f'{off},in_clause')}"
    return Located(
        view_source(table, views, list(tables), base, macros=macros), (path,), str(path), table, (attach, whole)
    )


def check_names(names: Iterable[str], *, renamed: Iterable[str] = ()) -> None:
    """Refuse column names that differ only by case.

    The engine would rename one of them in silence.

    Raises: CatalogError.
    """
    folded: dict[str, str] = {}
    for name in names:
        other = folded.setdefault(name.casefold(), name)
        if other != name or name in renamed:
            raise CatalogError(f"two columns are called {other!r} (in whatever case). Rename one of them.")
