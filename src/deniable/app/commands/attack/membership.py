"""`deniable attack membership`: who was in the training data, from attack scores."""

from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, Seed, read_table
from deniable.app.commands.attack.shown import show_comparison
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture
from deniable.errors import InvalidParameterError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

Rate = Annotated[float, typer.Option("--rate", metavar="SHARE", help="Strangers who may be called members.")]


def membership(
    file: OwnFile,
    *,
    score: Annotated[str, typer.Option(metavar="COLUMN", help="Scores; a higher one means a member.")] = "score",
    member: Annotated[str, typer.Option(metavar="COLUMN", help="Whether the person was in the data.")] = "member",
    rate: Rate = 0.01,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Count how many members an attack finds at a low false-positive rate.

    It finds them by its scores.

    The threshold comes from one half of the strangers; the other half tests it. The picture is the whole curve.

    deniable attack membership scores.csv --rate 0.001 --plot curve.png
    """
    from deniable.attacks import Comparison, infer_membership

    check_picture(plot)
    table = read_table(file)
    inside, scores = read_members(table, member), numbers(table, score)
    inference = infer_membership(scores[inside], scores[~inside], false_positive_rate=rate, seed=seed)
    show_comparison(
        Comparison({f"scores at a rate of {rate:.3g}": inference}),
        plot=plot,
        as_json=as_json,
        never=(file,),
        drawn=inference,
    )


def read_members(table: "pa.Table", name: str) -> "NDArray[np.bool_]":
    """Return a column of true and false, or 1 and 0, that has both."""
    inside = numbers(table, name)
    if set(inside.tolist()) != {0, 1}:
        raise InvalidParameterError(f"column {name!r} must be true for members and false for strangers, and have both.")
    return inside.astype(bool)


def numbers(table: "pa.Table", name: str) -> "NDArray[np.float64]":
    """Return a column of numbers without missing values."""
    import pyarrow as pa

    if name not in table.column_names:
        raise InvalidParameterError(f"no column {name!r}. Columns: {', '.join(table.column_names)}.")
    column = table.column(name)
    try:
        cast = column.cast(pa.int8() if pa.types.is_boolean(column.type) else pa.float64())
    except pa.ArrowInvalid:
        raise InvalidParameterError(f"column {name!r} must be numbers.") from None
    if cast.null_count:
        raise InvalidParameterError(f"column {name!r} has missing values. Leave these rows out.")
    values: NDArray[np.float64] = cast.to_numpy().astype(float)
    return values
