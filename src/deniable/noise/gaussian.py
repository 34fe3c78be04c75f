"""The discrete Gaussian law: P(k) proportional to exp(-k^2 / (2 sigma_squared)) over all integers.

Guarantee: draws have exactly this law, tails included; each is an independent function of fresh bits.
Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010, for the law; blocks.py and docs/theory/noise/draws.md for the
    draw.
"""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.noise import parameters, refine
from deniable.noise.bits import SECURE, Bits
from deniable.noise.blocks import Draws, Law, blocks_of

if TYPE_CHECKING:
    from flint import arb

LARGEST_SIGMA_SQUARED = Fraction(2**114)
SMALLEST_SIGMA_SQUARED = Fraction(1, 2**57)
_SUMMED = 64  # up to this sigma sums are taken term by term


def sample(*, sigma_squared: Fraction | int, size: parameters.Size = None, bits: Bits = SECURE) -> Draws:
    """Independent draws from the discrete Gaussian law.

    Args:
        sigma_squared: in the squared unit of the draws, exact, in [2^-57, 2^114]. The variance is not above it.
        size: shape of the result; None for an array without dimensions.
        bits: leave it out, except in tests.

    Returns: int64; an object array of Python ints if one of the draws does not fit.
    Guarantee: P(k) is proportional to exp(-k^2 / (2 sigma_squared)), exactly.
    Raises: InvalidParameterError if sigma_squared is a float or outside its range.
    """
    shape = parameters.shape(size)
    law = Law(1 / (2 * _checked(sigma_squared)), 2)
    return blocks_of(law).draw(math.prod(shape), bits).reshape(shape)


def half_width(sigma_squared: Fraction | int, level: float | Fraction) -> int:
    """The smallest t for which P[|X| <= t] >= level could be certified.

    Args:
        sigma_squared: as in `sample`.
        level: in [0, 1); taken as the exact binary fraction that the float is.

    Guarantee: P[|X| <= t] >= level.
    Error: t is the smallest such integer for sigma <= 64, and at most one above it for larger sigma.
    """
    variance = _checked(sigma_squared)
    miss = 1 - parameters.probability_level(level)
    from flint import ctx

    with ctx.workprec(200):
        total = _normaliser(variance)
        low, high = -1, 1
        while not _upper_tail(variance, high) <= refine.ball(miss) * total:
            low, high = high, 2 * high
        while high - low > 1:  # certified at high, not at low
            middle = (low + high) // 2
            if _upper_tail(variance, middle) <= refine.ball(miss) * total:
                high = middle
            else:
                low = middle
    return high


def quantile(sigma_squared: Fraction | int, p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The smallest k with P[X <= k] >= p, in float64: for error bars, which are post-processing, and for nothing else.

    Args:
        sigma_squared: as in `sample`.
        p: in [0, 1].

    Error: one step where p is within rounding of a jump of the law; one step for sigma > 64.
    """
    variance = float(_checked(sigma_squared))
    p = np.asarray(p, dtype=np.float64)
    if variance > _SUMMED**2:
        from scipy.special import ndtri

        return np.asarray(np.ceil(math.sqrt(variance) * ndtri(p) - 0.5) + 0.0, dtype=np.float64)
    k, mass = _atoms(variance)
    found = k[np.minimum(np.searchsorted(np.cumsum(mass) / mass.sum(), p), k.size - 1)]
    return np.where(p <= 0, -np.inf, np.where(p >= 1, np.inf, found))


def standard_deviation(sigma_squared: Fraction | int) -> float:
    """Square root of the variance of the discrete law, in float64; for sigma above 3 it is sigma to the last digit."""
    variance = float(_checked(sigma_squared))
    if variance > 9:
        return math.sqrt(variance)
    k, mass = _atoms(variance)
    return math.sqrt(float((mass * k**2).sum() / mass.sum()))


def _checked(sigma_squared: Fraction | int) -> Fraction:
    return parameters.rational(
        "sigma_squared", sigma_squared, lower=SMALLEST_SIGMA_SQUARED, upper=LARGEST_SIGMA_SQUARED
    )


def _atoms(variance: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The integers that weigh more than 10^-300 or so, and their weights, in float64."""
    half = int(38 * math.sqrt(variance)) + 1
    k = np.arange(-half, half + 1, dtype=np.float64)
    return k, np.exp(np.maximum(-(k**2) / (2 * variance), -745.0))


def _normaliser(variance: Fraction) -> "arb":
    """Enclosure of the sum of exp(-k^2 / (2 variance)) over all integers.

    Poisson summation turns it into sqrt(2 pi variance) times the sum of exp(-2 pi^2 variance j^2).
    """
    from flint import arb

    if variance < 1:
        return 1 + _tail_by_sum(variance, 0)
    square = 2 * arb.pi() ** 2 * refine.ball(variance)
    rest = arb(0, 1) * 3 * (-9 * square).exp()  # the terms |j| >= 3
    return (2 * arb.pi() * refine.ball(variance)).sqrt() * (1 + 2 * (-square).exp() + 2 * (-4 * square).exp() + rest)


def _upper_tail(variance: Fraction, t: int) -> "arb":
    """Upper bound (an enclosure of one) of the sum of exp(-k^2 / (2 variance)) over |k| > t.

    Below sigma = 64 the sum itself. Above, for t >= sigma the summand is convex, so that f(k) is at most its mean over
    [k - 1/2, k + 1/2]; for t < sigma the trapezoidal rule on [-t, t] errs by at most 1/8 of the integral of |f''|.
    """
    if variance <= _SUMMED**2:
        return _tail_by_sum(variance, t)
    spread = refine.ball(variance).sqrt()
    if Fraction(t) ** 2 >= variance:
        return _integral_above(spread, Fraction(2 * t + 1, 2))
    inside = _integral_above(spread, Fraction(-t)) - _integral_above(spread, Fraction(t))
    edge = (-refine.ball(Fraction(t * t) / (2 * variance))).exp()
    return _normaliser(variance) - inside / 2 - edge + 1 / (2 * spread)


def _integral_above(spread: "arb", start: Fraction) -> "arb":
    """Twice the integral of exp(-x^2 / (2 spread^2)) from start to infinity."""
    from flint import arb

    return spread * (2 * arb.pi()).sqrt() * (refine.ball(start) / (spread * arb(2).sqrt())).erfc()


def _tail_by_sum(variance: Fraction, t: int) -> "arb":
    """Enclosure of the sum of exp(-k^2 / (2 variance)) over |k| > t: terms, then a geometric bound of the rest."""
    from flint import arb

    rate = refine.ball(1 / (2 * variance))
    k = t + 1
    first = (-rate * k * k).exp()
    total, term, step, shrink = arb(0), first, (-rate * (2 * k + 1)).exp(), (-2 * rate).exp()
    terms = int(10 * math.sqrt(variance)) + 10
    for _ in range(terms):  # term(k + 1) = term(k) step(k), step(k + 1) = step(k) exp(-2 rate)
        total, term, step = total + term, term * step, step * shrink
    rest = term / (1 - step)
    return 2 * (total + rest * arb(0.5, 0.5))
