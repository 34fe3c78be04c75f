"""`deniable attack reconstruction`: secret bits from counts of groups, then the same against private counts."""

import json
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, Seed, read_secrets
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture, write_picture
from deniable.app.terminal import say, waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deniable.attacks import Answerer, Subsets


class Method(Enum):
    """How the attacker solves for the secrets."""

    LEAST_SQUARES = "least-squares"
    LINEAR_PROGRAM = "linear-program"


def reconstruction(
    file: OwnFile,
    *,
    secret: Annotated[
        str, typer.Option(metavar="CONDITION", help='What nobody should learn about a person, such as "affairs > 0".')
    ],
    people: Annotated[
        int | None,
        typer.Option(min=2, metavar="N", help="Attack N rows alone, evenly spaced; a linear program takes 500."),
    ] = None,
    method: Annotated[Method, typer.Option(help="How the attacker solves for the secrets.")] = Method.LEAST_SQUARES,
    base: Annotated[
        int, typer.Option("--round", min=1, metavar="N", help="Also attack counts rounded to multiples of this.")
    ] = 10,
    below: Annotated[
        int, typer.Option("--suppress", min=1, metavar="N", help="Also attack counts withheld below this.")
    ] = 10,
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="What all the private answers may cost together.")
    ] = "1",
    seed: Seed = 0,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Ask how many of random groups have a secret, and compute from the answers who has it.

    The same questions go to exact, suppressed, rounded and private counts of your own file. It shows the share of
    people whose secret came out right, beside the share that a guess gets. The answers are not released.

    deniable attack reconstruction patients.csv --secret "diagnosis = 'HIV'" --plot outcome.png
    """
    from deniable.attacks import (
        Comparison,
        answer_exactly,
        answer_rounded,
        answer_unless_small,
        attack_by_reconstruction,
        estimate_by_least_squares,
        estimate_by_linear_program,
    )

    check_picture(plot)
    private_counts = answer_privately(epsilon)
    if people is None and method is Method.LINEAR_PROGRAM:
        people = 500
    with waiting("asking and solving..."):
        bits = read_secrets(file, secret, people=people)
        solve = estimate_by_least_squares if method is Method.LEAST_SQUARES else estimate_by_linear_program
        answerers = {
            "exact counts": answer_exactly(bits),
            f"suppressed below {below}": answer_unless_small(bits, below=below),
            f"rounded to {base}": answer_rounded(bits, base=base),
            f"private, epsilon={epsilon}": private_counts(bits),
        }
        found = Comparison(
            {name: attack_by_reconstruction(one, bits, estimate=solve, seed=seed) for name, one in answerers.items()}
        )
        if plot is not None:
            write_picture(found.plot(), plot, never=(file,))
    if as_json:
        typer.echo(json.dumps({name: result.to_data() for name, result in found.items()}, indent=2))
        return
    say(str(found))
    for name, result in found.items():
        say(f"\n{name}: {result.sentence}")


def answer_privately(epsilon: str) -> "Callable[[NDArray[np.bool_]], Answerer]":
    """Counts by `deniable.statistics.Count`, whose costs add up to epsilon over all the queries.

    Raises: InvalidParameterError if epsilon is not a positive number, before any file is read.
    """
    from deniable.numbers.rationals import positive_rational

    total = positive_rational("epsilon", epsilon)

    def counts(bits: "NDArray[np.bool_]") -> "Answerer":
        def answer(subsets: "Subsets") -> "NDArray[np.float64]":
            from deniable.statistics import Count

            exact = (subsets @ bits.astype(float)).round().astype(int)
            noise = Count(epsilon=total / len(exact)).mechanism
            return noise.release(exact.tolist()).value.astype(float)

        return answer

    return counts
