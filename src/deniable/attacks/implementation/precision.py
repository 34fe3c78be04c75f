"""Haney's precision test: true values that published floating-point sums exclude.

Source: Haney, Desfontaines, Hartman, Shrestha, Hay (2022), arXiv:2207.13793.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import read_numbers
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Verdicts = tuple[NDArray[np.bool_], NDArray[np.bool_]]
_ROUNDED_DECIMALS = 12  # numbers with at most that many were rounded on their way
CENTERS = (0.0, 1.0, 2.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0)


def grain(outputs: ArrayLike) -> NDArray[np.int64]:
    """Return the exponent of the largest power of two that divides each output.

    The predicate of the paper is `grain(outputs) >= -53`.

    Args:
        outputs: finite numbers of any shape.

    Returns: integers of that shape; 1024 for zero, which all powers divide.

    >>> from deniable.attacks.implementation import grain
    >>> grain([0.1, 0.75, 6, 0])
    array([ -55,   -2,    1, 1024])
    """
    fraction, exponent = np.frexp(read_numbers("outputs", outputs))
    bits = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    trailing = np.frexp((bits & -bits).astype(np.float64))[1] - 1
    return np.where(bits == 0, 1024, exponent.astype(np.int64) - 53 + trailing)


def addable(outputs: ArrayLike, center: float) -> NDArray[np.bool_]:
    """Whether some double, added to the centre, rounds to each output.

    No assumption is made about the sampler. With r = output - centre, the real numbers that round to the output form an
    interval around r; if it holds a double, it holds one of the two next to r, and both are among the rounded
    difference and its two neighbours. Numbers with at most 12 decimals were rounded on their way: they pass.

    Args:
        outputs: finite numbers of any shape.
        center: candidate for the true value.

    Returns: booleans of the shape of the outputs.

    >>> from deniable.attacks.implementation import addable
    >>> addable([2.0**-60 / 3, 2.0**-53, 0.1], 1.0)
    array([False,  True,  True])
    """
    published = read_numbers("outputs", outputs)
    (at,) = read_numbers("center", [center])
    with np.errstate(over="ignore"):
        difference = published - at
        tries = (difference, np.nextafter(difference, -np.inf), np.nextafter(difference, np.inf))
        is_sum = np.any([at + noise == published for noise in tries], axis=0)
        return np.asarray(is_sum | (np.round(published, _ROUNDED_DECIMALS) == published))


def distinguish_by_precision(first: ArrayLike, second: ArrayLike, *, centers: tuple[float, float]) -> AttackResult:
    """Distinguish two inputs by outputs that are too fine for one of them.

    Noise near the negative of a centre c is a multiple of the gap between doubles there, and the sum with c is exact:
    so an output near 0 with more bits than that cannot come from c. From 0 it can.

    Args:
        first, second: outputs of the mechanism on an input and on its neighbour; any shape, finite.
        centers: the true value of each.

    With numpy's Laplace(1) and centres 0 and 1, more than a quarter of the first outputs are impossible for the second.

    >>> noise = np.random.default_rng(0).laplace(size=(2, 1_000))
    >>> print(distinguish_by_precision(noise[0], noise[1] + 1, centers=(0, 1)).succeeded)
    True
    """
    worlds = [read_numbers(name, given).ravel() for name, given in (("first", first), ("second", second))]
    mine, other = [(addable(world, centers[0]), addable(world, centers[1])) for world in worlds]
    finest = min(int(grain(world).min()) for world in worlds)
    return judge_exclusions("Precision", mine, other, {"every output is a multiple of": f"2^{finest}"})


def read_precision(outputs: ArrayLike, *, centers: Sequence[float] = CENTERS) -> AttackResult:
    """Find candidates for a true value that published numbers rule out.

    Args:
        outputs: published numbers, any shape, as precise as they were released.
        centers: candidates for the true value behind them, at least 2.

    Returns: share of the numbers that rule out a candidate and leave one; noise on a public grid rules out none.

    >>> print(read_precision(np.random.default_rng(0).laplace(size=500)).facts["ruled out 1.0"])
    by 40.6%
    """
    if len(centers) < 2:
        raise InvalidParameterError(f"centers must hold at least 2 candidates, got {len(centers)}")
    published = read_numbers("outputs", outputs).ravel()
    possible = np.array([addable(published, center) for center in centers])  # (centers, outputs)
    telling = possible.any(axis=0) & ~possible.all(axis=0)
    ruled = {f"ruled out {at}": f"by {(~own & telling).mean():.1%}" for at, own in zip(centers, possible, strict=True)}
    return AttackResult(
        attack="Precision",
        target="number that rules out a candidate for the true value",
        success=Share(right=int(telling.sum()), attempts=published.size),
        baseline=0.0,
        guess="a reader",
        learned=possible,
        facts={"every number is a multiple of": f"2^{int(grain(published).min())}", **ruled},
    )


def judge_exclusions(attack: str, first: Verdicts, second: Verdicts, facts: Mapping[str, object]) -> AttackResult:
    """Score an attacker who names the only input that can give an output.

    Where both can, or neither, the attacker names the input with more such outputs, which can be simulated. If nothing
    is ever excluded, that is as good as naming always the input with more outputs: the baseline.

    Args:
        attack: its name.
        first, second: of the outputs on each input, whether the first input can give them, and whether the second can.
        facts: of the result.
    """
    tied = [int((a == b).sum()) for a, b in (first, second)]
    guessed = [np.where(a == b, int(tied[1] > tied[0]), b.astype(int)) for a, b in (first, second)]
    sizes = (len(guessed[0]), len(guessed[1]))
    return AttackResult(
        attack=attack,
        target="which of two inputs was released",
        success=Share(right=int((guessed[0] == 0).sum() + guessed[1].sum()), attempts=sum(sizes)),
        baseline=max(sizes) / sum(sizes),
        guess="a guesser",
        learned=np.concatenate(guessed),
        facts={
            "outputs of the first input that the second cannot give": f"{(first[0] & ~first[1]).mean():.1%}",
            "outputs of the second input that the first cannot give": f"{(second[1] & ~second[0]).mean():.1%}",
            **facts,
        },
    )
