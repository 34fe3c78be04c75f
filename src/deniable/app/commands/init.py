"""`deniable init`: a policy to fill in."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.app.terminal import hint

TEXT_FILES = (".csv", ".tsv", ".txt")


def init(
    data: Annotated[Path, typer.Argument(help="A .parquet, .csv, .tsv or .duckdb file.", show_default=False)],
    table: Annotated[str | None, typer.Option(help="The table inside a .duckdb file.")] = None,
) -> None:
    """Print a commented policy for DATA: deniable init data.parquet > policy.toml

    It holds the names and types of the columns and nothing from the rows. (A CSV file has no types: they are guessed
    from its first rows, here on the owner's side, and marked as guesses.)
    """
    from deniable.query.policy import write_policy
    from deniable.query.source import open_source

    schema = open_source(data, table=table).schema()
    guessed = data.suffix.lower() in TEXT_FILES
    if guessed:
        from deniable.query.backends.csv_types import guess_kinds

        schema = guess_kinds(data)
    typer.echo(write_policy(data, schema, table=table, guessed=guessed), nl=False)
    hint("Fill in [privacy] and [budget] and what is public about the columns; then: deniable explain policy.toml SQL")
