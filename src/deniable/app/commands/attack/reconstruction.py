"""`deniable attack reconstruction`: secret bits from counts of groups.

The same attack is then run against private counts.
"""

from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from deniable.app.commands.attack.owned import OwnFile, Plot, Seed, read_secrets
from deniable.app.commands.attack.shown import show_comparison
from deniable.app.options import AsJson
from deniable.app.pictures import check_picture
from deniable.app.terminal import waiting

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from deniable.attacks import AttackResult
    from deniable.attacks.reconstruction import Answerer, Subsets
    from deniable.attacks.reconstruction.attack import BitEstimator


class Method(Enum):
    """Method by which the attacker solves for the secrets."""

    LEAST_SQUARES = "least-squares"
    LINEAR_PROGRAM = "linear-program"
    EXHAUSTIVE = "exhaustive"


MAX_PEOPLE = {Method.LINEAR_PROGRAM: 500, Method.EXHAUSTIVE: 16}  # unless --people says more


def reconstruction(
    file: OwnFile,
    *,
    secret: Annotated[
        str, typer.Option(metavar="CONDITION", help='What nobody should learn about a person, such as "affairs > 0".')
    ],
    people: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Attack N rows alone, evenly spaced. By default all; 500 by linear program, 16 exhaustively.",
        ),
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
    """Ask how many of random groups have a secret, and compute who has it.

    The answers are all that is used.

    The same questions go to exact, suppressed, rounded and private counts of your own file. It shows the share of
    people whose secret came out right, beside the share that a guess gets. The answers are not released.

    deniable attack reconstruction patients.csv --secret "diagnosis = 'HIV'" --plot outcome.png
    """
    from deniable.attacks import Comparison
    from deniable.numbers.rationals import positive_rational

    check_picture(plot)
    total = positive_rational("epsilon", epsilon)
    with waiting("asking and solving..."):
        bits = read_secrets(file, secret, people=MAX_PEOPLE.get(method) if people is None else people)
        comparison = Comparison(
            {
                "exact counts": attack_counts(bits, method, seed),
                f"suppressed below {below}": attack_counts(bits, method, seed, below=below),
                f"rounded to {base}": attack_counts(bits, method, seed, base=base),
                f"private, epsilon={epsilon}": attack_private(bits, method, seed, epsilon=total),
            }
        )
    show_comparison(comparison, plot=plot, as_json=as_json, never=(file,))


def attack_counts(
    bits: "NDArray[np.bool_]", method: Method, seed: int, *, base: int | None = None, below: int | None = None
) -> "AttackResult":
    """Return the attack on exact counts, or on rounded or suppressed ones."""
    from deniable.attacks import attack_by_reconstruction
    from deniable.attacks.reconstruction import answer_exactly, answer_rounded, answer_unless_small, bound_all_queries

    answerer: Answerer
    error: float | None
    if base is not None:
        answerer = answer_rounded(bits, base=base)
        error = base / 2
    elif below is not None:
        answerer = answer_unless_small(bits, below=below)
        error = None
    else:
        answerer = answer_exactly(bits)
        error = 0.0
    proved = method is Method.EXHAUSTIVE
    return attack_by_reconstruction(
        answerer,
        bits,
        subsets=_subsets(len(bits), method, seed),
        estimate=_estimator(method),
        bound=bound_all_queries(people=len(bits), error=error) if proved and error is not None else None,
    )


def attack_private(bits: "NDArray[np.bool_]", method: Method, seed: int, *, epsilon: Fraction) -> "AttackResult":
    """Return the attack on private counts that cost epsilon together.

    They are made by `deniable.statistics.count`.

    Least squares is told how large the noise is, and how many people have the secret, as the guesser knows it.
    """
    from functools import partial

    from deniable import attacks
    from deniable.statistics.count import Count

    subsets = _subsets(len(bits), method, seed)
    count = Count(epsilon=epsilon / subsets.shape[0])

    def answer(asked: "Subsets") -> "NDArray[np.float64]":
        exact = (asked @ bits.astype(float)).round().astype(int)
        return count.mechanism.release(exact.tolist()).value.astype(float)

    estimate = _estimator(method)
    if method is Method.LEAST_SQUARES:
        share = (int(bits.sum()) + 1) / (len(bits) + 2)  # in (0, 1), whatever the bits
        estimate = partial(attacks.estimate_by_least_squares, share=share, noise=count.expected_error(len(bits)))
    return attacks.attack_by_reconstruction(answer, bits, subsets=subsets, estimate=estimate)


def _subsets(people: int, method: Method, seed: int) -> "Subsets":
    from deniable.attacks.reconstruction import AllSubsets, choose_subsets, sparse_subsets

    if method is Method.EXHAUSTIVE:
        return AllSubsets(people)
    # A program of small groups is solved much sooner.
    if method is Method.LINEAR_PROGRAM and people > MAX_PEOPLE[method]:
        groups: Subsets = sparse_subsets(people=people, queries=20 * people, size=16, seed=seed)
        return groups
    return choose_subsets(people=people, seed=seed)


def _estimator(method: Method) -> "BitEstimator":
    from deniable import attacks

    if method is Method.EXHAUSTIVE:
        return attacks.estimate_exhaustively
    if method is Method.LINEAR_PROGRAM:
        return attacks.estimate_by_linear_program
    return attacks.estimate_by_least_squares
