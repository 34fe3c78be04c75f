"""One run, by the number of right guesses among a number of guesses that was fixed before."""

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

Inverse = Callable[[float], float]  # least share of false alarms of a test with this share of hits

_FARTHEST = 200.0
_POINTS, _LINES = 2049, 129


def last_rejected(reject: Callable[[float], bool], *, low: float = 0.0, width: float = 1e-11) -> float | None:
    """Parameter up to which all are rejected, where that ends once; None where `low` is not.

    Error: below the truth by at most width, or that share of it.
    """
    step = 1.0
    if not reject(low):
        return None
    while low + step < _FARTHEST and reject(low + step):
        low, step = low + step, step * 2
    high = low + step
    while high - low > width * max(1.0, abs(high)):
        middle = (low + high) / 2
        low, high = (middle, high) if reject(middle) else (low, middle)
    return low


def p_value(right: int, guesses: int, canaries: int, *, epsilon: float, delta: float) -> float:
    """Bound on the chance that an (epsilon, delta)-DP mechanism lets this many guesses, or more, be right.

    Guarantee: P(B >= right) + 2 canaries delta max over i of P(right > B >= right - i) / i, for B binomial with chance
        1/(1 + exp(-epsilon)).
    Source: Steinke, Nasr, Jagielski (2023), arXiv:2305.08846.
    """
    chance = float(expit(epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if not delta or not right:
        return min(1.0, tail)
    steps = np.arange(1, right + 1)
    near = float(np.max((binom.sf(right - steps - 1, guesses, chance) - tail) / steps))
    return min(1.0, tail + 2 * canaries * delta * near)


def by_count(right: int, guesses: int, canaries: int, *, level: float, delta: float) -> float:
    """Largest epsilon that the p-value rejects together with all smaller ones; 0 where it rejects none.

    >>> round(by_count(100, 100, 100, level=0.05, delta=0), 6)
    3.492965
    """
    return last_rejected(lambda e: p_value(right, guesses, canaries, epsilon=e, delta=delta) <= level) or 0.0


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

    def bound(self, right: int, guesses: int, canaries: int, *, level: float) -> float:
        """Epsilon up to which all curves are rejected; 0 where none is."""
        found = last_rejected(
            lambda x: rejected(right, guesses, canaries, level=level, inverse=self.inverse(x)),
            low=self.start, width=1e-4,
        )  # fmt: skip
        return 0.0 if found is None else self.epsilon(found)


def gaussian(delta: float) -> Family:
    """Curves of Gaussian noise, by mu."""
    if not delta:
        raise InvalidParameterError("a bound for Gaussian noise needs delta > 0: at 0 its epsilon is infinite")

    def epsilon(mu: float) -> float:
        return GaussianDPLoss(Fraction(mu)).epsilon(Fraction(delta)).lower if mu > 0 else 0.0

    return Family(inverse=lambda mu: lambda hits: float(ndtr(ndtri(hits) - mu)), epsilon=epsilon)


def shifted(claim: PrivacyLoss | None, delta: float) -> Family:
    """Curves of a claimed loss whose epsilon is raised or lowered by the same number at every delta.

    Guarantee: delta(e - shift) as a function of e; the share of misses is at least 1 - delta(e) - exp(e) a and
        exp(-e) (1 - delta(e) - a) for every e, so that fewer e make a test that rejects less.
    """
    if claim is None:
        raise InvalidParameterError('method "claim" needs a claim; give one, or choose "count"')
    stated = claim.epsilon(Fraction(delta)).upper
    if math.isinf(stated):
        raise InvalidParameterError(f"the claim has no finite epsilon at delta={delta:g}; ask at a larger delta")
    places = np.concatenate([np.linspace(0.0, stated, _LINES), stated * np.geomspace(1.05, 4, 17), [stated + 1]])
    deltas = np.array([one.upper for one in claim.delta([Fraction(float(place)) for place in places])])

    def inverse(shift: float) -> Inverse:
        moved = places + shift
        return _lines(moved[moved >= 0], deltas[moved >= 0])

    return Family(inverse=inverse, epsilon=lambda shift: max(0.0, stated + shift), start=-stated)


def _lines(epsilons: NDArray[np.float64], deltas: NDArray[np.float64]) -> Inverse:
    """Lower bound on a trade-off curve by straight lines, two for each known (epsilon, delta); any one is a bound."""
    odds = np.exp(epsilons)
    starts = np.concatenate([1 - deltas, (1 - deltas) / odds, [0.0]])
    slopes = np.concatenate([-odds, -1 / odds, [0.0]])
    alarms = np.concatenate([[0.0], np.geomspace(1e-12, 1.0, _POINTS)])
    best = np.argmax(starts[:, None] + slopes[:, None] * alarms, axis=0)
    places = np.flatnonzero(np.diff(best, prepend=-1))  # where lines take turns
    turns, lines = alarms[places].tolist(), np.column_stack([starts, slopes])[best[places]].tolist()

    def least(hits: float) -> float:
        start, slope = lines[max(bisect_right(turns, 1 - hits) - 1, 0)]
        return float(start + slope * (1 - hits))

    return least
