"""Audits in one run by the number of right guesses among a fixed number."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr, ndtri
from scipy.stats import binom

from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianDPLoss, PrivacyLoss

Inverse = Callable[[float], float]  # from the share of hits of a test to its least share of false alarms

_MAX_PARAMETER = 200.0  # epsilon or mu beyond which nothing is searched
_CURVE_POINTS = 2049  # of a trade-off curve
_CURVE_EPSILONS = 129  # up to the claimed one, at which the curve of a loss is read


def last_rejected(reject: Callable[[float], bool], *, low: float = 0.0, width: float = 1e-11) -> float | None:
    """Return the parameter up to which all are rejected; None if `low` is not.

    Error: below the truth by at most width, or that share of it.
    """
    step = 1.0
    if not reject(low):
        return None
    while low + step < _MAX_PARAMETER and reject(low + step):
        low += step
        step *= 2
    high = low + step
    while high - low > width * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if reject(middle) else (low, middle)
    return low


def p_value(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """Bound the chance of this number of right guesses, or more, under privacy.

    Guarantee: P(B >= right) + 2 canaries delta max over i of P(right > B >= right - i) / i, for B binomial with chance
        1/(1 + exp(-epsilon)).
    Source: Steinke, Nasr, Jagielski (2023), arXiv:2305.08846.
    """
    chance = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if not delta or not right:
        return min(1.0, tail)
    steps = np.arange(1, right + 1)
    excess = float(np.max((binom.sf(right - steps - 1, guesses, chance) - tail) / steps))
    return min(1.0, tail + 2 * canaries * delta * excess)


def by_count(right: int, guesses: int, canaries: int, *, level: float, delta: float) -> float:
    """Return the largest epsilon rejected together with all smaller ones, or 0.

    >>> round(by_count(100, 100, 100, level=0.05, delta=0), 6)
    3.492965
    """
    return last_rejected(lambda e: p_value(right, guesses, canaries, epsilon=e, delta=delta) <= level) or 0.0


def rejected(right: int, guesses: int, canaries: int, *, level: float, inverse: Inverse) -> bool:
    """Whether f-DP makes this number of right guesses, or more, rarer than `level`.

    Source: Mahloujifar, Melis, Chaudhuri (2024), arXiv:2410.22235.
    """
    hits = level * right / canaries
    misses = level * (guesses - right) / canaries
    limit = guesses / canaries
    for count in range(right - 1, -1, -1):
        more = max(misses, inverse(min(hits, 1.0)))
        hits += count / (guesses - count) * (more - misses)
        misses = more
        if hits + misses > limit:  # both only grow
            return True
    return hits + misses > limit


@dataclass(frozen=True, kw_only=True)
class CurveFamily:
    """Nested trade-off curves, each below those of smaller parameters.

    Args:
        inverse: from a parameter to the inverse of its curve.
        epsilon: from a parameter to the epsilon of its loss, at delta.
        start: smallest parameter.
    """

    inverse: Callable[[float], Inverse]
    epsilon: Callable[[float], float]
    start: float = 0.0

    def bound(self, right: int, guesses: int, canaries: int, *, level: float) -> float:
        """Return the epsilon up to which all curves are rejected, or 0."""
        parameter = last_rejected(
            lambda x: rejected(right, guesses, canaries, level=level, inverse=self.inverse(x)),
            low=self.start, width=1e-4,
        )  # fmt: skip
        return 0.0 if parameter is None else self.epsilon(parameter)


def gaussian(delta: float) -> CurveFamily:
    """Return the curves of Gaussian noise, by mu."""
    if not delta:
        raise InvalidParameterError(
            "delta must be > 0 for a bound on Gaussian noise, got 0: there its epsilon is infinite"
        )

    def epsilon(mu: float) -> float:
        return GaussianDPLoss(Fraction(mu)).epsilon(Fraction(delta)).lower if mu > 0 else 0.0

    return CurveFamily(inverse=lambda mu: lambda hits: float(ndtr(ndtri(hits) - mu)), epsilon=epsilon)


def shifted(claim: PrivacyLoss | None, delta: float) -> CurveFamily:
    """Return the curves of a claimed loss, with epsilon shifted at every delta alike.

    Guarantee: delta(e - shift) as a function of e; the share of misses is at least 1 - delta(e) - exp(e) a and
        exp(-e) (1 - delta(e) - a) for every e, so that fewer e make a test that rejects less.
    """
    if claim is None:
        raise InvalidParameterError('method "claim" needs a claim. Give one, or choose "count"')
    stated = claim.epsilon(Fraction(delta)).upper
    if math.isinf(stated):
        raise InvalidParameterError(
            f"the claim must have a finite epsilon at delta={delta:g}, and has none. Take a larger delta"
        )
    epsilons = np.concatenate(
        [np.linspace(0.0, stated, _CURVE_EPSILONS), stated * np.geomspace(1.05, 4, 17), [stated + 1]]
    )
    deltas = np.array([one.upper for one in claim.delta([Fraction(float(value)) for value in epsilons])])

    def inverse(shift: float) -> Inverse:
        moved = epsilons + shift
        return _lines(moved[moved >= 0], deltas[moved >= 0])

    return CurveFamily(inverse=inverse, epsilon=lambda shift: max(0.0, stated + shift), start=-stated)


def _lines(epsilons: NDArray[np.float64], deltas: NDArray[np.float64]) -> Inverse:
    """Return a lower bound on a trade-off curve by straight lines.

    There are two for each known (epsilon, delta); each one is a bound.
    """
    exp_epsilons = np.exp(epsilons)
    starts = np.concatenate([1 - deltas, (1 - deltas) / exp_epsilons, [0.0]])
    slopes = np.concatenate([-exp_epsilons, -1 / exp_epsilons, [0.0]])
    alarms = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, _CURVE_POINTS)])
    best = np.argmax(starts[:, None] + slopes[:, None] * alarms, axis=0)
    changes = np.flatnonzero(np.diff(best, prepend=-1))  # where another line is the highest
    turns = alarms[changes].tolist()
    lines = np.column_stack([starts, slopes])[best[changes]].tolist()

    def bound(hits: float) -> float:
        start, slope = lines[max(bisect_right(turns, 1 - hits) - 1, 0)]
        return float(start + slope * (1 - hits))

    return bound
