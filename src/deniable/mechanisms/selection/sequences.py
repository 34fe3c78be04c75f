"""Sequences of candidates by their gap: numbers, pieces of gaps, uniform draws.

Scores are given by how far they are behind the best, in rising order. The gap of a sequence is the largest of
behind[i-th member] - behind[i], over its places i. Proofs: docs/theory/mechanisms/selection.md.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable.noise import contest, uniform
from deniable.noise.bits import Bits
from deniable.numbers import balls
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.certified import exp_of_minus, log

if TYPE_CHECKING:
    from flint import arb


FAINT = 40.0  # pieces with less than e^-40 of the largest weight stay as they are
GROWTH = 1.0  # of ln N within the other pieces, at most
_FIRST = 64  # pieces of equal length to begin with
_ENTRIES_PER_BLOCK = 1 << 20


def open_places(behind: Integers, count: int, gaps: Integers) -> Integers:
    """Return how many candidates may stand at each position; shape (gaps, count).

    The sequence has a gap of at most t.
    """
    numbers = np.searchsorted(behind, gaps[:, None] + behind[:count], side="right")
    return np.asarray(numbers, dtype=np.int64)


def log_number(behind: Integers, count: int, gaps: Integers) -> Floats:
    """Return ln N(t), with N the number of sequences with a gap of at most t.

    Its error is that of `count` logarithms and a sum.
    """
    logarithms = np.empty(gaps.size)
    step = max(1, _ENTRIES_PER_BLOCK // count)
    for first in range(0, gaps.size, step):
        part = slice(first, first + step)
        logarithms[part] = log((open_places(behind, count, gaps[part]) - np.arange(count)).astype(np.float64)).sum(
            axis=1
        )
    return logarithms


def pieces(behind: Integers, count: int, stop: int, rate: float) -> tuple[Integers, Integers]:
    """Return first and last t of pieces of 0, ..., stop - 1, in any order.

    N grows little within those that matter.
    """
    cuts = np.unique(np.array([stop * i // _FIRST for i in range(_FIRST + 1)]))
    start, end = cuts[:-1], cuts[1:] - 1
    low, high = log_number(behind, count, start), log_number(behind, count, end)
    while True:
        mass = _log_one_minus_exp(rate * (end - start + 1).astype(np.float64))[0] - rate * start
        matters = high + mass > (low + mass).max(initial=-np.inf) - FAINT
        wide = np.flatnonzero((high - low > GROWTH) & (end > start) & matters)
        if not wide.size:
            return start, end
        middle = (start[wide] + end[wide]) // 2
        last = end[wide]
        highest = high[wide]
        below, above = np.split(log_number(behind, count, np.concatenate([middle, middle + 1])), 2)
        end[wide], high[wide] = middle, below
        start, end = np.concatenate([start, middle + 1]), np.concatenate([end, last])
        low, high = np.concatenate([low, above]), np.concatenate([high, highest])


def log_weights(
    log_numbers: Floats, start: Integers, lengths: Integers, count: int, rate: float
) -> tuple[Floats, Floats]:
    """Return ln of N times the sum of exp(-rate t) over each piece, and its error.

    The logarithm is up to a constant, and the error is a bound.

    Args:
        log_numbers, start: of all pieces.
        lengths: of all but the last, which has no end.
    """
    fall = rate * start.astype(np.float64)
    share, share_error = _log_one_minus_exp(rate * lengths.astype(np.float64))
    error = (log_numbers + fall + 1) * (contest.ROUNDING * count)
    base = log_numbers - fall
    base[:-1] += share
    error[:-1] += share_error
    return base, error


def weight(rate: Fraction, start: int, sequences: int, length: int | None) -> "Callable[[], arb]":
    """Return enclosures of the logarithm of one weight, at the working precision."""

    def enclosure() -> "arb":
        from flint import arb, fmpz

        value = arb(fmpz(sequences))
        if length is not None:
            value *= -balls.ball(-rate * length).expm1()
        return value.log() - balls.ball(rate * start)

    return enclosure


def reaches(rate: Fraction, offset: int, length: int | None) -> "Callable[[], arb]":
    """Return enclosures of P[T >= offset], with P[T = t] ~ exp(-rate t).

    T lies in 0, ..., length - 1, and 0 < offset < length.
    """

    def enclosure() -> "arb":
        beyond = balls.ball(-rate * offset).exp()
        if length is None:
            return beyond
        return beyond * balls.ball(-rate * (length - offset)).expm1() / balls.ball(-rate * length).expm1()

    return enclosure


def shuffled(limits: Integers, bits: Bits) -> Integers:
    """Draw uniform sequences of different numbers, the i-th below limits[:, i].

    The limits do not decrease along i.
    """
    runs, count = limits.shape
    offsets = uniform.sample(limits - np.arange(count), bits=bits)
    deck = np.tile(np.arange(int(limits.max(initial=1))), (runs, 1))
    rows = np.arange(runs)
    for i in range(count):  # Fisher and Yates: swap a later card of the open part to place i
        drawn = i + offsets[:, i]
        chosen = deck[rows, drawn]
        deck[rows, drawn] = deck[:, i]
        deck[:, i] = chosen
    return deck[:, :count]


def _log_one_minus_exp(x: Floats) -> tuple[Floats, Floats]:
    """Return ln(1 - e^-x) for x > 0 and a bound on its error.

    Where x is small by ln x - x/2 + x^2/24 - ..., which alternates.
    """
    small = x < 0.125
    little = np.where(small, x, 0.0625)
    series = log(little) - little / 2 + little**2 / 24
    direct = log(1 - exp_of_minus(np.where(small, 1.0, x)))
    logarithms = np.where(small, series, direct)
    rounding = (np.abs(logarithms) + 1) * 2.0**-40
    return logarithms, rounding + np.where(small, little**4 / 2880, 0.0)
