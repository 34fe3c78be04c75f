"""`deniable init`: a policy to fill in."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.terminal import hint

if TYPE_CHECKING:
    from deniable.app.draft import Found


def init(
    data: Annotated[
        list[Path],
        typer.Argument(
            help="A .parquet, .csv, .tsv or .duckdb file, or a folder or pattern of .parquet files; one or several.",
            show_default=False,
        ),
    ],
    table: Annotated[str | None, typer.Option(help="The table or view inside a .duckdb file.")] = None,
) -> None:
    """Print a commented policy for DATA: deniable init data.parquet > policy.toml

    It holds the names and types of the columns and nothing from the rows. (A CSV file has no types: they are guessed
    from its values, as are its encoding, marks and formats, here on the owner's side, and marked as guesses.)
    """
    from deniable.app.draft import write_policy
    from deniable.rows.csv.imported import is_text_file

    found = [_found(source, table) for source in data]
    typer.echo(write_policy(*found), nl=False)
    if any(is_text_file(source) for source in data):
        hint("Check [csv] and the types, fill in [privacy] and [budget]; then: deniable import policy.toml")
    else:
        hint("Fill in [privacy] and [budget] and what is public of columns; then: deniable explain policy.toml SQL")


def _found(data: Path, table: str | None) -> "Found":
    from deniable.app.draft import Found
    from deniable.query.expression import Kind
    from deniable.rows.csv.imported import is_text_file

    if is_text_file(data):
        from deniable.rows.csv.guess import propose

        proposal = propose(data)
        schema = {name: Kind(proposal.csv.column(name).type) for name in proposal.columns}
        return Found(data, schema, proposal=proposal)
    from deniable.query.source import open_source

    engine = open_source(data, table=table)
    return Found(data, engine.schema(), engine.table)
