"""`deniable attack synthetic`: what synthetic rows reveal about people."""

from pathlib import Path
from typing import Annotated

import typer

from deniable.app.commands.attack.owned import Plot, Seed, read_table
from deniable.app.commands.attack.shown import show_comparison
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture
from deniable.app.terminal import waiting


def synthetic(
    original: Annotated[Path, typer.Argument(metavar="ORIGINAL", help="Your table, from which rows were synthesised.")],
    synthetic: Annotated[Path, typer.Argument(metavar="SYNTHETIC", help="The synthetic rows; its columns are used.")],
    control: Annotated[Path, typer.Argument(metavar="CONTROL", help="People whom the synthesiser has not seen.")],
    *,
    attacks: Annotated[int, typer.Option(min=1, metavar="N", help="Attempts of each attack at most.")] = 500,
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Single out, link and infer people of a table through synthetic rows.

    Beside them stand people who were never in it.

    What succeeds as often on the control is knowledge of the population. The rest is the residual risk.

    deniable attack synthetic patients.csv synthetic.csv control.csv --plot risks.png
    """
    from deniable.attacks import measure_synthetic_risk

    check_picture(plot)
    with waiting("singling out, linking and inferring..."):
        tables = [read_table(file) for file in (original, synthetic, control)]
        comparison = measure_synthetic_risk(*tables, attacks=attacks, seed=seed)
    show_comparison(comparison, plot=plot, as_json=as_json, never=(original, synthetic, control))
