"""Compositions with losses that no float can exponentiate: losses rounded up, and down, to a coarse grid.

With L = ln dP/dQ under P, delta(epsilon) = E max(0, 1 - exp(epsilon - sum of losses)) grows with every loss. So losses
that are rounded up (and infinite beyond the grid's end) bound it from above, losses that are rounded down (and cut off
at its end) from below. Only survival functions under P are needed, and no exponential of a loss. Sums of masses have
no subtraction, so their rounding stays relative.
Proof: docs/theory/privacy/composition.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.numbers.interval import NONNEGATIVE, Interval, round_down, round_up
from deniable.privacy.pld.law import UNIT, LossLaw
from deniable.privacy.pld.search import Part, consistent

_POINTS = (2**10, 2**12, 2**13)  # of the grid of sums, in one round after the other
_BEYOND = 40.0  # losses that exceed epsilon by more count in full, to exp(-40)
_REST = 1e-3  # of a grid step: what the places of all atoms together may be off
_UNLIKELY = 1e-30  # probability of the losses that are moved up to the grid's beginning, or left out
_SMALLEST = 5e-324
_DUST = 1e-250  # masses below it are infinite losses, or left out
_FARTHEST = 1e12
_MOST_ENDS = 40  # so often the end of the coarsest grid is brought nearer


@dataclass(frozen=True)
class _Sum:
    """Masses at start, start + step, ..., and of an infinite loss, all to a factor e^error."""

    start: float
    step: float
    masses: Floats
    infinite: float
    error: float

    def delta(self, epsilon: float) -> float:
        """The curve, but for `error` and the rounding of losses, which `doubt` bounds."""
        losses = self.start + self.step * np.arange(self.masses.size)
        gains = -np.expm1(np.minimum(epsilon - losses, 0.0))
        return self.infinite + float(self.masses @ gains)

    @property
    def doubt(self) -> float:
        """Absolute, of the losses that `delta` computes."""
        return 8 * UNIT * (abs(self.start) + self.step * self.masses.size)

    @property
    def curve_error(self) -> float:
        """That of the masses and of the sum over them."""
        return self.error + 2 * UNIT * (self.masses.size + 16)


@dataclass(frozen=True)
class _Bounds:
    """Both sums of one direction; `end` is where the grid of sums ends."""

    up: _Sum
    down: _Sum
    end: float

    def above(self, epsilon: float) -> float:
        return min(self.up.delta(epsilon - self.up.doubt) * math.exp(min(self.up.curve_error, 700.0)), 1.0)

    def below(self, epsilon: float) -> float:
        return max(self.down.delta(epsilon + self.down.doubt) * (1 - self.down.curve_error), 0.0)


def rounded_delta(directions: Sequence[Sequence[Part]], epsilon: Fraction, tolerance: float) -> Interval:
    """delta at epsilon in the worse direction, as near to a relative width `tolerance` as a few grids bring it."""
    found = Interval(0.0, 1.0)
    for points in _POINTS:
        bounds = [_bounds(tuple(parts), float(epsilon) + _BEYOND, points) for parts in directions]
        low = max(one.below(round_up(epsilon)) for one in bounds)
        high = max(one.above(round_down(epsilon)) for one in bounds)
        found = consistent(max(found.lower, low), min(found.upper, high))
        if found.width <= tolerance * found.upper:
            break
    return found


def rounded_epsilon(directions: Sequence[Sequence[Part]], delta: Fraction, tolerance: float) -> Interval:
    """The least epsilon for delta in the worse direction, likewise; the upper end may be infinite."""
    ends = [NONNEGATIVE for _ in directions]
    for points in _POINTS:
        for place, parts in enumerate(directions):
            for _ in range(_MOST_ENDS if points == _POINTS[0] else 1):
                last = ends[place]
                if last.upper <= max(end.lower for end in ends) and last.lower < last.upper:
                    break  # the other direction is the worse one
                end = last.upper + _BEYOND if math.isfinite(last.upper) else _far(parts, delta)
                bounds = _bounds(tuple(parts), end, points)
                upper, lower = _least(bounds.above, delta, bounds.end)[1], _least(bounds.below, delta, bounds.end)[0]
                ends[place] = consistent(max(last.lower, min(lower, upper)), min(last.upper, upper))
                if math.isinf(ends[place].upper) or ends[place].upper > 0.7 * last.upper:
                    break
        worst = Interval(max(end.lower for end in ends), max(end.upper for end in ends))
        if worst.width <= tolerance * max(1.0, worst.upper):
            break
    return worst


def _far(parts: Sequence[Part], delta: Fraction) -> float:
    """A loss that the sum exceeds with probability less than delta / 2, by the union bound over all runs."""
    count = sum(part.count for part in parts)
    share = float(delta) / (2 * count)
    total = 0.0
    for part in parts:
        losses = np.concatenate(([0.0], np.geomspace(1e-3, _FARTHEST, 600)))
        fitting = losses[part.law.above(losses).p <= share]
        total += part.count * (float(fitting[0]) if fitting.size else _FARTHEST)
    return total + _BEYOND


@lru_cache(maxsize=16)
def _bounds(parts: tuple[Part, ...], end: float, points: int) -> _Bounds:
    """Both sums on grids of about `points` points that end at `end` or a little farther."""
    count = sum(part.count for part in parts)
    begins = sum(part.count * _beginning(part.law) for part in parts)
    step = max((end - begins) / points, 1e-9)
    rest = _REST * step / count
    return _Bounds(
        up=_sum(parts, step=step, end=end, rest=rest, up=True),
        down=_sum(parts, step=step, end=end, rest=rest, up=False),
        end=end,
    )


def _sum(parts: Sequence[Part], *, step: float, end: float, rest: float, up: bool) -> _Sum:
    total = _Sum(0.0, step, np.ones(1), 0.0, 0.0)
    later = [sum(other.count * _beginning(other.law) for other in parts[place + 1 :]) for place in range(len(parts))]
    for part, others in zip(parts, later, strict=True):
        left = part.count
        reach = end - total.start - others - (left - 1) * _beginning(part.law)
        power = _one(part.law, step=step, rest=rest, up=up, reach=reach)
        while left:
            if left & 1:
                total = _added(total, power, end=end - others - (left - 1) * power.start, up=up)
            left >>= 1
            if left:
                power = _added(power, power, end=end - others - total.start, up=up)
    return total


def _added(one: _Sum, other: _Sum, *, end: float, up: bool) -> _Sum:
    """The sum of two independent ones; what lies beyond `end` is infinite, or moved to it."""
    masses = np.convolve(one.masses, other.masses)
    room = 4 * UNIT * (abs(one.start) + abs(other.start) + one.step * masses.size)  # for its own rounding
    start = one.start + other.start + (room if up else -room)
    kept = max(math.ceil((end - start) / one.step) + 2, 2)
    infinite = one.infinite + other.infinite - one.infinite * other.infinite
    dust = masses < _DUST  # numbers near the smallest ones are slow
    lost = _SMALLEST * one.masses.size * other.masses.size  # products that are no floats
    rest = float(masses[dust].sum()) + lost if up else 0.0
    masses[dust] = 0.0
    if masses.size > kept:
        beyond = float(masses[kept:].sum())
        masses = masses[:kept].copy()
        if up:
            rest += beyond
        else:
            masses[-1] += beyond
    error = one.error + other.error + 2 * UNIT * (min(one.masses.size, other.masses.size) + 16)
    return _trimmed(_Sum(start, one.step, masses, min(infinite + rest, 1.0), error))


def _trimmed(given: _Sum) -> _Sum:
    """The same without zeros at its ends."""
    present = np.flatnonzero(given.masses)
    first, last = (int(present[0]), int(present[-1])) if present.size else (0, 0)
    return replace(given, start=given.start + first * given.step, masses=given.masses[first : last + 1])


def _one(law: LossLaw, *, step: float, rest: float, up: bool, reach: float) -> _Sum:
    """One law with its losses moved to a grid on which its likeliest one lies, up to `rest`."""
    beginning = _beginning(law)
    side = 1.0 if up else -1.0
    start = beginning + (_likeliest(law) + side * rest - beginning) % step - step
    size = max(math.ceil((reach - beginning) / step), 1) + 3
    losses = start + step * np.arange(size)
    farthest = float(np.abs(losses).max())
    slack = law.slack(farthest) + 8 * UNIT * farthest
    tails = law.above(np.asarray(losses - side * slack, dtype=np.float64))
    finite = (1 - law.infinite) * (1 + side * 4 * UNIT)
    survival = np.clip(tails.p * (1 + side * (tails.error + 4 * UNIT)), 0.0, finite)  # above each grid loss
    survival = np.maximum.accumulate(survival[::-1])[::-1] if up else np.minimum.accumulate(survival)
    steps = survival[:-1] - survival[1:]  # between a grid loss and the next
    infinite = law.infinite * (1 + side * 8 * UNIT)
    if up:  # to the upper end; below the first loss to it, above the last one to infinity
        masses = np.concatenate(([finite - survival[0]], steps))
        return _trimmed(_Sum(float(losses[0]) + slack, step, masses, infinite + float(survival[-1]), 4 * UNIT))
    masses = np.concatenate((steps, survival[-1:]))  # to the lower end; what is below the first loss is left out
    return _trimmed(_Sum(float(losses[0]) - slack, step, masses, infinite, 4 * UNIT))


@lru_cache(maxsize=64)
def _beginning(law: LossLaw) -> float:
    """A loss that is hardly ever undercut."""
    losses = np.concatenate((-np.geomspace(_FARTHEST, 1e-3, 800), [0.0], np.geomspace(1e-3, _FARTHEST, 800)))
    fitting = losses[law.below(losses).p <= _UNLIKELY]
    return max(law.lowest, float(fitting[-1]) if fitting.size else -_FARTHEST)


@lru_cache(maxsize=64)
def _likeliest(law: LossLaw) -> float:
    """Where many runs have the same loss, this one must not be moved by a step in each."""
    found = law.atoms()
    return law.anchor if found is None or not found.losses.size else float(found.losses[found.p.argmax()])


def _least(curve: Callable[[float], float], delta: Fraction, end: float) -> tuple[float, float]:
    """(e, e') close together with curve(e) > delta >= curve(e'); (0, 0) or (end, inf) where there are none."""
    if Fraction(curve(0.0)) <= delta:
        return 0.0, 0.0
    low, high = 0.0, end
    if Fraction(curve(high)) > delta:
        return high, math.inf
    for _ in range(200):
        if high - low <= 1e-7 * max(1.0, high):
            break
        trial = (low + high) / 2
        if Fraction(curve(trial)) > delta:
            low = trial
        else:
            high = trial
    return low, high
