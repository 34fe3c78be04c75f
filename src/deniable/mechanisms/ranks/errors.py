"""Expected errors of choices by rank, known before any record is read."""

from fractions import Fraction
from math import ceil, floor, sqrt

import numpy as np

from deniable.numbers.arrays import Floats

WIDE = 20
"""Assumed ratio of the declared bounds' width to the data's range, used to predict a mechanism's error."""

_EQUAL_GAPS = 1200  # gaps whose widths are taken as equal: an error is too small by 1% then


def rank_error(rate: Fraction, target: float, size: int, *, truth: float) -> float:
    """Return the root mean squared distance of gap i from the rank `truth`.

    The chance of gap i is exp(-rate |i - target|).
    """
    reached = min(60 / float(rate), size)
    low, high = min(max(0, floor(target - reached)), size), max(min(size, ceil(target + reached)), 0)
    gaps = np.linspace(low, high, min(high - low, 10_000) + 1)
    away = np.abs(gaps - target)
    chances = np.exp(-float(rate) * (away - away.min()))
    return float(np.sqrt(np.sum(chances * (gaps - truth) ** 2) / np.sum(chances)))


def place_error(rate: Fraction, target: float, size: int, *, truth: float) -> float:
    """Return the root mean squared distance from `truth` of a point between records.

    Its rank lies in [-1/2, size + 1/2], with a density of exp(-rate |rank - target|) times the width of its gap, and
    records are drawn evenly between the bounds.
    """
    low, high = -0.5, size + 0.5
    closest = min(max(target, low), high)
    reached = 60 / float(rate)
    ranks = np.linspace(max(low, closest - reached), min(high, closest + reached), 10_001)
    away = np.abs(ranks - target)
    chances = np.exp(-float(rate) * (away - away.min()))
    gaps = np.minimum(np.floor(ranks + 0.5), size).astype(np.int64)
    gaps -= gaps[0]
    losses = chances * (ranks - truth) ** 2
    if gaps[-1] >= _EQUAL_GAPS:
        return min(sqrt(float(losses.sum() / chances.sum())), size)
    return min(sqrt(_mean_ratio(*(np.bincount(gaps, each).astype(np.float64) for each in (losses, chances)))), size)


def _mean_ratio(errors: Floats, weights: Floats) -> float:
    """Return the mean of sum(g * errors) / sum(g * weights) over exponential g.

    It is the integral of sum(errors / (1 + s * weights)) / prod(1 + s * weights) over s > 0, since 1 / x is that of
    exp(-s x).
    """
    step = 0.1  # of the logarithm of s
    s = np.exp(np.arange(-15, 45, step))[:, np.newaxis] / weights.sum()
    products = np.exp(-np.log1p(s * weights).sum(axis=1))
    return float(step * (s[:, 0] * products * (errors / (1 + s * weights)).sum(axis=1)).sum())
