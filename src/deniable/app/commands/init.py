"""`deniable init`: a policy to fill in."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.app.terminal import hint


def init(
    data: Annotated[
        Path,
        typer.Argument(
            help="A .parquet, .csv, .tsv or .duckdb file, or a folder or pattern of .parquet files.", show_default=False
        ),
    ],
    table: Annotated[str | None, typer.Option(help="The table or view inside a .duckdb file.")] = None,
) -> None:
    """Print a commented policy for DATA: deniable init data.parquet > policy.toml

    It holds the names and types of the columns and nothing from the rows. (A CSV file has no types: they are guessed
    from its values, as are its encoding, marks and formats, here on the owner's side, and marked as guesses.)
    """
    from deniable.query.imports.imported import is_text_file
    from deniable.query.policy import write_policy

    if is_text_file(data):
        from deniable.query.imports.guess import propose

        proposal = propose(data)
        schema = {name: proposal.csv.column(name).kind for name in proposal.columns}
        typer.echo(write_policy(data, schema, proposal=proposal), nl=False)
        hint("Check [csv] and the types, fill in [privacy] and [budget]; then: deniable import policy.toml")
        return
    from deniable.query.source import open_source

    engine = open_source(data, table=table)
    typer.echo(write_policy(data, engine.schema(), table=engine.table), nl=False)
    hint("Fill in [privacy] and [budget] and what is public about the columns; then: deniable explain policy.toml SQL")
