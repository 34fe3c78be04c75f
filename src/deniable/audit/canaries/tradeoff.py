"""One run, against a whole trade-off curve: the number of right guesses that f-DP allows."""

import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianDPLoss, PrivacyLoss

Inverse = Callable[[float], float]  # least share of false alarms of a test with this share of hits

_FARTHEST = 200.0
_RELATIVE = 1e-4
_POINTS, _LINES = 2049, 129


def rejected(right: int, guesses: int, canaries: int, *, level: float, inverse: Inverse) -> bool:
    """Whether f-DP lets this many guesses, or more, be right with probability below `level`.

    Source: Mahloujifar, Melis, Chaudhuri (2024), arXiv:2410.22235.
    """
    hits, misses = level * right / canaries, level * (guesses - right) / canaries
    limit = guesses / canaries
    for count in range(right - 1, -1, -1):
        more = max(misses, inverse(min(hits, 1.0)))
        hits += count / (guesses - count) * (more - misses)
        misses = more
        if hits + misses > limit:  # both only grow
            return True
    return hits + misses > limit


@dataclass(frozen=True, kw_only=True)
class Family:
    """Nested curves, each below those of smaller parameters.

    Args:
        inverse: of the curve with a parameter.
        epsilon: at delta, of the loss with a parameter.
        start: least parameter.
    """

    inverse: Callable[[float], Inverse]
    epsilon: Callable[[float], float]
    start: float = 0.0


def approximate(delta: float) -> Family:
    """Curves of all (epsilon, delta)-DP mechanisms, by epsilon."""

    def inverse(epsilon: float) -> Inverse:
        odds = math.exp(epsilon)
        return lambda hits: max(0.0, (hits - delta) / odds, 1 - delta - odds * (1 - hits))

    return Family(inverse=inverse, epsilon=lambda epsilon: epsilon)


def gaussian(delta: float) -> Family:
    """Curves of Gaussian noise, by mu."""

    def epsilon(mu: float) -> float:
        return GaussianDPLoss(Fraction(mu)).epsilon(Fraction(delta)).lower if mu > 0 else 0.0

    return Family(inverse=lambda mu: lambda hits: float(ndtr(ndtri(hits) - mu)), epsilon=epsilon)


def shifted(claim: PrivacyLoss, delta: float) -> Family:
    """Curves of a claimed loss whose epsilon is raised or lowered by the same number at every delta.

    Guarantee: delta(e - shift) as a function of e; the share of misses is at least 1 - delta(e) - exp(e) a and
        exp(-e) (1 - delta(e) - a) for every e, so that fewer e make a test that rejects less.
    """
    stated = claim.epsilon(Fraction(delta)).upper
    if math.isinf(stated):
        raise InvalidParameterError(f"the claim has no finite epsilon at delta={delta:g}; ask at a larger delta")
    places = np.concatenate([np.linspace(0.0, stated, _LINES), stated * np.geomspace(1.05, 4, 17), [stated + 1]])
    deltas = np.array([one.upper for one in claim.delta([Fraction(float(place)) for place in places])])

    def inverse(shift: float) -> Inverse:
        moved = places + shift
        return _Lines(moved[moved >= 0], deltas[moved >= 0]).least

    return Family(inverse=inverse, epsilon=lambda shift: max(0.0, stated + shift), start=-stated)


@dataclass(frozen=True)
class _Lines:
    """Lower bound on a trade-off curve by straight lines, one for each known (epsilon, delta)."""

    epsilons: NDArray[np.float64]
    deltas: NDArray[np.float64]

    @cached_property
    def pieces(self) -> tuple[list[float], list[tuple[float, float]]]:
        """Where lines take turns, and the line (at 0, slope) from there on. Any line everywhere is a bound."""
        odds = np.exp(self.epsilons)
        starts = np.concatenate([1 - self.deltas, (1 - self.deltas) / odds, [0.0]])
        slopes = np.concatenate([-odds, -1 / odds, [0.0]])
        alarms = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, _POINTS)])
        best = np.argmax(starts[:, None] + slopes[:, None] * alarms, axis=0)
        turns = np.flatnonzero(np.diff(best, prepend=-1))
        return list(alarms[turns]), [(float(starts[one]), float(slopes[one])) for one in best[turns]]

    def least(self, hits: float) -> float:
        turns, lines = self.pieces
        start, slope = lines[max(bisect_right(turns, 1 - hits) - 1, 0)]
        return start + slope * (1 - hits)


def largest_rejected(family: Family, reject: Callable[[Inverse], bool]) -> float | None:
    """Parameter up to which all curves are rejected; None where the first is not.

    Error: below the truth by a part in 10^4.
    """
    low, step = family.start, 1.0
    if not reject(family.inverse(low)):
        return None
    while low + step < _FARTHEST and reject(family.inverse(low + step)):
        low, step = low + step, step * 2
    high = low + step
    while high - low > _RELATIVE * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if reject(family.inverse(middle)) else (low, middle)
    return low
