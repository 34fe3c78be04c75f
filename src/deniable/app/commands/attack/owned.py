"""Exact reader of the steward's own file.

It serves attacks that the steward tries, never a release.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from deniable.errors import InvalidParameterError, SourceError, redacted

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

OwnFile: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FILE", help="Your own table, .csv or .parquet; one row a person.", show_default=False)
]
Plot: TypeAlias = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw the outcome: .png, .svg or .pdf.")
]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the attacker's dice.")]
READERS = {".csv": "read_csv", ".parquet": "read_parquet"}


def read_secrets(file: Path, condition: str, *, people: int | None = None) -> "NDArray[np.bool_]":
    """Whether the condition holds for each row of the file.

    Where it is NULL it does not hold, as in WHERE.

    Args:
        condition: one SQL expression over the columns of the file.
        people: take this many rows alone, evenly spaced.

    Raises: SourceError if the file cannot be read, InvalidParameterError if the text is not a condition on a row.
    """
    import duckdb
    import numpy as np

    with _opened(file) as connection:
        rows = connection.table("people")
        names = ", ".join(rows.columns)
        try:
            holds = _evaluated(rows, condition)
        except duckdb.Error as error:
            raise InvalidParameterError(
                f"--secret {condition!r} is not a condition on the columns {names} ({type(error).__name__})."
            ) from None
    if holds is None:
        raise InvalidParameterError(
            f"--secret must be one condition that is true or false for a row, got {condition!r}. Columns: {names}."
        )
    if len(holds) < 2:
        raise InvalidParameterError("an attack needs at least two people; the file has fewer rows.")
    taken = len(holds) if people is None else min(people, len(holds))
    return holds[np.arange(taken) * len(holds) // taken]


def read_conditions(file: Path, conditions: "Sequence[str]") -> "NDArray[np.bool_]":
    """Whether each condition holds for each row of the file, shape (conditions, rows).

    Raises: as `read_secrets`; the message names the place of the condition.
    """
    import duckdb
    import numpy as np

    with _opened(file) as connection:
        rows = connection.table("people")
        matrix = np.empty((len(conditions), len(rows)), dtype=bool)
        for index, condition in enumerate(conditions):
            try:
                holds = _evaluated(rows, condition)
            except duckdb.Error:
                holds = None
            if holds is None:
                raise InvalidParameterError(
                    f"the condition {condition!r} is not true or false for a row. "
                    f"The columns are {', '.join(rows.columns)}."
                )
            matrix[index] = holds
    return matrix


def _evaluated(rows: "duckdb.DuckDBPyRelation", condition: str) -> "NDArray[np.bool_] | None":
    """Whether the condition holds for each row, not where it is NULL.

    None if it is not true or false for a row.

    Raises: duckdb.Error if it is not one expression over the columns.
    """
    import duckdb
    import numpy as np

    selected = rows.select(duckdb.SQLExpression(condition).alias("told"))
    if [str(kind) for kind in selected.types] != ["BOOLEAN"]:
        return None
    column: NDArray[np.bool_] = np.ma.filled(selected.fetchnumpy()["told"], False)
    return column if len(column) == len(rows) else None


def read_table(file: Path) -> "pa.Table":
    """Return the whole file as a table of Arrow.

    Raises: SourceError if it cannot be read.
    """
    with _opened(file) as connection:
        return connection.table("people").to_arrow_table()


def _opened(file: Path) -> "duckdb.DuckDBPyConnection":
    """Open a connection with the file as the table `people`, and no other file."""
    import duckdb

    reader = READERS.get(file.suffix.lower())
    if reader is None:
        raise SourceError(f"{redacted(file)!r} must be a file that ends in {' or '.join(READERS)}.")
    if not file.is_file():
        raise SourceError(f"there is no file {redacted(file)!r}.")
    connection = duckdb.connect()
    try:
        connection.execute(f"CREATE TABLE people AS SELECT * FROM {reader}(?)", [str(file)])  # noqa: S608
        connection.execute("SET enable_external_access = false")
    except duckdb.Error as error:
        connection.close()
        raise SourceError(f"{redacted(file)!r} cannot be read ({type(error).__name__}).") from None
    return connection
