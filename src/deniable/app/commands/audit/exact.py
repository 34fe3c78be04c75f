"""`deniable audit exact`: the exact epsilon of a function that returns a law."""

from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from deniable.app.commands.audit.function import find_function, read_pairs
from deniable.app.commands.audit.shown import Delta, Epsilon, Plot, show_audit
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture


class Neighbours(Enum):
    """Neighbouring relation of the tables of a universe."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"


def exact(
    name: Annotated[
        str,
        typer.Argument(
            metavar="MODULE:FUNCTION",
            help="A function from a table to {output: probability}; modules of this folder are found.",
            show_default=False,
        ),
    ],
    *,
    values: Annotated[
        str, typer.Option(metavar="A,B,...", help="What a row may be: whole numbers, decimals or words.")
    ] = "0,1",
    rows: Annotated[int, typer.Option(min=0, metavar="N", help="Rows of the largest table.")] = 3,
    min_rows: Annotated[int, typer.Option("--least", min=0, metavar="N", help="Rows of the smallest table.")] = 0,
    relation: Annotated[Neighbours, typer.Option(help="How neighbouring tables differ.")] = Neighbours.ADD_REMOVE,
    neighbours: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Pairs in place of all those tables, as JSON: [[data, neighbour], ...]."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = "0",
    as_json: AsJson = False,
    plot: Plot = None,
) -> None:
    """Compute epsilon of a function that returns probabilities.

    All small tables and all sets of outputs are tried.

    Tables are tuples of sorted rows. Probabilities are whole numbers, Fractions or texts such as "1/3". The exit code
    is 4 if the claim is false.

    deniable audit exact mymodule:response --values no,yes --rows 1 --least 1 --relation replace --epsilon 1
    """
    from deniable.audit import measure_exactly
    from deniable.audit.universe import Universe
    from deniable.privacy import AddRemove, Replace

    check_picture(plot)
    law = find_function(name)
    if neighbours is not None:
        result = measure_exactly(law, list(read_pairs(neighbours).values()), epsilon=epsilon, delta=delta)
    else:
        universe = Universe(values=tuple(map(read_value, values.split(","))), rows=rows, min_rows=min_rows)
        between = AddRemove if relation is Neighbours.ADD_REMOVE else Replace
        result = measure_exactly(law, universe, relation=between, epsilon=epsilon, delta=delta)
    show_audit(result, plot=plot, as_json=as_json, never=() if neighbours is None else (neighbours,))


def read_value(text: str) -> int | float | str:
    """Return a row as it is written: a whole number, a decimal, or a word."""
    try:
        number = Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        return text.strip()
    return int(number) if number.denominator == 1 else float(number)
