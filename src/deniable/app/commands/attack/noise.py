"""`deniable attack noise`: how much noise keeps secrets from reconstruction.

Reads no data.
"""

from enum import Enum
from typing import Annotated

import typer

from deniable.app.commands.attack.owned import Plot, Seed
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, write_picture
from deniable.app.terminal import say, show_table, waiting


class NoiseKind(Enum):
    """Law of the noise."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"
    UNIFORM = "uniform"


def noise(
    *,
    people: Annotated[int, typer.Option(min=16, metavar="N", help="Number of people whose bits are attacked.")] = 4096,
    law: Annotated[NoiseKind, typer.Option(help="Law of the noise.")] = NoiseKind.GAUSSIAN,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Show how many secrets come back from noisy counts, as the noise grows.

    The counts are those of halves of the people.

    The noise is given in units of the square root of the people: far below 1 nearly all secrets come back, far above 1
    about half of them, as by a coin. Reads no data.

    deniable attack noise --people 4096 --plot threshold.png
    """
    from deniable.attacks import sweep_noise

    check_picture(plot)
    with waiting("attacking..."):
        sweep = sweep_noise(people=(people,), noise=law.value, seed=seed)
        if plot is not None:
            write_picture(sweep.plot(), plot)
    measured, predicted = sweep.curves
    rows = zip(measured.x.tolist(), measured.y.tolist(), predicted.y.tolist(), strict=True)
    if as_json:
        import json

        points = [{"noise": x, "share": y, "predicted": expected} for x, y, expected in rows]
        typer.echo(json.dumps({**sweep.to_data(), "points": points}, indent=2))
        return
    header = ("noise / sqrt(people)", "came back", "predicted")
    show_table(header, [(f"{x:.3f}", f"{y:.1%}", f"{z:.1%}") for x, y, z in rows], right=frozenset(header))
    say(sweep.sentence)
