"""Imported file beside a CSV file, and whether it is the declared one."""

import json
from pathlib import Path
from typing import Any

from deniable.errors import SourceError, redacted
from deniable.files.casts import text
from deniable.files.declaration import Csv

TEXT_FILES = (".csv", ".tsv", ".txt")
KEY = "deniable.import"
HOW = "Import it: `deniable import POLICY`, or dn.import_csv({name!r}, dn.guess_csv({name!r})) in Python."


def is_text_file(path: Path) -> bool:
    """Whether a file has to be imported, by its name."""
    return path.suffix.lower() in TEXT_FILES


def path_of_import(source: Path) -> Path:
    """Return the imported file, beside its source."""
    return source.with_name(source.name + ".parquet")


def facts_of_import(imported: Path) -> dict[str, Any] | None:
    """Return the metadata of an imported file; None if it is not one of ours.

    Reads no row.
    """
    import duckdb

    with duckdb.connect(":memory:") as connection:
        try:
            # constants and no parameters, for which DuckDB looks for pandas
            row = connection.execute(
                f"SELECT decode(value) FROM parquet_kv_metadata({text(str(imported))}) WHERE decode(key) = {text(KEY)}"
            ).fetchone()
            facts: dict[str, Any] | None = None if row is None else json.loads(str(row[0]))
        except (duckdb.Error, ValueError):
            facts = None
    return facts


def find_import(source: Path, csv: Csv | None = None) -> Path:
    """Return the imported file of `source`, if it is as new as the source.

    A declaration that is given must be its own too.

    Raises: SourceError that says how to make it.
    """
    imported = path_of_import(source)
    how = HOW.format(name=source.name)
    if not source.is_file():
        raise SourceError(f"there is no file {redacted(source)!r}.")
    if not imported.exists():
        raise SourceError(f"{source.name!r} is text, which its owner imports once, before any question. {how}")
    facts = facts_of_import(imported)
    if facts is None:
        raise SourceError(
            f"{imported.name!r} is where the import of {source.name!r} belongs, but is none. Move it away."
        )
    if [facts["size"], facts["mtime"]] != stamp(source):
        raise SourceError(f"{source.name!r} was changed after it had been imported. {how}")
    if csv is not None and facts["declaration"] != csv.fingerprint:
        raise SourceError(f"{source.name!r} was imported as another declaration says. {how}")
    return imported


def stamp(source: Path) -> list[int]:
    """Return size and time of change of a file."""
    status = source.stat()
    return [status.st_size, status.st_mtime_ns]
