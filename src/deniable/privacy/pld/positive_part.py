"""Certified mean positive part E(X_1 + ... + X_n)_+ of a sum of independent steps.

Shuffled reports have such a curve. Short sums are written out. Long ones are smoothed by a Gaussian, which makes their
Fourier integral short, and the smoothing is bounded on both sides. Proofs: docs/theory/privacy/shuffling.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb
from deniable.numbers.interval import NONNEGATIVE, Interval

PRECISION = 128  # bits with which exact values are computed before they become floats

_UNIT = 2.0**-53
_MAX_STATES = 2**12  # of a sum that is enumerated
_MAX_FREQUENCIES = 2**20  # of a Fourier sum
_MAX_TERMS = 2**22  # of a Fourier sum: frequencies times values
_TAIL_RATES = np.geomspace(1e-3, 1.5, 20)  # rates of Chernoff bounds, relative to that of a normal sum
_NEGLIGIBLE_LOGARITHM = -50.0  # of terms that a Fourier sum leaves out
_NEGLIGIBLE_BOUND = 1e-280  # a smaller Chernoff bound is the answer
_UNDERFLOW = 1e-300  # more than the sum of all probabilities that underflow to 0


@dataclass(frozen=True)
class StepBounds:
    """Step X of a sum: values from below and from above, and their probabilities.

    Each weight is within two roundings of the truth, relatively; the last value is the 0 of an idle step.
    """

    below: Floats
    above: Floats
    weights: Floats

    @classmethod
    def of_balls(cls, values: Sequence[Arb], weights: Sequence[Arb]) -> "StepBounds":
        """Return bounds of a step with these values and probabilities.

        The value 0 has what is left to 1.
        """
        from flint import arb

        ends = [Interval.of_ball(value) for value in values]
        idle = max(float(1 - sum(weights, arb(0))), 0.0)
        return cls(
            np.array([end.lower for end in ends] + [0.0]),
            np.array([end.upper for end in ends] + [0.0]),
            np.array([float(weight) for weight in weights] + [idle]),
        )


class Bound(NamedTuple):
    """Bound that holds, and its relative distance from the truth by arithmetic alone."""

    value: float
    gap: float


def positive_part_above(steps: StepBounds, count: int, tolerance: float, *, effort: int = _MAX_TERMS) -> Bound:
    """Return an upper bound on E(X_1 + ... + X_count)_+.

    Its gap is `tolerance` where that is possible.

    Args:
        steps: bounds of one step.
        count: the number of steps.
        tolerance: relative.
        effort: how many terms a Fourier sum may have, frequencies times values; with fewer the gap may be wider.
    """
    lower, upper = _bounds(steps.above, steps.weights, count, tolerance, effort)
    drifted = float(upper) * math.exp(4 * _UNIT * count) * (1 + 4 * _UNIT)  # the weights may drift
    greatest = float(steps.above.max())
    return Bound(drifted + _UNDERFLOW * (1 + count * greatest) if greatest > 0 else drifted, _gap(lower, upper))


def positive_part_below(steps: StepBounds, count: int, tolerance: float) -> Bound:
    """Return a lower bound on E(X_1 + ... + X_count)_+."""
    lower, upper = _bounds(steps.below, steps.weights, count, tolerance)
    return Bound(max(float(lower), 0.0) * math.exp(-4 * _UNIT * count) * (1 - 4 * _UNIT), _gap(lower, upper))


def _gap(lower: float, upper: float) -> float:
    """Return the relative distance of two bounds."""
    return float((upper - lower) / upper) if upper > 0 else 0.0


def _bounds(
    values: Floats, weights: Floats, count: int, tolerance: float, effort: int = _MAX_TERMS
) -> tuple[float, float]:
    """Return both bounds, for values and weights that are these very floats."""
    values, weights = values[weights > 0], weights[weights > 0]
    if values.size == 0 or values.max() <= 0:
        return 0.0, 0.0
    if values.min() >= 0:
        mean = count * float(values @ weights)
        return mean * (1 - 32 * values.size * _UNIT), mean * (1 + 32 * values.size * _UNIT)
    enumerated = _enumerated(values, weights, count, tolerance)
    if enumerated is not None:
        return enumerated
    return _smoothed(values, weights, count, tolerance, effort)


def _enumerated(values: Floats, weights: Floats, count: int, tolerance: float) -> tuple[float, float] | None:
    """Return both bounds by enumerating how often each value is drawn.

    None when more than a few draws are of another value than the commonest.
    """
    order = np.argsort(weights)
    rare = order[:-1]
    common = order[-1]
    max_draws = _most_draws(count, rare.size)
    tail = 0.0
    if max_draws < count:
        tail = _tail(values, float(weights[rare].sum()), float(values[common]), count, max_draws)
        if tail > 0.1 * tolerance * count * float(weights @ np.maximum(values, 0.0)):
            return None
    states = _compositions(max_draws, rare.size + 1)[:, :-1]  # (states, rare values)
    draws = states.sum(axis=1)
    falling = np.concatenate([[0.0], np.cumsum(np.log(count - np.arange(max_draws)))])
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, max_draws + 1)))])
    logs = np.log(weights)
    terms = falling[draws] - factorials[states].sum(axis=1) + states @ logs[rare] + (count - draws) * logs[common]
    size = falling[-1] + factorials[-1] + max_draws * float(np.abs(logs).max()) + count * abs(float(logs[common]))
    error = (64 + (max_draws + 8) * 4 * size) * _UNIT
    masses = np.exp(terms)
    sums = states @ values[rare] + (count - draws) * values[common]
    off = (values.size + 4) * _UNIT * (states @ np.abs(values[rare]) + (count - draws) * abs(values[common]))
    lower = float((masses * np.maximum(sums - off, 0.0)).sum()) * (1 - error)
    if tail > 0.1 * tolerance * lower:
        return None
    return lower, float((masses * np.maximum(sums + off, 0.0)).sum()) * (1 + error) + tail


def _most_draws(count: int, values: int) -> int:
    """Return how many draws of some values may be written out."""
    low = 0
    high = count
    while low < high:
        middle = (low + high + 1) // 2
        if math.comb(middle + values, values) <= _MAX_STATES:
            low = middle
        else:
            high = middle - 1
    return low


def _tail(values: Floats, share: float, common: float, count: int, max_draws: int) -> float:
    """Return a bound on the mean excess where more than `max_draws` draws are rare.

    `share` is the probability of a rare one. The bound is at most count common_+ P(B > max_draws) + max(values) count
    share P(B' >= max_draws), with binomials B, B' of `count` and `count - 1` draws; both by Chernoff.

    It is at most count common_+ P(B > most) + max(values) count share P(B' >= most), with binomials B, B' of `count`
    and `count - 1` draws; both by Chernoff.
    """
    ratio = max_draws / count
    if ratio <= share * (1 + 1e-9) or max_draws < 1:
        return math.inf
    exponent = count * (ratio * math.log(ratio / share) + (1 - ratio) * math.log((1 - ratio) / (1 - share)))
    chance = math.exp(-max(exponent * (1 - 1e-9) - 1e-9, 0.0))
    return count * chance * (max(common, 0.0) + share * float(values.max())) * 1.01


def _compositions(total: int, parts: int) -> NDArray[np.int64]:
    """Return all ways to write `total` as an ordered sum of `parts` numbers >= 0."""
    if parts == 1:
        return np.array([[total]], dtype=np.int64)
    ways = np.arange(total + 1, dtype=np.int64)[:, None]
    for _ in range(parts - 2):
        left = total - ways.sum(axis=1)
        rows = np.repeat(np.arange(len(ways)), left + 1)
        starts = np.concatenate([[0], np.cumsum(left + 1)[:-1]])
        ways = np.column_stack([ways[rows], np.arange(rows.size) - starts[rows]])
    return np.column_stack([ways, total - ways.sum(axis=1)])


def _smoothed(values: Floats, weights: Floats, count: int, tolerance: float, effort: int) -> tuple[float, float]:
    """Return both bounds with narrower and narrower smoothing, until they are close."""
    tilted = _Tilted(values, weights, count, tolerance, effort)
    chernoff = tilted.chernoff()
    if chernoff < _NEGLIGIBLE_BOUND or not tilted.narrowest <= tilted.widest:
        return 0.0, chernoff
    lower = 0.0
    upper = chernoff
    width = tilted.widest
    for _ in range(8):
        bounds = tilted.bounds(width)
        lower = max(lower, bounds[0])
        upper = min(upper, bounds[1])
        gap = bounds[2]
        if upper - lower <= tolerance * upper or gap <= 0.1 * tolerance or width <= tilted.narrowest:
            break
        width = max(width * min(max(0.9 * math.sqrt(tolerance / gap), 0.05), 0.7), tilted.narrowest)
    return lower, upper


class _Tilted:
    """Law of the sum, tilted by exp(tilt S) so that its mean is near 0.

    There the excess begins. widest, narrowest: standard deviations of the first smoothing, and of the last whose
    Fourier sum is short enough.

    widest, narrowest: standard deviations of the first smoothing, and of the last whose Fourier sum is short enough.
    """

    def __init__(self, values: Floats, weights: Floats, count: int, tolerance: float, effort: int = _MAX_TERMS) -> None:
        self.values = values
        self.weights = weights
        self.count = count
        self.tilt = _saddle(values, weights)
        for _ in range(20):  # a larger tilt narrows the law, so that more tilt may be needed
            spread = math.sqrt(count * self._moment(self.tilt, 2) / self._moment(self.tilt, 0))
            if self.tilt * spread >= 0.4:
                break
            self.tilt = 0.5 / spread
        self.masses = weights * np.exp(self.tilt * values)
        self.masses /= self.masses.sum()
        self.spread = math.sqrt(count * float(self.masses @ values**2))
        self.widest = 0.75 * math.sqrt(tolerance) / self.tilt
        self.cut = math.sqrt(2 * math.log(1e4 / tolerance))  # standard deviations of the frequencies that are kept
        self.period, self.alias = self._period(1e-3 * tolerance)
        points = min(_MAX_FREQUENCIES, effort // values.size)
        self.narrowest = self.cut * self.period / (2 * math.pi * points)

    def _moment(self, tilt: float, power: int) -> float:
        """Return E exp(tilt X) X^power of one step."""
        return float((self.weights * np.exp(tilt * self.values)) @ self.values**power)

    def _scale(self, width: float) -> Interval:
        """Return E exp(tilt Y) of the smoothed sum Y."""
        from flint import arb, ctx

        with ctx.workprec(PRECISION):
            tilt = arb(self.tilt)
            terms = (arb(w) * (tilt * arb(v)).exp() for v, w in zip(self.values, self.weights, strict=True))
            log = self.count * sum(terms, arb(0)).log() + (tilt * arb(width)) ** 2 / 2
            return Interval.of_ball(log.exp(), within=NONNEGATIVE)

    def chernoff(self) -> float:
        """Return a bound from x_+ <= exp(tilt x) / (e tilt)."""
        return self._scale(0.0).upper / (math.e * self.tilt) * (1 + 16 * _UNIT)

    def bounds(self, width: float) -> tuple[float, float, float]:
        """Return (lower, upper, relative gap) with a smoothing of deviation `width`."""
        step = 2 * math.pi / self.period
        points = math.ceil(self.cut / (width * step)) + 1
        excess, density, excess_error, density_error = self._sums(step, points, width)
        last = step * (points - 1)
        rest = math.exp(-((width * last) ** 2) / 2) / (math.pi * width**2 * last) * 1.01  # of the density, cut off
        excess_error += rest / (self.tilt**2 + last**2)
        scale = self._scale(width)
        upper = scale.upper * (excess + excess_error) * (1 + 8 * _UNIT)
        hull = width**2 * (density + density_error + rest)
        lower = scale.lower * (excess - excess_error - self.alias - hull) * (1 - 8 * _UNIT)
        return lower, upper, hull / excess if excess > 0 else 1.0

    def _sums(self, step: float, points: int, width: float) -> tuple[float, float, float, float]:
        """Return Fourier sums of the tilted excess and of the density at 0.

        Also bounds on their rounding.
        """
        frequencies = step * np.arange(points)
        phases = frequencies[:, None] * self.values  # (points, values)
        real = np.cos(phases) @ self.masses
        imaginary = np.sin(phases) @ self.masses
        exponents = 4 * self.tilt * max(float(self.values.max()), 0.0) + 2 * self.values.size
        off = _UNIT * (16 + exponents + 4 * frequencies * np.abs(self.values).max())  # of each of the two
        size = np.sqrt(real**2 + imaginary**2)
        lifted = size + 2 * off
        loose = self.count * np.log(lifted) - (width * frequencies) ** 2 / 2
        weight = np.where(frequencies == 0, 1.0, 2.0) * (step / (2 * math.pi))
        seen = loose > _NEGLIGIBLE_LOGARITHM
        unseen = 1.01 * math.exp(_NEGLIGIBLE_LOGARITHM) * float(weight.sum())
        frequencies = frequencies[seen]
        weight = weight[seen]
        size = size[seen]
        lifted = lifted[seen]
        off = off[seen]
        log = np.log(np.maximum(size, 1e-300))
        angle = np.arctan2(imaginary[seen], real[seen])
        squared = (width * frequencies) ** 2
        turn = self.count * angle + self.tilt * width**2 * frequencies
        exponent = self.count * (np.abs(log) + np.abs(angle)) + np.abs(turn) + squared
        share = off / lifted
        power = np.where(share < 1e-3, 2, 8) * self.count * share  # the errors of the power
        error = np.exp(loose[seen]) * (power + _UNIT * (64 + 16 * exponent))
        decay = np.exp(self.count * log - squared / 2)
        kernel = 1 / (self.tilt + 1j * frequencies) ** 2
        return (
            float((weight * decay * (kernel * np.exp(1j * turn)).real).sum()),
            float((weight * decay * np.cos(turn)).sum()),
            float((weight * np.abs(kernel) * error).sum()) * 1.01 + unseen / self.tilt**2,
            float((weight * error).sum()) * 1.01 + unseen,
        )

    def _period(self, share: float) -> tuple[float, float]:
        """Return a period of the Fourier sum, and a bound on what it adds.

        It adds copies of the excess moved by the period.
        """
        variance = self.spread**2 + self.widest**2
        goal = share / (self.tilt * (1 + self.tilt * self.spread))
        half = max(4 / self.tilt, 3 * math.sqrt(variance))
        while True:
            adjacent = 8 * half * math.exp(-self.tilt * half)
            beyond = self._beyond(half, variance) / self.tilt
            if adjacent + beyond <= goal or not half < 1e6 * (1 / self.tilt + self.spread):
                return 2 * half, adjacent + beyond
            half *= 1.15

    def _beyond(self, half: float, variance: float) -> float:
        """Bound the tilted probability that the smoothed sum is beyond `half`."""
        total = 0.0
        for side in (+1.0, -1.0):
            largest = max(float((side * self.values).max()), 1e-300)
            rates = np.minimum(half / variance * _TAIL_RATES, 300 / largest)
            moved = np.log1p(np.expm1(side * rates[:, None] * self.values) @ self.masses)
            shift = self.tilt * self.widest**2 * rates + (rates * self.widest) ** 2 / 2
            logs = self.count * moved + shift - rates * half
            total += math.exp(min(float(logs.min()) + 1e-6 + 64 * self.count * _UNIT, 0.0))
        return total


def _saddle(values: Floats, weights: Floats) -> float:
    """Return a tilt >= 0 at which the mean of a step is near 0.

    It is 0 when the mean is not negative without tilt.
    """
    if float(values @ weights) >= 0:
        return 0.0
    scale = float(values.max())
    low = 0.0
    high = 1.0 / scale
    with np.errstate(over="ignore"):
        while float((weights * np.exp(high * values)) @ values) < 0 and high * scale < 600:
            low = high
            high = 2 * high
        for _ in range(60):
            middle = (low + high) / 2
            if float((weights * np.exp(middle * values)) @ values) < 0:
                low = middle
            else:
                high = middle
    return high
