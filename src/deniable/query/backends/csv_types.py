"""Types for the columns of a CSV file, guessed from its first rows. For the owner's side only: rows are read."""

from collections.abc import Mapping
from pathlib import Path

from deniable.query.backends.duckdb_csv import header_of_csv
from deniable.query.backends.duckdb_expression import KINDS, text
from deniable.query.expression import Kind


def guess_kinds(path: Path) -> Mapping[str, Kind | None]:
    """The columns in their order with the kind that the first rows suggest; text where they suggest none.

    Raises: SourceError if the first line names no columns.
    """
    import duckdb

    path = path.resolve()
    separator, names = header_of_csv(path)
    reader = (
        f"read_csv({text(str(path))}, delim={text(separator)}, header=true, quote='\"', escape='\"', "
        f"names=[{', '.join(map(text, names))}], ignore_errors=true, null_padding=true, strict_mode=false)"
    )
    with duckdb.connect() as connection:
        connection.execute(f"SET allowed_paths = [{text(str(path))}]")
        connection.execute("SET enable_external_access = false")
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()
        except duckdb.Error:  # its text may quote a row, and a guess is not worth that
            described = []
    guesses = {str(row[0]): KINDS.get(str(row[1]).split("(", 1)[0], Kind.TEXT) for row in described}
    return {name: guesses.get(name, Kind.TEXT) for name in names}
