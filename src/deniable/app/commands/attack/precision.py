"""`deniable attack precision`: what the last digits of noisy numbers reveal."""

from typing import Annotated

import typer

from deniable.app.commands.attack.membership import numbers
from deniable.app.commands.attack.owned import OwnFile, Plot, read_table
from deniable.app.commands.attack.shown import show_comparison
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture

Column = Annotated[str, typer.Option("--column", metavar="COLUMN", help="The published numbers.")]


def precision(
    file: OwnFile,
    *,
    column: Column = "answer",
    center: Annotated[
        list[float] | None,
        typer.Option("--center", metavar="NUMBER", help="A candidate for the true value; give two or more."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Say which true values cannot be behind published numbers.

    Floating-point noise cannot give them.

    Without --center, zero and powers of ten are tried. Give the numbers as precisely as they were released.

    deniable attack precision answers.csv --center 0 --center 1
    """
    from deniable.attacks import Comparison
    from deniable.attacks.implementation import CENTERS, read_precision

    check_picture(plot)
    guess = read_precision(numbers(read_table(file), column), centers=CENTERS if center is None else center)
    show_comparison(Comparison({column: guess}), plot=plot, as_json=as_json, never=(file,))
