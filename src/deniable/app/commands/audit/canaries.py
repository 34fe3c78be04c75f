"""`deniable audit canaries`: what one run with canaries shows about epsilon."""

from typing import Annotated

import typer

from deniable.app.commands.attack.membership import numbers
from deniable.app.commands.attack.owned import OwnFile, read_table
from deniable.app.commands.audit.shown import Delta, Epsilon, show_audit
from deniable.app.options import AsJson


def canaries(
    file: OwnFile,
    *,
    score: Annotated[
        str, typer.Option(metavar="COLUMN", help="Scores from the output alone; higher means rather included.")
    ] = "score",
    included: Annotated[
        str, typer.Option(metavar="COLUMN", help="The coins: whether the canary was in the data.")
    ] = "included",
    epsilon: Epsilon = None,
    delta: Delta = "0",
    confidence: Annotated[float, typer.Option(metavar="NUMBER", help="Probability that the bound holds.")] = 0.95,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="bets, or a number of right guesses: count, gaussian (Gaussian mechanisms only), claim.",
        ),
    ] = "bets",
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of the dice that order equal scores.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Bound epsilon by one run on data with canaries.

    A fair coin of its own put each canary in or left it out.

    The file has a row for each canary. The exit code is 4 if the claim is false, 5 if none could be.

    deniable audit canaries scores.csv --epsilon 8 --delta 1e-5
    """
    from deniable.audit import audit_one_run

    table = read_table(file)
    result = audit_one_run(
        numbers(table, score),
        numbers(table, included),
        epsilon=epsilon,
        delta=delta,
        confidence=confidence,
        method=method,  # type: ignore[arg-type]  # the audit says which there are
        seed=seed,
    )
    show_audit(result, plot=None, as_json=as_json)
