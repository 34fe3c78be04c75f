"""Compositions with losses too large for floats: rounded up, and down, to a grid.

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
from deniable.privacy.pld.search import RepeatedPair, consistent

_GRID_POINTS = (2**10, 2**12, 2**13)  # of the grid of sums, in successive rounds
_LOSS_MARGIN = 40.0  # losses that exceed epsilon by more count in full, to exp(-40)
_POSITION_ERROR = 1e-3  # total error of the positions of all atoms, in grid steps
_UNLIKELY = 1e-30  # probability of losses below the grid, which are moved up to it or left out
_SMALLEST_FLOAT = 5e-324  # above every product that underflows to 0
_NEGLIGIBLE_MASS = 1e-250  # smaller masses become infinite losses, or are left out
_MAX_LOSS = 1e12  # end of the search for rare losses
_MAX_END_SEARCHES = 40  # refinements of the end of the coarsest grid


@dataclass(frozen=True)
class _Sum:
    """Masses at start, start + step, ... and of an infinite loss, up to e^error."""

    start: float
    step: float
    masses: Floats
    infinite: float
    error: float

    def delta(self, epsilon: float) -> float:
        """Return the curve, but for `error` and the rounding of losses.

        `doubt` bounds the latter.
        """
        losses = self.start + self.step * np.arange(self.masses.size)
        gains = -np.expm1(np.minimum(epsilon - losses, 0.0))
        return self.infinite + float(self.masses @ gains)

    @property
    def doubt(self) -> float:
        """Absolute error of the losses that `delta` computes."""
        return 8 * UNIT * (abs(self.start) + self.step * self.masses.size)

    @property
    def curve_error(self) -> float:
        """Error of the masses and of the sum over them, as a logarithm."""
        return self.error + 2 * UNIT * (self.masses.size + 16)


@dataclass(frozen=True)
class _Bounds:
    """Sums of one direction, rounded up and down; `end` is the end of their grid."""

    up: _Sum
    down: _Sum
    end: float

    def above(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        return min(self.up.delta(epsilon - self.up.doubt) * math.exp(min(self.up.curve_error, 700.0)), 1.0)

    def below(self, epsilon: float) -> float:
        """Return a lower bound on delta."""
        return max(self.down.delta(epsilon + self.down.doubt) * (1 - self.down.curve_error), 0.0)


def rounded_delta(directions: Sequence[Sequence[RepeatedPair]], epsilon: Fraction, tolerance: float) -> Interval:
    """Return delta at epsilon in the worse direction, from a few grids.

    It is as near to a relative width `tolerance` as they bring it.
    """
    known = Interval(0.0, 1.0)
    for points in _GRID_POINTS:
        bounds = [_bounds(tuple(parts), float(epsilon) + _LOSS_MARGIN, points) for parts in directions]
        low = max(one.below(round_up(epsilon)) for one in bounds)
        high = max(one.above(round_down(epsilon)) for one in bounds)
        known = consistent(max(known.lower, low), min(known.upper, high))
        if known.width <= tolerance * known.upper:
            break
    return known


def rounded_epsilon(directions: Sequence[Sequence[RepeatedPair]], delta: Fraction, tolerance: float) -> Interval:
    """Return the least epsilon for delta in the worse direction, from a few grids.

    The upper end may be infinite.
    """
    ends = [NONNEGATIVE for _ in directions]
    for points in _GRID_POINTS:
        for index, parts in enumerate(directions):
            for _ in range(_MAX_END_SEARCHES if points == _GRID_POINTS[0] else 1):
                last = ends[index]
                if last.upper <= max(end.lower for end in ends) and last.lower < last.upper:
                    break  # the other direction is the worse one
                end = last.upper + _LOSS_MARGIN if math.isfinite(last.upper) else _far_loss(parts, delta)
                bounds = _bounds(tuple(parts), end, points)
                upper = _crossing(bounds.above, delta, bounds.end)[1]
                lower = _crossing(bounds.below, delta, bounds.end)[0]
                ends[index] = consistent(max(last.lower, min(lower, upper)), min(last.upper, upper))
                if math.isinf(ends[index].upper) or ends[index].upper > 0.7 * last.upper:
                    break
        worst = Interval(max(end.lower for end in ends), max(end.upper for end in ends))
        if worst.width <= tolerance * max(1.0, worst.upper):
            break
    return worst


def _far_loss(parts: Sequence[RepeatedPair], delta: Fraction) -> float:
    """Return a loss that the sum exceeds with probability below delta / 2.

    By the union bound over all runs.
    """
    count = sum(part.count for part in parts)
    share = float(delta) / (2 * count)
    total = 0.0
    for part in parts:
        losses = np.concatenate(([0.0], np.geomspace(1e-3, _MAX_LOSS, 600)))
        fitting = losses[part.law.above(losses).p <= share]
        total += part.count * (float(fitting[0]) if fitting.size else _MAX_LOSS)
    return total + _LOSS_MARGIN


@lru_cache(maxsize=16)
def _bounds(parts: tuple[RepeatedPair, ...], end: float, points: int) -> _Bounds:
    """Return both sums on grids of about `points` points.

    They end at `end` or a little farther.
    """
    count = sum(part.count for part in parts)
    begins = sum(part.count * _beginning(part.law) for part in parts)
    step = max((end - begins) / points, 1e-9)
    rest = _POSITION_ERROR * step / count
    return _Bounds(
        up=_sum(parts, step=step, end=end, rest=rest, up=True),
        down=_sum(parts, step=step, end=end, rest=rest, up=False),
        end=end,
    )


def _sum(parts: Sequence[RepeatedPair], *, step: float, end: float, rest: float, up: bool) -> _Sum:
    """Return the rounded sum of all parts, by doubling."""
    total = _Sum(0.0, step, np.ones(1), 0.0, 0.0)
    later = [sum(other.count * _beginning(other.law) for other in parts[index + 1 :]) for index in range(len(parts))]
    for part, others in zip(parts, later, strict=True):
        left = part.count
        extent = end - total.start - others - (left - 1) * _beginning(part.law)
        power = _one(part.law, step=step, rest=rest, up=up, extent=extent)
        while left:
            if left & 1:
                total = _added(total, power, end=end - others - (left - 1) * power.start, up=up)
            left >>= 1
            if left:
                power = _added(power, power, end=end - others - total.start, up=up)
    return total


def _added(one: _Sum, other: _Sum, *, end: float, up: bool) -> _Sum:
    """Return the sum of two independent sums.

    What lies beyond `end` is infinite, or moved to it.
    """
    masses = np.convolve(one.masses, other.masses)
    room = 4 * UNIT * (abs(one.start) + abs(other.start) + one.step * masses.size)  # for its own rounding
    start = one.start + other.start + (room if up else -room)
    kept = max(math.ceil((end - start) / one.step) + 2, 2)
    infinite = one.infinite + other.infinite - one.infinite * other.infinite
    dust = masses < _NEGLIGIBLE_MASS  # numbers near the smallest ones are slow
    lost = _SMALLEST_FLOAT * one.masses.size * other.masses.size  # products that are no floats
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
    """Return the sum without zeros at its ends."""
    present = np.flatnonzero(given.masses)
    first, last = (int(present[0]), int(present[-1])) if present.size else (0, 0)
    return replace(given, start=given.start + first * given.step, masses=given.masses[first : last + 1])


def _one(law: LossLaw, *, step: float, rest: float, up: bool, extent: float) -> _Sum:
    """Return one law with its losses moved to a grid through its likeliest loss.

    Up to `rest`.
    """
    beginning = _beginning(law)
    side = 1.0 if up else -1.0
    start = beginning + (_likeliest(law) + side * rest - beginning) % step - step
    size = max(math.ceil((extent - beginning) / step), 1) + 3
    losses = start + step * np.arange(size)
    largest = float(np.abs(losses).max())
    slack = law.slack(largest) + 8 * UNIT * largest
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
    """Return a loss that is hardly ever undercut."""
    losses = np.concatenate((-np.geomspace(_MAX_LOSS, 1e-3, 800), [0.0], np.geomspace(1e-3, _MAX_LOSS, 800)))
    fitting = losses[law.below(losses).p <= _UNLIKELY]
    return max(law.lowest, float(fitting[-1]) if fitting.size else -_MAX_LOSS)


@lru_cache(maxsize=64)
def _likeliest(law: LossLaw) -> float:
    """Return the likeliest loss, which many runs must not each move by a step."""
    atoms = law.atoms()
    return law.anchor if atoms is None or not atoms.losses.size else float(atoms.losses[atoms.p.argmax()])


def _crossing(curve: Callable[[float], float], delta: Fraction, end: float) -> tuple[float, float]:
    """Return (e, e') close together with curve(e) > delta >= curve(e').

    (0, 0) or (end, inf) where there are none.
    """
    if Fraction(curve(0.0)) <= delta:
        return 0.0, 0.0
    low = 0.0
    high = end
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
