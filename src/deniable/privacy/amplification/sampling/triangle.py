"""Lower bounds for long runs on samples: a unit, its replacement, and all others.

All three are equally far apart. With R, P, P' the releases when a sample holds neither, the unit or its replacement,
each two of which are as different as the loss allows, the pair is (1 - rate) R + rate P against (1 - rate) R + rate P'.
Its curve is below that of (1 - rate) R + rate P against R for epsilon > 0, and that of a long composition is above.
Docs: docs/theory/privacy/sampling.md.

With R, P, P' the releases when a sample holds neither, the unit or its replacement, each two of which are as different
as the loss allows, the pair is (1 - rate) R + rate P against (1 - rate) R + rate P'. Its curve is below that of
(1 - rate) R + rate P against R for epsilon > 0, and that of a long composition is above. Docs:
docs/theory/privacy/sampling.md.
"""

import math
from collections.abc import Sequence

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.amplification.sampling.allocated_law import AllocatedLaw
from deniable.privacy.pld.law import UNIT, FiniteLaw, LossLaw
from deniable.privacy.statement import Statement

_CELLS_PER_COORDINATE = 400  # of the plane
_NORMAL_RANGE = 8.0  # standard deviations of noise that cells cover
_LOSSES_PER_SIDE = 2000  # values of the loss that are kept apart on each side
_EVEN_SHARE = 1e-2  # share of the greatest loss below which values are evenly spaced
_MIN_PROBABILITY = 1e-15  # smaller weights are joined to the last one
_MAX_LOSS = 440.0  # that the engine can compose; greater ones are left out, which reveals less
_ROUNDINGS = 2.0**18  # error of a difference of two tails, and of sums of them


def triangle_law(base: Statement, weights: Sequence[float]) -> LossLaw | None:
    """Return the law of this pair, or one that reveals less.

    None where three such releases are not known.

    Args:
        base: the loss of the mechanism, under replace.
        weights: the probabilities that the unit is in the sample 0, 1, 2, ... times, to a few roundings. The last ones
            are joined: a mechanism may count no farther.
    """
    last = max(int(np.count_nonzero(np.array(weights) > _MIN_PROBABILITY)) - 1, 1)
    shares = np.array([*weights[:last], math.fsum(weights[last:])])
    limit, failed = base.response or (0, 0)
    if limit and not failed:
        return _ternary_law(float(limit), float(shares[1:].sum()))
    if base.normal_mu_squared:
        mu = math.sqrt(base.normal_mu_squared)
        ahead = mu * math.sqrt(3) / 2
        aside = mu / 2
        first: Floats = np.linspace(-_NORMAL_RANGE, ahead * last + _NORMAL_RANGE, _CELLS_PER_COORDINATE)
        second: Floats = np.linspace(-aside * last - _NORMAL_RANGE, aside * last + _NORMAL_RANGE, _CELLS_PER_COORDINATE)
        steps = np.arange(last + 1, dtype=np.float64)
        return _plane_law(shares, normal_cells(first, ahead * steps), normal_cells(second, aside * steps))
    if base.laplace_epsilon is not None:
        inner = max(_CELLS_PER_COORDINATE // (2 * last), 8)
        half = float(base.laplace_epsilon) / 2
        first, second = (laplace_cells(half, moves, inner) for moves in (last, 2 * last))
        return _plane_law(shares, first, second[last:])
    return None


def laplace_cells(limit: float, moves: int, inner: int) -> Floats:
    """Return cell probabilities of Laplace noise of scale 1 at multiples of `limit`.

    The centres are 0, limit, ..., moves * limit, with `inner` cells between each two, and the outer tails.
    """
    width = limit / inner
    starts = np.arange(moves * inner)
    centres = inner * np.arange(moves + 1)[:, None]
    away = np.where(starts >= centres, starts - centres, centres - starts - 1)
    tails = np.exp(-limit * np.arange(moves + 1)) / 2
    return np.column_stack((tails, np.exp(-width * away) * (-math.expm1(-width) / 2), tails[::-1]))


def normal_cells(edges: Floats, centres: Floats) -> Floats:
    """Return the normal probabilities of the intervals and tails between these edges.

    A row for each centre; they are differences of small tails.
    """
    from scipy.special import ndtr

    above = edges[None, :] - centres[:, None]
    one = np.ones((centres.size, 1))
    none = np.zeros((centres.size, 1))
    rising = np.diff(np.hstack((none, ndtr(above), one)))
    falling = -np.diff(np.hstack((one, ndtr(-above), none)))
    return np.where(np.hstack((none, above)) > 0, falling, rising)


def _ternary_law(limit: float, share: float) -> FiniteLaw:
    """Return the law of ternary response: which of the three is present."""
    rare = 1 / (math.exp(limit) + 2)
    high = (1 + share * math.expm1(limit)) * rare
    loss = math.log1p(share * math.expm1(limit))
    masses = np.array([rare, 1 - rare - high, high])
    roundings = 64 + 16 / (1 - rare - high)
    return FiniteLaw(np.array([-loss, 0.0, loss]), masses, masses[::-1], spacing=loss, roundings=roundings)


def _plane_law(shares: Floats, first: Floats, second: Floats) -> LossLaw | None:
    """Return a law of noise with two independent coordinates.

    It is at 0 and at multiples of (ahead, aside) and of (ahead, -aside).

    Args:
        first, second: probabilities of cells of each coordinate, a row for each multiple; the cells of the second are
            symmetric about 0.
    """
    p, q = ((first.T * shares @ side).ravel() for side in (second, second[:, ::-1]))
    return law_of_cells(p, q)


def law_of_cells(p: Floats, q: Floats) -> LossLaw | None:
    """Return a law below the pair with these cell probabilities.

    None where they cannot be distinguished.

    Args:
        p, q: sums of differences of tails, each difference at least 2^-8 of its tails; or left-out cells.
    """
    far = math.exp(-_MAX_LOSS)
    distinguishable = (p > far * q) & (q > far * p)
    p, q = p[distinguishable], q[distinguishable]
    losses = np.log(p / q)
    if losses.max() <= 0:
        return None
    scaled = np.arcsinh(losses / (_EVEN_SHARE * losses.max())) * (_LOSSES_PER_SIDE / math.asinh(1 / _EVEN_SHARE))
    bins = np.rint(scaled - scaled.min()).astype(np.int64)
    p, q = (np.asarray(np.bincount(bins, weights=side), dtype=np.float64) for side in (p, q))
    some = (p > 0) & (q > 0)
    p, q = p[some], q[some]
    losses = np.maximum.accumulate(np.log(p / q))
    return AllocatedLaw(losses, p, q, ends=(0.0, 0.0), roundings=_ROUNDINGS, doubt=2 * _ROUNDINGS * UNIT)
