"""`deniable attack uniqueness`: how many people a few columns single out."""

from typing import Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, read_table
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, show_result
from deniable.app.terminal import waiting

Columns = Annotated[str, typer.Option(metavar="NAME,...", help="What others know of a person, such as zip,birth,sex.")]


def uniqueness(
    file: OwnFile,
    *,
    columns: Columns,
    cells: Annotated[
        float | None, typer.Option(min=1, metavar="N", help="Possible combinations, to compare with equal chances.")
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Count the people whose combination of values nobody else has.

    deniable attack uniqueness patients.csv --columns zip,birth,sex
    """
    from deniable.attacks import measure_uniqueness

    check_picture(plot)
    with waiting("counting..."):
        uniques = measure_uniqueness(read_table(file), names_of(columns), cells=cells)
    show_result(uniques, as_json=as_json, plot=plot, never=(file,))


def names_of(columns: str) -> list[str]:
    """Return the names between commas."""
    return [name.strip() for name in columns.split(",")]
