"""A unit, its replacement and everybody else, all equally far apart: what long runs on samples reveal at least.

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

_CELLS = 400  # of each coordinate
_FAR = 8.0  # standard deviations of normal noise that are told apart
_FINE = 2000  # losses that are told apart on each side
_NEAR = 1e-2  # of the greatest loss: below it they are told apart evenly
_LEAST = 1e-15  # of probabilities that are told apart
_MAX_LOSS = 440.0  # of losses that the engine can compose; greater ones are left out, which reveals less
_DOUBT = 2.0**18  # roundings of a difference of two tails, and of sums of them


def triangle_law(base: Statement, weights: Sequence[float]) -> LossLaw | None:
    """The law of this pair, or one that reveals less; None where three such releases are not known.

    Args:
        weights: the probabilities that the unit is in the sample 0, 1, 2, ... times, to a few roundings. The last ones
            are joined: a mechanism may count no farther.
    """
    last = max(int(np.count_nonzero(np.array(weights) > _LEAST)) - 1, 1)
    shares = np.array([*weights[:last], math.fsum(weights[last:])])
    limit, failed = base.response or (0, 0)
    if limit and not failed:
        return _ternary_law(float(limit), float(shares[1:].sum()))
    if base.normal_mu_squared:
        mu = math.sqrt(base.normal_mu_squared)
        ahead, aside = mu * math.sqrt(3) / 2, mu / 2
        first: Floats = np.linspace(-_FAR, ahead * last + _FAR, _CELLS)
        second: Floats = np.linspace(-aside * last - _FAR, aside * last + _FAR, _CELLS)
        steps = np.arange(last + 1, dtype=np.float64)
        return _plane_law(shares, normal_cells(first, ahead * steps), normal_cells(second, aside * steps))
    if base.laplace_epsilon is not None:
        inner, half = max(_CELLS // (2 * last), 8), float(base.laplace_epsilon) / 2
        first, second = (laplace_cells(half, moves, inner) for moves in (last, 2 * last))
        return _plane_law(shares, first, second[last:])
    return None


def laplace_cells(limit: float, moves: int, inner: int) -> Floats:
    """Laplace noise of scale 1 at 0, limit, ..., moves * limit: `inner` cells between each two, and the outer tails."""
    width = limit / inner
    starts, centres = np.arange(moves * inner), inner * np.arange(moves + 1)[:, None]
    away = np.where(starts >= centres, starts - centres, centres - starts - 1)
    reach = np.exp(-limit * np.arange(moves + 1)) / 2
    return np.column_stack((reach, np.exp(-width * away) * (-math.expm1(-width) / 2), reach[::-1]))


def normal_cells(edges: Floats, centres: Floats) -> Floats:
    """Probabilities of the intervals and tails that these edges part, for each centre; differences of small tails."""
    from scipy.special import ndtr

    above = edges[None, :] - centres[:, None]
    one, none = np.ones((centres.size, 1)), np.zeros((centres.size, 1))
    rising = np.diff(np.hstack((none, ndtr(above), one)))
    falling = -np.diff(np.hstack((one, ndtr(-above), none)))
    return np.where(np.hstack((none, above)) > 0, falling, rising)


def _ternary_law(limit: float, share: float) -> FiniteLaw:
    """Ternary response on which of the three is there."""
    rare = 1 / (math.exp(limit) + 2)
    high = (1 + share * math.expm1(limit)) * rare
    loss = math.log1p(share * math.expm1(limit))
    masses = np.array([rare, 1 - rare - high, high])
    roundings = 64 + 16 / (1 - rare - high)
    return FiniteLaw(np.array([-loss, 0.0, loss]), masses, masses[::-1], spacing=loss, roundings=roundings)


def _plane_law(shares: Floats, first: Floats, second: Floats) -> LossLaw | None:
    """Noise of independent coordinates, at 0 and at multiples of (ahead, aside) and of (ahead, -aside).

    Args:
        first, second: probabilities of cells of each coordinate, a row for each multiple; the cells of the second are
            symmetric about 0.
    """
    p, q = ((first.T * shares @ side).ravel() for side in (second, second[:, ::-1]))
    return law_of_cells(p, q)


def law_of_cells(p: Floats, q: Floats) -> LossLaw | None:
    """A law below that of the pair with these probabilities of cells; None where they tell nothing apart.

    Args:
        p, q: sums of differences of tails, each difference at least 2^-8 of its tails; or left-out cells.
    """
    far = math.exp(-_MAX_LOSS)
    told = (p > far * q) & (q > far * p)
    p, q = p[told], q[told]
    losses = np.log(p / q)
    if losses.max() <= 0:
        return None
    scaled = np.arcsinh(losses / (_NEAR * losses.max())) * (_FINE / math.asinh(1 / _NEAR))
    places = np.rint(scaled - scaled.min()).astype(np.int64)
    p, q = (np.asarray(np.bincount(places, weights=side), dtype=np.float64) for side in (p, q))
    some = (p > 0) & (q > 0)
    p, q = p[some], q[some]
    losses = np.maximum.accumulate(np.log(p / q))
    return AllocatedLaw(losses, p, q, ends=(0.0, 0.0), roundings=_DOUBT, doubt=2 * _DOUBT * UNIT)
