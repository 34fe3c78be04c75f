"""Many exact races at once: one for each row of a table of scores.

The same laws as in `race`, by the same intervals; made for 10^5 small races, where `race` is made for one long one.
Proof: docs/theory/noise/race.md.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import contest, race, refine
from deniable.noise.bits import SECURE, Bits
from deniable.noise.contest import Contender, Noise
from deniable.numbers.arrays import Floats, MachineIntegers

if TYPE_CHECKING:
    from flint import arb

_CANDIDATES_PER_BLOCK = 1 << 15  # candidates, of all races together, that are worked on at a time


def exponential_mechanism(
    scores: MachineIntegers, *, rate: Fraction | int, weights: MachineIntegers | None = None, bits: Bits = SECURE
) -> NDArray[np.int64]:
    """Draw per row an index i with probability ~ weights[i] exp(rate scores[i]).

    Args:
        scores: integers, shape (races, candidates); a broadcast row will do for equal races.
        rate: exact, the same for all.
        weights: integers >= 0 of the same shape; None for all equal. Those of weight 0 are never chosen.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if nobody can be chosen in a row, an array does not hold integers, or rate is a float.
    """
    return top(scores, count=1, rate=rate, weights=weights, bits=bits)[:, 0]


def permute_and_flip(
    scores: MachineIntegers, *, rate: Fraction | int, weights: MachineIntegers | None = None, bits: Bits = SECURE
) -> NDArray[np.int64]:
    """Return per row the argmax of rate scores[i] + ln weights[i] + Exponential(1).

    Args and raises: as in `exponential_mechanism`.
    """
    return top(scores, count=1, rate=rate, noise="exponential", weights=weights, bits=bits)[:, 0]


def noisy_max(
    scores: MachineIntegers, *, rate: Fraction | int, weights: MachineIntegers | None = None, bits: Bits = SECURE
) -> NDArray[np.int64]:
    """Return per row the argmax of rate scores[i] + ln weights[i] + Laplace(1).

    Args and raises: as in `exponential_mechanism`.
    """
    return top(scores, count=1, rate=rate, noise="laplace", weights=weights, bits=bits)[:, 0]


def top(
    scores: MachineIntegers,
    *,
    count: int,
    rate: Fraction | int,
    noise: Noise = "gumbel",
    weights: MachineIntegers | None = None,
    bits: Bits = SECURE,
) -> NDArray[np.int64]:
    """Return per row the indices of the `count` largest noisy scores.

    The largest first; shape (races, count).

    Args and raises: as in `exponential_mechanism`; also if fewer than `count` can be chosen in a row.
    """
    exact_rate = race.checked_rate(rate)
    race.check_integers("scores", scores, 2)
    if weights is not None:
        race.check_integers("weights", weights, 2)
        if weights.shape != scores.shape:
            raise InvalidParameterError(f"weights must have the shape of scores, {scores.shape}, got {weights.shape}")
        if weights.size and weights.min() < 0:
            raise InvalidParameterError("weights must be >= 0")
    possible = scores.shape[1] if weights is None else (weights > 0).sum(axis=1).min(initial=scores.shape[1])
    if not 1 <= count <= possible:
        raise InvalidParameterError(f"every row must hold at least {max(count, 1)} candidates of positive weight")
    winners = np.empty((scores.shape[0], count), dtype=np.int64)
    step = max(1, _CANDIDATES_PER_BLOCK // scores.shape[1])
    for start in range(0, scores.shape[0], step):
        rows = slice(start, start + step)
        part = None if weights is None else weights[rows]
        winners[rows] = _some(scores[rows], part, exact_rate, noise, count=count, bits=bits)
    return winners


def _some(
    scores: MachineIntegers, weights: MachineIntegers | None, rate: Fraction, noise: Noise, *, count: int, bits: Bits
) -> NDArray[np.int64]:
    """Run as many races as fit the cache."""
    references = scores.max(axis=1)
    base, error = contest.base_of(
        scores,
        references.astype(np.float64)[:, None],
        float(rate),
        None if weights is None else np.maximum(weights, 1),
    )
    if weights is not None:
        base[weights == 0] = -np.inf

    def exact(row: int, candidate: int) -> "Callable[[], arb]":
        weight = 1 if weights is None else int(weights[row, candidate])
        return race.exact_base(rate, int(scores[row, candidate]), int(references[row]), weight)

    return decide(noise, base, error, exact, count=count, bits=bits, guard=race.guard_bits(rate))


def decide(
    noise: Noise,
    base: Floats,
    error: Floats,
    exact: "Callable[[int, int], Callable[[], arb]]",
    *,
    count: int,
    bits: Bits,
    guard: int,
    width: int = 64,
) -> NDArray[np.int64]:
    """Return per row the indices of the `count` largest of base + noise.

    Bases are real numbers known by intervals.

    Args:
        base, error: shape (races, candidates); the number is within `error` of `base`. -inf is never chosen.
        exact: for a row and a candidate, what encloses that number at the working precision.
        guard: bits before the binary point that it may have.
    """
    words = bits.words(base.size).reshape(base.shape)
    excluded = np.isneginf(base)
    lowest, highest = contest.ends(noise, words, np.where(excluded, 0.0, base), error, width)
    lowest[excluded] = highest[excluded] = -np.inf
    if count == 1:
        winners = lowest.argmax(axis=1)[:, None]
        behind = highest.copy()
        np.put_along_axis(behind, winners, -np.inf, axis=1)
        certain = np.take_along_axis(lowest, winners, axis=1)[:, 0] > behind.max(axis=1)
    else:
        order = np.argsort(-lowest, axis=1, kind="stable")
        lows, highs = (np.take_along_axis(end, order, axis=1) for end in (lowest, highest))
        later = np.full_like(highs, -np.inf)  # the largest upper end of those behind
        later[:, :-1] = np.maximum.accumulate(highs[:, :0:-1], axis=1)[:, ::-1]
        winners = order[:, :count]
        certain = (lows[:, :count] > later[:, :count]).all(axis=1)
    for row in np.flatnonzero(~certain):
        ahead = np.partition(lowest[row], lowest.shape[1] - count)[lowest.shape[1] - count]
        contenders = [
            Contender(int(i), exact(int(row), int(i)), refine.Prefix(int(words[row, i]), width), *ends)
            for i in np.flatnonzero((highest[row] >= ahead) & ~excluded[row])
            for ends in [(float(lowest[row, i]), float(highest[row, i]))]
        ]
        winners[row] = contest.settle(noise, contenders, count, bits, width=width, guard=guard)
    return np.asarray(winners, dtype=np.int64)
