"""`deniable init`: a policy to fill in."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from deniable.app.terminal import hint, printable

if TYPE_CHECKING:
    from deniable.app.draft import Found
    from deniable.query.engines.runner import Described, StatementRunner


def init(
    data: Annotated[
        list[str],
        typer.Argument(
            help="A .parquet, .csv, .tsv or .duckdb file, or a folder or pattern of .parquet files; one or several. "
            "Or the address of a PostgreSQL server, postgresql://host/database; or spark, for a session's catalogue.",
            show_default=False,
        ),
    ],
    table: Annotated[
        str | None,
        typer.Option(help="The table or view inside a .duckdb file; or on a server or in Spark, schema.table."),
    ] = None,
) -> None:
    """Print a commented policy for DATA: deniable init data.parquet > policy.toml

    It holds the names and types of the columns and nothing from the rows. (A CSV file has no types: they are guessed
    from its values, as are its encoding, marks and formats, here on the owner's side, and marked as guesses.)

    Of a server, or of Spark, it holds what the catalogue says, keys and comments too; without --table, all tables that
    you may read.
    Leave the password to PGPASSWORD or ~/.pgpass: it is not printed, nor are user and options of the address.
    """
    from deniable.app.draft import write_policy
    from deniable.files.imported import is_text_file

    tables = [each for source in data for each in _tables_of(source, table)]
    typer.echo(write_policy(*tables), nl=False)
    if any(is_text_file(Path(source)) for source in data):
        hint("Check [csv] and the types, fill in [privacy] and [budget]; then: deniable import policy.toml")
    else:
        hint("Fill in [privacy] and [budget] and what is public of columns; then: deniable explain policy.toml SQL")


def _tables_of(data: str, table: str | None) -> "list[Found]":
    from deniable.app.draft import Found
    from deniable.files.imported import is_text_file
    from deniable.query.engines.runner import is_remote
    from deniable.query.expression import Kind

    if is_remote(data):
        return _server_tables(data, table)
    path = Path(data)
    if is_text_file(path):
        from deniable.files.guess import propose

        proposal = propose(path)
        schema = {name: Kind(proposal.csv.column(name).type) for name in proposal.columns}
        return [Found(path, schema, proposal=proposal)]
    from deniable.query.source import open_source

    engine = open_source(data, table=table)
    return [Found(path, engine.schema(), engine.table)]


def _server_tables(url: str, table: str | None) -> "list[Found]":
    """Return a table of a server, or all that can be asked, and why others cannot."""
    from deniable.app.draft import Found
    from deniable.errors import SourceError, redacted
    from deniable.query.source import runner_of

    describe, readable = _catalogue(url)
    if redacted(url).endswith("..."):
        raise SourceError("the address cannot be told apart from a password. Write it as postgresql://host/database.")
    tables, refused = [], []
    for name in readable() if table is None else [table]:
        try:
            runner = cast("StatementRunner", runner_of(url, name))
        except SourceError as error:
            if table is not None:
                raise
            refused.append(str(error))
            continue
        said = describe(runner)
        tables.append(
            Found(redacted(url), runner.schema(), name, notes=said.notes, about=said.comments, keys=said.labels)
        )
    if not tables:
        raise SourceError(refused[0])
    for why in refused:
        typer.echo(printable(f"left out: {why}"), err=True)
    return tables


def _catalogue(source: str) -> "tuple[Callable[[Any], Described], Callable[[], list[str]]]":
    """Return two functions of a server or of Spark: describe a table, list all tables."""
    from deniable.query.engines.runner import SPARK

    if source == SPARK:
        from deniable.query.engines.spark import described as spark

        return spark.describe, spark.readable
    from deniable.query.engines.postgres import described as postgres

    return postgres.describe, partial(postgres.readable, source)
