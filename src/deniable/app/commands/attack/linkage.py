"""`deniable attack linkage`: names for the rows of a table, from a public roll."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, read_table
from deniable.app.commands.attack.uniqueness import Columns, names_of
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, show_result
from deniable.app.terminal import waiting
from deniable.errors import InvalidParameterError


def linkage(
    file: OwnFile,
    *,
    roll: Annotated[Path, typer.Option(metavar="FILE", help="Public table with names, .csv or .parquet.")],
    columns: Columns,
    name: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the roll that names people.")],
    truth: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of your own file with the right names, to check.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Join a table without names with a public roll.

    A person is named where a combination of values stands once in both.

    deniable attack linkage patients.csv --roll voters.csv --columns zip,birth,sex --name voter
    """
    from deniable.attacks import link_tables

    check_picture(plot)
    with waiting("joining..."):
        released, public = read_table(file), read_table(roll)
        if truth is not None and truth not in released.column_names:
            raise InvalidParameterError(
                f"--truth {truth!r} is not a column; there are {', '.join(released.column_names)}."
            )
        right = None if truth is None else released[truth].to_pylist()
        links = link_tables(released, public, columns=names_of(columns), name=name, truth=right)
    show_result(links, as_json=as_json, plot=plot, never=(file, roll))
