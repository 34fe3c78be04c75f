"""Exact confidence bounds for the probability of an event, and for epsilon."""

import math

import numpy as np
from scipy import special

from deniable.numbers.arrays import Floats


def lower_rate(hits: int, runs: int, failure: float) -> float:
    """Return a lower bound on a probability, which fails with probability `failure`.

    Source: Clopper, Pearson (1934).
    """
    return float(special.betaincinv(hits, runs - hits + 1, failure)) if hits else 0.0


def upper_rate(hits: int, runs: int, failure: float) -> float:
    """Return an upper bound on a probability, which fails with probability `failure`."""
    return float(special.betainccinv(hits + 1, runs - hits, failure)) if hits < runs else 1.0


def epsilon_of(hits: int, other_hits: int, runs: int, *, delta: float, failure: float) -> float:
    """Return a lower bound on epsilon from the frequencies of an event on two inputs.

    It happened in `hits` and `other_hits` of `runs` runs.

    Guarantee: P <= e^epsilon Q + delta, so epsilon >= ln((P - delta) / Q); each rate is bounded with failure / 2.
    """
    low = lower_rate(hits, runs, failure / 2)
    high = upper_rate(other_hits, runs, failure / 2)
    return math.log((low - delta) / high) if low - delta > high else 0.0


def wilson(shares: Floats, runs: int, deviations: float) -> tuple[Floats, Floats]:
    """Return quick approximations of both bounds, to choose events by."""
    square = deviations**2 / runs
    middle = shares + square / 2
    spread = np.sqrt(square * (shares * (1 - shares) + square / 4))
    return np.maximum((middle - spread) / (1 + square), 0.0), (middle + spread) / (1 + square)


def runs_for(epsilon: float, *, delta: float, failure: float) -> int:
    """Return the number of runs on each input that can certify an epsilon.

    With fewer, not even an event of probabilities 1 and 0 certifies it.
    """
    runs = 1
    while runs < 2**50 and epsilon_of(runs, 0, runs, delta=delta, failure=failure) <= epsilon:
        runs *= 2
    return runs
