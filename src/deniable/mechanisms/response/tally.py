"""Distribution of a tally of randomised answers.

Of `count` people `holders` report an answer with probability p each, the others with q.

Its tails are sums over a circle (Fourier inversion), about a hundred terms for any number of people.
Proof: docs/theory/mechanisms/response.md.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats, Integers

_DIGITS = 40.0  # what is left out is below e^-40
_MIN_CHANCE, _MAX_CHANCE = 2.0**-200, 1 - 2.0**-53  # nearer to 0 or 1, chances are taken for these
_TAILS_PER_BLOCK = 1 << 10  # tails that are computed together


def shares_within(tallies: Integers, count: int, p: float, q: float, miss: float) -> tuple[Floats, Floats]:
    """Return the least and the largest share m / count for each tally.

    Each leaves the tally more than miss/2 on either side.
    """
    if p < q:
        return shares_within(count - tallies, count, 1 - p, 1 - q, miss)
    some, where = np.unique(tallies, return_inverse=True)
    half = math.sqrt(count * math.log(2 / miss) / 2) / (p - q)  # Hoeffding's, beyond which no end lies
    centre = (some - count * q) / (p - q)
    start, stop = (np.clip(end, 0, count).astype(np.int64) for end in (centre - half - 2, centre + half + 2))
    rest = count - some
    low = _first(lambda rows, holders: at_least(some[rows], holders, count, p, q) >= miss / 2, start, stop)
    beyond = np.where(stop == count, count + 1, stop)
    ends = _first(lambda rows, holders: at_least(rest[rows], holders, count, 1 - p, 1 - q) < miss / 2, start, beyond)
    high = ends - 1
    return (low / count)[where], (np.maximum(low, high) / count)[where]


def shares_of_population(tallies: Integers, count: int, p: float, q: float, miss: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals of Clopper and Pearson (1934), as shares; p > q."""
    from scipy.special import betainccinv, betaincinv

    low = np.where(tallies > 0, betaincinv(np.maximum(tallies, 1), count - tallies + 1, miss / 2), 0.0)
    rest = np.maximum(count - tallies, 1)
    high = np.where(tallies < count, betainccinv(tallies + 1, rest, miss / 2), 1.0)
    return np.clip((low - q) / (p - q), 0.0, 1.0), np.clip((high - q) / (p - q), 0.0, 1.0)


def _first(holds: Callable[[Integers, Integers], NDArray[np.bool_]], start: Integers, stop: Integers) -> Integers:
    """Return the least integers from start on for which a growing condition holds.

    `stop` where it does not hold below.

    Args:
        holds: of rows and an integer below `stop` for each; rows that are found are asked no more.
    """
    start, stop = start.copy(), stop.copy()
    while (rows := np.flatnonzero(start < stop)).size:
        middle = (start[rows] + stop[rows]) // 2
        holds_there = holds(rows, middle)
        stop[rows] = np.where(holds_there, middle, stop[rows])
        start[rows] = np.where(holds_there, start[rows], middle + 1)
    return start


def at_least(tallies: Integers, holders: Integers, count: int, p: float, q: float) -> Floats:
    """P[Bin(holders, p) + Bin(count - holders, q) >= tally], elementwise.

    Error: about 10^-15 sqrt(count), beside that of p and q in floats.
    """
    p, q = (min(max(x, _MIN_CHANCE), _MAX_CHANCE) for x in (p, q))
    tails = np.empty(tallies.size)
    for begin in range(0, tallies.size, _TAILS_PER_BLOCK):
        rows = slice(begin, begin + _TAILS_PER_BLOCK)
        tally, own = tallies[rows], holders[rows]
        early = tally < own * p + (count - own) * q  # the other side is the tail
        tail = _upper_tail(
            np.where(early, count + 1 - tally, tally),
            own,
            count,
            np.where(early, max(1 - p, _MIN_CHANCE), p),
            np.where(early, max(1 - q, _MIN_CHANCE), q),
        )
        tails[rows] = np.where(early, 1 - tail, tail)
    return tails


def _upper_tail(tallies: Integers, holders: Integers, count: int, p: Floats, q: Floats) -> Floats:
    """Return the probability of this tally or a larger one, above the mean."""
    inside = np.minimum(tallies, count - 1)
    others = count - holders
    spread = np.sqrt(holders * p * (1 - p) + others * q * (1 - q))
    tilt = np.maximum(_saddle(inside, holders, count, p, q), 1 / (spread + 1))
    grown = np.expm1(tilt)
    tilted, rest = (x * (1 + grown) / (1 + x * grown) for x in (p, q))
    width = np.sqrt(holders * tilted * (1 - tilted) + others * rest * (1 - rest))  # of the tilted law
    points = 1 + 2 * np.ceil(np.maximum(_DIGITS / tilt, 30 + 12 * width) / 2)  # an odd number
    needed = np.minimum((points - 1) / 2, np.ceil(points * 2.3 / np.maximum(width, 1e-9)))
    j = np.arange(int(needed.max()) + 1, dtype=np.float64)
    angle = 2 * math.pi * j / points[:, None]
    sine = np.sin(angle)
    dip = 2 * np.sin(angle / 2) ** 2
    cosine = 1 - dip
    size = -tallies * tilt
    turn = -tallies[:, None] * angle
    logarithm = np.broadcast_to(size[:, None], angle.shape).copy()
    for number, chance in ((holders, p), (others, q)):
        real = chance[:, None] * (grown[:, None] * cosine - dip)  # of chance (e^z - 1)
        imaginary = chance[:, None] * (1 + grown[:, None]) * sine
        logarithm += number[:, None] / 2 * np.log1p(2 * real + real**2 + imaginary**2)
        turn += number[:, None] * np.arctan2(imaginary, 1 + real)
    fall = -np.expm1(-tilt)[:, None]
    real, imaginary = fall * cosine + dip, (1 - fall) * sine  # of 1 - e^-z
    with np.errstate(under="ignore"):
        terms = np.exp(logarithm) * (np.cos(turn) * real + np.sin(turn) * imaginary) / (real**2 + imaginary**2)
    terms[:, 1:] *= 2  # for the conjugates
    terms[j > (points[:, None] - 1) / 2] = 0
    tails = np.clip(terms.sum(axis=1) / points, 0.0, 1.0)
    with np.errstate(under="ignore"):
        everybody = np.exp(holders * np.log(p) + others * np.log(q))
    return np.where(tallies > count, 0.0, np.where(tallies == count, everybody, tails))


def _saddle(tallies: Integers, holders: Integers, count: int, p: Floats, q: Floats) -> Floats:
    """Return about the tilt t under which the mean is the tally.

    e^t is the positive root of a quadratic equation.
    """
    square = p * q * (count - tallies)
    linear = holders * p * (1 - q) + (count - holders) * q * (1 - p) - tallies * (p * (1 - q) + q * (1 - p))
    constant = tallies * (1 - p) * (1 - q)
    root = np.sqrt(linear**2 + 4 * square * constant)
    with np.errstate(divide="ignore", invalid="ignore"):
        exp_tilt = np.where(linear > 0, 2 * constant / (root + linear), (root - linear) / (2 * square))
    return np.asarray(np.log(np.maximum(exp_tilt, 1.0)))
