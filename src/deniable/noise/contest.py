"""Noisy scores known by intervals, and who of the contenders is ahead.

What every race is made of.

A noise is a function of one uniform number. What is known of that number, its leading bits, gives an interval that
holds the noise: float arithmetic with a proved error, or, in the photo finish, balls of arbitrary precision.
Proof: docs/theory/noise/race.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.noise import refine
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats, MachineIntegers, Words
from deniable.numbers.certified import log

if TYPE_CHECKING:
    from flint import arb

Noise = Literal["gumbel", "exponential", "laplace"]

ROUNDING = 2.0**-46
"""Relative, above the error of the few float operations of a score."""

LN2 = 0.6931471805599454  # above ln 2
_LARGEST_LOGARITHM = 200.0  # above those of words, of weights, and of rates times their number


def enclose(noise: Noise, words: Words, width: int = 64) -> tuple[Floats, Floats, Floats]:
    """Return the noise at the middle of each cell, and its largest error on each side.

    Cells are of uniform numbers.
    """
    if noise != "laplace":
        return _enclose_one_sided(noise, words, width)
    size, below, above = _enclose_one_sided("exponential", words & _ones(width - 1), width - 1)
    negative = words > _ones(width - 1)
    return np.where(negative, -size, size), np.where(negative, above, below), np.where(negative, below, above)


def _enclose_one_sided(noise: Noise, words: Words, width: int) -> tuple[Floats, Floats, Floats]:
    unit = 2.0**-width
    with np.errstate(divide="ignore", invalid="ignore"):
        uniform = (words + 0.5) * unit
        spread = 0.5 * unit / uniform + 2.0**-52  # relative half-width of the cell, and rounding
        arrival = np.abs(log(np.minimum(uniform, 1.0)))  # the exponential variable, never -0
        error = np.where(spread < 1, spread / (1 - spread), np.inf) + arrival * ROUNDING
        if noise == "exponential":
            return arrival, np.minimum(error, arrival), error
        ratio = error / arrival  # inf where the number is so near 1 that the float knows nothing of it
        gumbel = -log(np.maximum(arrival, 2.0**-1000))
        slack = np.abs(gumbel) * ROUNDING
        above = np.where(ratio < 1, ratio / (1 - ratio), np.inf)
    return gumbel, ratio + slack, above + slack


def coarse_above(noise: Noise, words: Words, width: int = 64) -> Floats:
    """Bound the noise from above, by at most 1.4 too much where it is large.

    Binary exponents stand in for logarithms.
    """
    floor = words ^ _ones(width) if noise == "gumbel" else words
    digits = width - 1 if noise == "laplace" else width
    bound: Floats = (digits - binary_exponents(floor)) * np.float64(LN2)  # below 0 for the negative half of Laplace
    bound[floor == 0] = np.inf
    return np.maximum(bound, 0.0)


def who_may_reach(noise: Noise, words: Words, needed: float, width: int = 64) -> NDArray[np.intp] | None:
    """Return the positions whose noise may be `needed` or more.

    None when that may be so of all.
    """
    if not needed > 0:
        return None
    digits = width - 1 if noise == "laplace" else width
    limit = 1 << max(0, digits - int(needed / LN2))  # at least 2^digits e^-needed, at most about twice that
    if limit >> digits:
        return None
    if noise == "gumbel":
        return np.flatnonzero(words >= _ones(width) - np.uint64(limit))
    return np.flatnonzero(words <= np.uint64(limit))


def base_of(
    scores: MachineIntegers, references: Floats | float, rate: float, weights: MachineIntegers | None
) -> tuple[Floats, Floats]:
    """Return rate (score - reference) + ln weight, with a bound on its error.

    Weights must be >= 1.
    """
    score = scores.astype(np.float64)
    error = (np.abs(score) + np.abs(references)) * (rate * ROUNDING)
    base = (score - references) * rate
    if weights is not None:
        logarithm = log(weights.astype(np.float64))
        base += logarithm
        error = error + (logarithm + 1) * ROUNDING
    return base, error


def margin(rate: float, largest_score: float) -> float:
    """Bound the rounding errors of any sum of a coarse bound.

    Scores and their reference are below `largest_score`.
    """
    return (2 * rate * largest_score + _LARGEST_LOGARITHM) * 4 * ROUNDING


def ends(noise: Noise, words: Words, base: Floats, error: Floats, width: int = 64) -> tuple[Floats, Floats]:
    """Return lower and upper ends of noisy scores."""
    centre, below, above = enclose(noise, words, width)
    centre = centre + base
    error = error + np.abs(centre) * ROUNDING
    return centre - below - error, centre + above + error


def binary_exponents(values: MachineIntegers) -> NDArray[np.int64]:
    """Return floor(log2(value)) for values >= 1.

    It is one more where float64 rounds up to a power of two.
    """
    return (values.astype(np.float64).view(np.int64) >> 52) - 1023


@dataclass(frozen=True)
class Contender:
    """A candidate that may still be among the first."""

    index: int
    base: Callable[[], "arb"]  # enclosure, at the working precision, of what is added to the noise
    uniform: refine.Prefix
    lowest: float
    highest: float


def settle(
    noise: Noise, contenders: Sequence[Contender], count: int, bits: Bits, *, width: int, guard: int
) -> list[int]:
    """Return the first `count` in order.

    Words are appended to the numbers of those whose intervals overlap, until none do.

    Args:
        guard: bits before the binary point that a base may have.
    """
    from flint import ctx

    winners: list[int] = []
    open_groups = _groups(contenders, [c.lowest for c in contenders], [c.highest for c in contenders])
    while len(winners) < count:
        group = open_groups.pop(0)
        if len(group) == 1:
            winners.append(group[0].index)
            continue
        group = [
            replace(c, uniform=c.uniform.extended(bits, width)) for c in sorted(group, key=lambda member: member.index)
        ]
        with ctx.workprec(group[0].uniform.length + refine.GUARD_BITS + guard):
            keys = [c.base() + _ball(noise, c.uniform) for c in group]
            open_groups[:0] = _groups(group, [key.lower() for key in keys], [key.upper() for key in keys])
    return winners


def _groups(contenders: Sequence[Contender], lows: Sequence[object], highs: Sequence[object]) -> list[list[Contender]]:
    """Return contenders from the first to the last, in groups.

    Every member is certainly ahead of all later groups.
    """
    order = sorted(range(len(lows)), key=lows.__getitem__, reverse=True)  # type: ignore[arg-type]
    groups: list[list[Contender]] = []
    best_later: object = None
    for i in reversed(order):  # from the last
        if best_later is None or lows[i] > best_later:  # type: ignore[operator]
            groups.append([])
        groups[-1].append(contenders[i])
        best_later = highs[i] if best_later is None or highs[i] > best_later else best_later  # type: ignore[operator]
    return groups[::-1]


def _ball(noise: Noise, uniform: refine.Prefix) -> "arb":
    """Enclose the noise; unbounded where a uniform number may be 0 or 1."""
    from flint import arb, fmpz

    value, length = uniform.value, uniform.length
    negative = False
    if noise == "laplace":
        length -= 1
        negative = bool(value >> length)
        value = value & ((1 << length) - 1)
    if value in {0, (1 << length) - 1}:
        return arb(0, "inf")
    arrival = -(arb(fmpz(2 * value + 1), 1) / arb(2) ** (length + 1)).log()
    if noise == "gumbel":
        return -arrival.log()
    return -arrival if negative else arrival


def _ones(width: int) -> np.uint64:
    return np.uint64((1 << width) - 1)
