"""Best adaptive strategy of equal bounded-range mechanisms, one after another.

Each is chosen after the answers of the earlier ones. Proofs: docs/theory/privacy/losses.md, "One choice after another".

Proofs: docs/theory/privacy/losses.md, "One choice after another".
"""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.privacy.pld.curve_law import law_above
from deniable.privacy.pld.law import UNIT, FiniteLaw, LossLaw, Pairs
from deniable.privacy.pld.laws import BoundedRangeLaw

_MAX_RUNS = 64  # whose strategies are searched as one
_CURVE_POINTS = 2048  # of the curve of all runs
_MIN_PIECES = 32  # of the grid in one limit
_MAX_PIECES = 256  # of the grid in one limit
_RUNS_PER_POINT = 16  # runs for which one more point is left out of the law
_MAX_LOSS = 300.0  # greatest sum of losses on a grid
_UNDERFLOW = 1e-300  # more than floats lose by underflow


def chosen_one_after_another(limit: Fraction, count: int) -> list[tuple[Pairs, int]]:
    """Return pairs that dominate `count` adaptive choices, each with its number.

    The choices have losses in intervals of length `limit`.

    Guarantee: above every strategy, also when other mechanisms run in between. Attained are `count` choices between
        two candidates with equal losses; their place in the interval does well where delta is about 1e-6.
    Error: epsilons of the best strategy are exceeded by about 1% at most: by less than 0.3% for the grid, and for more
        than 64 runs by up to 0.8% for the blocks.
    """
    number = math.ceil(count / min(_MAX_RUNS, max(int(_MAX_LOSS / float(limit)), 1)))
    size, longer = divmod(count, number)
    share = Fraction(round(1000 * min(0.5 + (0.65 + 0.13 * float(limit)) / math.sqrt(count), 0.9)), 1000)
    sizes = [(runs, often) for runs, often in ((size + 1, longer), (size, number - longer)) if often]
    return [(Pairs.symmetric(greatest_law(limit, runs), attained_law(limit, share, runs)), n) for runs, n in sizes]


@lru_cache(maxsize=64)
def greatest_law(limit: Fraction, count: int) -> LossLaw:
    """Return the law of the least pair above every strategy of `count` runs.

    It is exact up to the width of a grid.
    """
    if count == 1:
        return BoundedRangeLaw(float(limit))
    exp_epsilons, heights = greatest_curve(limit, count)
    kept = [*range(0, exp_epsilons.size - 1, 1 + count // _RUNS_PER_POINT), exp_epsilons.size - 1]
    points = [(Fraction(float(exp_epsilons[i])), Fraction(float(heights[i]))) for i in kept]
    return law_above(points, points)


@lru_cache(maxsize=64)
def attained_law(limit: Fraction, share: Fraction, count: int) -> FiniteLaw:
    """Return the law of `count` choices between two candidates.

    Their losses are t = share * limit and t - limit.
    """
    top = share * limit

    def binomial(sign: int, lows: int) -> float:
        """Probability of `lows` lower losses, under P (sign 1) or Q (sign -1)."""

        def formula() -> Arb:
            high = ball(sign * (top - limit)).expm1() / ball(-sign * limit).expm1()
            low = ball(sign * top).expm1() / ball(sign * limit).expm1()
            return math.comb(count, lows) * high ** (count - lows) * low**lows

        return certified(formula).upper

    falling = range(count, -1, -1)
    losses = np.array([float(count * top - lows * limit) for lows in falling])
    p, q = (np.array([binomial(sign, lows) for lows in falling]) for sign in (1, -1))
    return FiniteLaw(losses, p, q, spacing=float(limit))


def greatest_curve(limit: Fraction, count: int) -> tuple[Floats, Floats]:
    """Return x = e^epsilon >= 1, and bounds on delta of the best strategy there.

    The strategy has `count` runs.

    Error: second order in limit / pieces, for each run.
    Source: Dong, Durfee, Rogers (2020), arXiv:1909.13830, for the recursion over adaptive choices.
    """
    pieces = min(max(_CURVE_POINTS // count, _MIN_PIECES), _MAX_PIECES)
    width = float(limit) / pieces * (1 + 4 * UNIT)
    losses = width * np.arange((count + 1) * pieces + 1)
    heights = np.zeros(losses.size)  # of no run
    back = np.arange(pieces, 0, -1)
    shrunk, lost = np.exp(-losses[back]), -np.expm1(-losses[back])
    for runs in range(1, count + 1):
        left = (lost + shrunk * heights[back]) * (1 + (16 + 4 * losses[pieces]) * UNIT)  # strategies may be reversed
        last = runs * pieces + 1
        heights[:last] = _one_more(np.append(left, heights[: last + pieces]), pieces, width)
    exp_epsilons = np.exp(losses[:last]) * (1 + (8 + 4 * losses[:last]) * UNIT)
    exp_epsilons[0], heights[last - 1] = 1.0, 0.0
    return exp_epsilons, heights[:last]


def _one_more(heights: Floats, pieces: int, width: float) -> Floats:
    """Return a bound on the greatest mean height after one more run.

    For all but the outer `pieces` points at either side. The run has the losses t and t - limit. For t between two
    points of the grid the mean is a concave function of e^t, but for rounding, so it lies below the point where its
    tangents at both ends cross.

    The run has the losses t and t - limit. For t between two points of the grid the mean is a concave function of e^t,
    but for rounding, so it lies below the point where its tangents at both ends cross.
    """
    heights = np.minimum.accumulate(heights)
    span = pieces * width
    wrong = (64 + 16 * pieces * width) * UNIT
    unit = math.expm1(width) / -math.expm1(-span)
    last = math.exp(-span)
    i: Floats = np.arange(pieces + 1, dtype=np.float64)  # t = i * width
    high = np.expm1((i - pieces) * width) / math.expm1(-span)  # P(L = t)
    low = np.exp((i - pieces) * width) * np.expm1(-i * width) / math.expm1(-span)  # P(L = t - limit)
    falls = -np.diff(heights) / math.expm1(width)  # minus the slope of each bin, times the odds at its left end
    high_height, low_height = _windows(heights, pieces + 1, pieces)  # (points, pieces + 1)
    high_fall, low_fall = _windows(falls, pieces, pieces)
    high_axis, low_axis = _windows(heights[:-1] + falls, pieces, pieces)  # where the line of a bin meets odds 0
    scaled = np.exp((i[:-1] - pieces) * width)
    pull = last * low_fall - high_fall  # the mean is constant + rise e^t + pull e^-t, both scaled
    rise = scaled * (low_axis - high_axis)
    bend = np.minimum(pull, 0.0)
    slack = wrong * (scaled * (low_axis + high_axis) + math.exp(width) * (last * low_fall + high_fall))
    up = unit * (np.maximum(rise - math.exp(width) * bend, 0.0) + slack) + _UNDERFLOW
    down = unit * (np.maximum(math.exp(-width) * bend - rise, 0.0) + np.maximum(pull, 0.0) + slack) + _UNDERFLOW
    mean = high * high_height + low * low_height
    crossed = (down / (up + down)) * (mean[:, :-1] + up) + (up / (up + down)) * mean[:, 1:]
    best: Floats = crossed.max(axis=1) * (1 + wrong) + _UNDERFLOW
    return np.minimum(best, 1.0)


def _windows(values: Floats, length: int, pieces: int) -> tuple[Floats, Floats]:
    """Return windows of `length` values, from right to left, for each point.

    Those that end there, and those `pieces` to the right.
    """
    windows = sliding_window_view(values, length)[:, ::-1]
    return windows[: values.size + 1 - length - pieces], windows[pieces:]
