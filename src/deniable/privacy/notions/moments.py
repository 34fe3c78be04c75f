"""Compositions too long for a transform, bounded by Rényi divergences.

From above every order gives a bound, and the best one is searched. From below the loss is near its mean: Chebyshev's
inequality for one side, with the second moment bounded by a divergence. For very many steps both ends meet.
Proofs: docs/theory/privacy/composition.md.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from deniable.numbers.interval import Interval
from deniable.privacy.notions.conversion import renyi_delta, renyi_epsilon
from deniable.privacy.notions.renyi import directed, upper_divergence

if TYPE_CHECKING:
    from deniable.privacy.statement import Statement

Counted = Sequence[tuple["Statement", int]]  # independent parts, each so many times

_ORDER_POWERS = range(-48, 17, 4)  # of orders 1 + 2^power that are tried first
_SECOND_MOMENT_RATES = tuple(Fraction(1, 2**power) for power in range(5))  # s in the bound on a second moment
_DEVIATIONS = np.geomspace(1e-3, 1e4, 141)  # in standard deviations, for Chebyshev's inequality
_DROPS = np.geomspace(1e-9, 40.0, 120)  # distances of the loss above epsilon that are tried for a lower bound on delta
_ROUNDING = 1e-9  # more than the relative error of the few sums below


def epsilon_by_moments(loss: "Statement", parts: Counted, delta: Fraction) -> Interval:
    """Return bounds on the least epsilon for 0 < delta < 1 of a composition."""
    upper = _least_bound(lambda order, divergence: renyi_epsilon(order, divergence, delta), loss)
    lower = 0.0
    for mean, variance in _means(parts):
        chances = _DEVIATIONS**2 / (1 + _DEVIATIONS**2) * (1 - _ROUNDING)
        enough = chances > float(delta) * (1 + _ROUNDING)
        if enough.any():
            drops = -np.log1p(-float(delta) / chances[enough]) * (1 + _ROUNDING)
            away = _DEVIATIONS[enough] * math.sqrt(variance) + drops
            lower = max(lower, float((mean - away - _ROUNDING * (mean + away)).max()))
    return Interval(min(lower, upper), upper)


def delta_by_moments(loss: "Statement", parts: Counted, epsilon: Fraction) -> Interval:
    """Return bounds on delta at `epsilon` of a composition of `parts`."""
    upper = min(_least_bound(lambda order, divergence: renyi_delta(order, divergence, epsilon), loss), 1.0)
    lower = 0.0
    at = float(epsilon)
    for mean, variance in _means(parts):
        room = mean - at - _ROUNDING * (mean + at)
        gaps = np.maximum(room - _DROPS, 0.0)
        chances = gaps**2 / np.maximum(variance + gaps**2, 1e-300)
        lower = max(lower, float((-np.expm1(-_DROPS) * chances).max()) * (1 - _ROUNDING))
    return Interval(min(lower, upper), upper)


def _means(parts: Counted) -> list[tuple[float, float]]:
    """Return for each direction a lower mean and an upper variance of the loss.

    Directions with an infinite variance are left out. s^2 x^2 <= exp(s x) + exp(-s x) - 2 and E exp(-s L) <= 1 for s <=
    1, so E L^2 <= (exp(s D_(1+s)) - 1)/s^2.

    s^2 x^2 <= exp(s x) + exp(-s x) - 2 and E exp(-s L) <= 1 for s <= 1, so E L^2 <= (exp(s D_(1+s)) - 1)/s^2.
    """
    moments = []
    for direction in (0, 1):
        if any(math.isinf(directed(part, Fraction(1))[direction].lower) for part, _ in parts):
            continue
        mean = sum(
            (Fraction(directed(part, Fraction(1))[direction].lower) * count for part, count in parts), Fraction(0)
        )
        variance = math.fsum(_second_moment(part, direction) * count for part, count in parts)
        if math.isfinite(variance):
            moments.append((float(mean), variance * (1 + _ROUNDING)))
    return moments


def _second_moment(part: "Statement", direction: int) -> float:
    """Return an upper bound on E L^2 of one part in one direction."""
    ends = ((float(s), directed(part, 1 + s)[direction].upper) for s in _SECOND_MOMENT_RATES)
    return min(
        (math.expm1(s * end) / s**2 * (1 + _ROUNDING) for s, end in ends if s * end < 600),
        default=math.inf,
    )


def _least_bound(value: Callable[[Fraction, Fraction], float], loss: "Statement") -> float:
    """Return the least bound over orders.

    Some powers of two come first, then orders nearer to the best.
    """
    tried: dict[Fraction, float] = {}

    def at(order: Fraction) -> float:
        if order not in tried:
            divergence = upper_divergence(loss, order)
            tried[order] = value(order, Fraction(divergence)) if math.isfinite(divergence) else math.inf
        return tried[order]

    power = min(_ORDER_POWERS, key=lambda power: at(1 + Fraction(2) ** power))
    best = min((1 + Fraction(2) ** power for power in range(max(power - 3, -48), min(power + 4, 17))), key=at)
    for steps in (4, 16, 64):
        neighbours = [1 + (best - 1) * Fraction(round(2 ** (i / steps) * 2**12), 2**12) for i in range(-4, 5)]
        best = min([best, *(Fraction(round(order)) if order > 8 else order for order in neighbours)], key=at)
    return at(best)
