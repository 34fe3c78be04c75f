"""Haney's precision test: which true values cannot have been the centre of a published floating-point sum."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.implementation.worlds import doubles, judge_exclusions
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

_DECIMALS = 12
CENTERS = (0.0, 1.0, 2.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0)


def grain(outputs: ArrayLike) -> NDArray[np.int64]:
    """Exponent of the largest power of two that divides each output; 1024 for zero, which all divide.

    Args:
        outputs: any shape.

    Source: Haney, Desfontaines, Hartman, Shrestha, Hay (2022), arXiv:2207.13793, whose predicate is
        `grain(outputs) >= -53`.

    >>> grain([0.1, 0.75, 6, 0])
    array([ -55,   -2,    1, 1024])
    """
    fraction, exponent = np.frexp(doubles("outputs", outputs))
    whole = np.abs(np.ldexp(fraction, 53)).astype(np.int64)
    lowest = whole & -whole
    trailing = np.frexp(lowest.astype(np.float64))[1] - 1
    return np.where(whole == 0, 1024, exponent.astype(np.int64) - 53 + trailing)


def addable(outputs: ArrayLike, center: float) -> NDArray[np.bool_]:
    """Whether some double, added to the centre in floating point, rounds to each output.

    It asks nothing of the sampler. With r = output - centre, the real numbers that round to the output form an
    interval around r; if it holds a double, it holds one of the two next to r, and both are among the rounded
    difference and its two neighbours. Numbers with at most 12 decimals say nothing, because they were rounded on
    the way to the reader: they pass.

    Args:
        outputs: any shape.
        center: the candidate for the true value, finite.

    >>> addable([2.0**-60 / 3, 2.0**-53, 0.1], 1.0)
    array([False,  True,  True])
    """
    published, (at,) = doubles("outputs", outputs), doubles("center", [center])
    with np.errstate(over="ignore"):
        near = published - at
        tries = (near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf))
        reached = np.any([at + noise == published for noise in tries], axis=0)
        return np.asarray(reached | (np.round(published, _DECIMALS) == published))


def tell_apart_by_precision(first: ArrayLike, second: ArrayLike, *, centers: tuple[float, float]) -> AttackResult:
    """Tell two inputs apart by outputs that are too fine for one of them.

    Noise near the negative of a centre c is a multiple of the gap between doubles there, and the sum with c is exact:
    so an output near 0 with more bits than that cannot come from c. From 0 it can.

    Args:
        first: outputs of the mechanism on the first input; second: on its neighbour. Any shape, finite.
        centers: the true value of each.

    Returns: success against always naming one of the two. With numpy's Laplace(1) and centres 0 and 1, more than a
        quarter of the first outputs are impossible for the second input, whatever epsilon was claimed.
    Raises: InvalidParameterError if outputs are missing or not finite.
    Source: Haney, Desfontaines, Hartman, Shrestha, Hay (2022), arXiv:2207.13793.

    >>> noise = np.random.default_rng(0).laplace(size=(2, 1_000))
    >>> print(tell_apart_by_precision(noise[0], noise[1] + 1, centers=(0, 1)).succeeded)
    True
    """
    worlds = [doubles(name, given).ravel() for name, given in (("first", first), ("second", second))]
    mine, other = [(addable(world, centers[0]), addable(world, centers[1])) for world in worlds]
    finest = min(int(grain(world).min()) for world in worlds)
    return judge_exclusions("Precision", mine, other, {"every output is a multiple of": f"2^{finest}"})


def read_precision(outputs: ArrayLike, *, centers: Sequence[float] = CENTERS) -> AttackResult:
    """Read from published numbers which true values they cannot be noisy versions of.

    Args:
        outputs: published numbers, any shape, as precise as they were released.
        centers: candidates for the true value behind them.

    Returns: share of the numbers that rule out at least one candidate and leave one. Noise on a public grid, and
        rounding to decimals, rule out none.
    Raises: InvalidParameterError if numbers or candidates are missing or not finite.
    Source: as in `tell_apart_by_precision`.

    >>> print(read_precision(np.random.default_rng(0).laplace(size=500)).facts["ruled out 1.0"])
    by 40.6%
    """
    if len(centers) < 2:
        raise InvalidParameterError(f"centers must hold at least 2 candidates, got {len(centers)}")
    published = doubles("outputs", outputs).ravel()
    possible = np.array([addable(published, center) for center in centers])  # (centers, outputs)
    telling = possible.any(axis=0) & ~possible.all(axis=0)
    ruled = {
        f"ruled out {center}": f"by {float((~own & telling).mean()):.1%}"
        for center, own in zip(centers, possible, strict=True)
    }
    return AttackResult(
        attack="Precision",
        target="number that rules out a candidate for the true value",
        success=Share(right=int(telling.sum()), attempts=published.size),
        baseline=0.0,
        guess="a reader",
        learned=possible,
        facts={"every number is a multiple of": f"2^{int(grain(published).min())}", **ruled},
    )
