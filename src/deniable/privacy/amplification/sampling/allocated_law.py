"""Law of the loss of one of many runs, chosen at random.

Proofs in docs/theory/privacy/allocation.md.

With X the ratio of densities of one run under the law without the unit, the ratio of all runs is the mean of t
independent X. Its law is found by repeated doubling on a geometric grid, with numbers >= 0 alone, so that errors stay
relative. Splitting masses, means kept, reveals more; joining them at their mean reveals less.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, FiniteLaw, LossLaw, ReversedLaw, Tails
from deniable.privacy.pld.pilot import span

_GRID_POINTS = 2**13  # of a sum; convolutions grow with their square
_MAX_POINTS_REFINED = 2**12  # largest grid that is refined while a sum is doubled
_FINE_STEP = 1e-3  # in standard deviations, of the grid of one value
_FINE_STEP_OF_SUM = 4e-3  # in standard deviations, of the grid of a sum
_NEGLIGIBLE_MASS = 1e-50  # of the ends of a law, which are cut off
_NEGLIGIBLE_ZERO = 1e-40  # probability of the value 0 below which it has no mass of its own
_MAX_LOSS = 300.0  # of a base; its greater losses are joined
_FINEST_STEP = 2.0**-40  # below it a step is lost in roundings
_MAX_ERROR_ABOVE = 1e-12  # relative error of means that an upper law keeps; it enters the doubt about losses
_MAX_ERROR_BELOW = 1e-8  # relative error of masses and means that a lower law keeps


class AllocatedLaw(FiniteLaw):
    """Law of the mean on a grid, whose losses are off by at most `doubt`."""

    def __init__(
        self, losses: Floats, p: Floats, q: Floats, *, ends: tuple[float, float], roundings: float, doubt: float
    ) -> None:
        super().__init__(losses, p, q, infinite=ends[0], vanishing=ends[1], roundings=roundings)
        self._doubt = doubt

    def slack(self, magnitude: float) -> float:
        """Return the slack of a finite law plus the doubt about its losses."""
        return super().slack(magnitude) + self._doubt


class _Sum(NamedTuple):
    """Law on 0 and on scale * exp(step * (first + i)): masses, and mean * mass.

    zero: the mass at 0. lost: the mean of values that were moved to 0; it counts as probability of an infinite loss.

    lost: what the mean of values that were moved to 0 is; it counts as probability of an infinite loss.
    """

    first: int
    masses: Floats
    moments: Floats
    zero: float
    lost: float

    @property
    def total(self) -> float:
        """Sum of all masses."""
        return float(self.masses.sum()) + self.zero

    @property
    def last(self) -> int:
        """Index of the greatest value."""
        return self.first + self.masses.size - 1


class _Grid:
    """Grid exp(step * i), i whole, on which sums of two values are rounded."""

    def __init__(self, step: float, *, upper: bool) -> None:
        self.step, self.upper = step, upper

    def added(self, one: _Sum, other: _Sum) -> _Sum:
        """Return a law above or below the sum of two independent values.

        Where almost no value is 0, those that are take the other one with them: to 0 from above, away from below.

        Where almost no value is 0, those who are take the other one with them: to 0 from above, away from below.
        """
        apart = max(one.zero, other.zero) < _NEGLIGIBLE_ZERO
        lost = one.lost * other.total + other.lost * one.total
        zero = one.zero * other.zero
        if apart:
            first = self._sum_of(one.first, other.first) - 1
            last = self._sum_of(one.last, other.last) + 3
        else:
            first = min(one.first, other.first)
            last = max(one.last, other.last, self._sum_of(one.last, other.last)) + 3
        out = np.zeros((2, last - first))
        self._pairs(one, other, 0, out, first)
        self._pairs(other, one, 1, out, first)
        if not apart:
            for law, share in ((one, other.zero), (other, one.zero)):
                start = law.first - first
                out[:, start : start + law.masses.size] += np.array([law.masses, law.moments]) * share
        elif self.upper:
            zero += one.zero * float(other.masses.sum()) + other.zero * float(one.masses.sum())
            for law, share in ((one, other.zero), (other, one.zero)):
                lost += share * self._mean(law)
        return self._trimmed(first, out, zero, lost)

    def _mean(self, law: _Sum) -> float:
        """Return the mean of a law, but for its scale."""
        return float(law.masses @ np.exp(self.step * (law.first + np.arange(law.masses.size))))

    def _sum_of(self, one: int, other: int) -> int:
        """Return the index at or below the sum of two values; floats may be off by one."""
        return max(one, other) + math.floor(math.log1p(math.exp(-self.step * abs(one - other))) / self.step)

    def _pairs(self, larger: _Sum, smaller: _Sum, min_distance: int, out: Floats, first: int) -> None:
        """Add to `out` all pairs whose indices differ by at least `min_distance`.

        `out` begins at `first`. For all differences from `start` to `end` the sum lies equally many indices above the
        larger value.

        For all differences from `start` to `end` the sum lies equally many places above the larger value.
        """
        nearest = max(min_distance, larger.first - smaller.last)
        if nearest > larger.last - smaller.first:
            return
        distances = np.arange(nearest, larger.last - smaller.first + 1)
        grown = np.log1p(np.exp(-self.step * distances))
        rises: NDArray[np.int64] = np.floor(grown / self.step).astype(np.int64)
        shares = np.clip(np.expm1(grown - self.step * rises) / math.expm1(self.step), 0.0, 1.0)
        edges = [0, *(np.flatnonzero(np.diff(rises)) + 1).tolist(), distances.size]
        for begin, end in pairwise(edges):
            start, stop = nearest + begin, nearest + end
            low = max(larger.first - stop + 1, smaller.first)
            high = min(larger.last - start, smaller.last)
            if low > high:
                continue
            inner = slice(low - smaller.first, high - smaller.first + 1)
            skipped = max(larger.first - (low + start), 0)
            kept = slice(skipped, larger.last - (low + start) + 1)
            met = slice(low + start + skipped - larger.first, None)
            mass = larger.masses[met]
            position = low + start + skipped + int(rises[begin]) - first
            if self.upper:
                share = shares[begin:end]
                nearer = np.convolve(smaller.masses[inner], 1 - share)[kept]
                farther = np.convolve(smaller.masses[inner], share)[kept]
                out[0, position : position + nearer.size] += mass[: nearer.size] * nearer
                out[0, position + 1 : position + 1 + farther.size] += mass[: farther.size] * farther
            else:
                ones = np.ones(end - begin)
                beside = np.convolve(smaller.masses[inner], ones)[kept]
                moment = np.convolve(smaller.moments[inner], ones)[kept]
                size = beside.size
                out[0, position : position + size] += mass[:size] * beside
                out[1, position : position + size] += larger.moments[met][:size] * beside + mass[:size] * moment

    def _trimmed(self, first: int, out: Floats, zero: float, lost: float) -> _Sum:
        """Return a sum without the ends that cannot matter."""
        values = np.exp(self.step * (first + np.arange(out.shape[1])))
        if self.upper:
            out[1] = out[0] * values
        tail = np.cumsum(out[1][::-1])[::-1]
        last = int(np.count_nonzero(tail > _NEGLIGIBLE_MASS * tail[0]))
        begin = min(int(np.count_nonzero(np.cumsum(out[0]) <= _NEGLIGIBLE_MASS)), out.shape[1] - 1)
        last = max(last, begin + 1)
        if self.upper:
            below = out[:, :begin]
            edge = float(values[begin])
            zero += float(out[0, last:].sum()) + float(below[0].sum())
            lost += float(tail[last]) if last < tail.size else 0.0
            out[0, begin] += float(below[1].sum()) / edge
            out[1, begin] = out[0, begin] * edge
        return _Sum(first + begin, out[0, begin:last].copy(), out[1, begin:last].copy(), zero, lost)


def allocated_law(base: LossLaw, runs: int, *, upper: bool) -> AllocatedLaw:
    """Return a law above or below that of one run in `runs`.

    It follows from the law of (with, without) of each.
    """
    step, low, high, enough = _extent(base, runs)
    one, shift, doubt = _ratios(base, step, low, high, upper=upper)
    magnitude = step * max(-low, high) + abs(shift)
    total, step = _repeated(one, runs, step, enough, upper=upper)
    values = np.exp(step * (total.first + np.arange(total.masses.size)))
    levels = 2 * runs.bit_length()
    largest = step * max(abs(total.first), abs(total.last)) + abs(shift)
    if not total.masses.any() and upper:
        total.masses[0] = _NEGLIGIBLE_MASS  # all is beyond the grid; a little more is above it
    kept = (total.masses > 0) & (upper | (total.moments > 0))
    if not kept.any():
        return nothing()
    q = total.masses[kept]
    moments = (q * values[kept]) if upper else total.moments[kept]
    losses = np.log(moments / q) + (shift - math.log(runs))
    p = moments * (math.exp(shift) / runs)
    if not upper:
        order = np.argsort(losses)
        losses, p, q = losses[order], p[order], q[order]
    side = 1 if upper else -1
    infinite = base.infinite * (1 + 4 * side * UNIT) + total.lost * math.exp(shift) / runs
    return AllocatedLaw(
        losses,
        p,
        q,
        ends=(min(infinite, 1.0), min(total.zero, 1.0)),
        roundings=64 + 4.0 * runs * (4 * total.masses.size + 64) + 2 * doubt / UNIT,
        doubt=base.slack(magnitude) + doubt + UNIT * (64 + 16 * levels + 4 * largest),
    )


def nothing() -> AllocatedLaw:
    """Return the law below every law: a single loss of 0."""
    return AllocatedLaw(np.zeros(1), np.ones(1), np.ones(1), ends=(0.0, 0.0), roundings=4.0, doubt=0.0)


def _extent(base: LossLaw, runs: int) -> tuple[float, int, int, float]:
    """Return the step of the grid, its first and last index, and a fine step.

    It is on the lattice of the base, if any. Sums of values that may be 0 lie anywhere between one value and `runs` of
    them: the grid has to hold them all.

    Sums of values that may be 0 lie anywhere between one value and `runs` of them: the grid has to hold them all.
    """
    end = min(span(base, _NEGLIGIBLE_MASS, 1.0)[1], _MAX_LOSS)
    start = min(max(-span(ReversedLaw(base), _NEGLIGIBLE_MASS, 1.0)[1], -_MAX_LOSS), end)
    vanishing = base.vanishing + float(base.below(np.array([np.nextafter(start, -np.inf)])).q[0]) >= _NEGLIGIBLE_ZERO
    length = end - start + (math.log(runs) if vanishing else 0.0)
    spread = _spread(base, start, end)
    step = max(length / _GRID_POINTS, _FINE_STEP * spread, _FINEST_STEP)
    if base.spacing is not None and base.spacing >= step:
        step = base.spacing / math.ceil(base.spacing / step)
    shift = _shift(base, step)
    low = math.floor((start - shift) / step - 1e-9)
    high = math.ceil((end - shift) / step + 1e-9)
    return step, low, max(high, low + 1), max(step, _FINE_STEP_OF_SUM * spread)


def _spread(base: LossLaw, start: float, end: float) -> float:
    """Return about the standard deviation of X, at most 1."""
    losses = np.linspace(start, end, 257)
    b = np.where(losses[1:] > 0, -np.diff(base.above(losses).q), np.diff(base.below(losses).q))
    distances = np.expm1(np.minimum((losses[1:] + losses[:-1]) / 2, 1.0))
    return min(math.sqrt(max(float(np.maximum(b, 0.0) @ distances**2), 0.0)), 1.0)


def _shift(base: LossLaw, step: float) -> float:
    """Return the offset of the grid at which the anchor of the base is on it."""
    return base.anchor - step * round(base.anchor / step)


def _ratios(base: LossLaw, step: float, low: int, high: int, *, upper: bool) -> tuple[_Sum, float, float]:
    """Return the law of one X, over exp(shift), and the relative error of its values."""
    shift = _shift(base, step)
    losses: Floats = shift + step * np.arange(low, high + 1, dtype=np.float64)
    above = base.above(losses)
    below = base.below(losses)
    a, b, doubt_a, doubt_b = _cells(base, losses, above, below)
    scale = math.exp(-shift)
    a = np.maximum(a, 0.0) * scale
    b = np.maximum(b, 0.0)
    doubt_a *= scale
    values = np.exp(step * np.arange(low, high + 1))
    gone = base.vanishing
    doubtful = np.divide(doubt_b, b, out=np.ones_like(b), where=b > doubt_b)
    wrong = doubtful + np.divide(doubt_a, a, out=np.ones_like(a), where=a > doubt_a)
    kept = wrong <= (_MAX_ERROR_ABOVE if upper else _MAX_ERROR_BELOW)
    largest_error = float(wrong[kept].max()) if kept.any() else 0.0
    if upper:
        gap = np.diff(values)
        left = np.clip((b * values[1:] - a) / gap, 0.0, b) + (doubt_a + doubt_b * values[1:]) / gap
        far = np.clip((a - b * values[:-1]) / gap, 0.0, b) + (doubt_a + doubt_b * values[:-1]) / gap
        share = np.clip((np.divide(a, b, out=values[:-1].copy(), where=kept) - values[:-1]) / gap, 0.0, 1.0)
        left = np.where(kept, (b + doubt_b) * (1 - share), left)
        far = np.where(kept, (b + doubt_b) * share, far)
        masses = np.append(left, 0.0) + np.append(0.0, far)
        off = float(below.error[0]) + 4 * UNIT
        nearest = float(below.p[0]) * (1 + off) * scale / float(values[0])
        farther = max(float(below.q[0]) * (1 + off) - nearest * (1 - 3 * off), 0.0)
        masses[0] += nearest
        zero = gone * (1 + 4 * UNIT) + farther + float(above.q[-1] * (1 + above.error[-1]))
        lost = float(above.p[-1] * (1 + above.error[-1])) * scale
        return _Sum(low, masses, masses * values, zero, lost), shift, largest_error
    masses = np.where(kept, b - doubt_b, 0.0)
    moments = np.where(kept, a * (1 - doubtful), 0.0)
    return _Sum(low, masses, moments, gone * (1 - 4 * UNIT), 0.0), shift, largest_error


def _cells(base: LossLaw, losses: Floats, above: Tails, below: Tails) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the masses under P and Q between every two losses, and their errors.

    The left loss is left out. They are differences of tails, from the nearer side; sums of atoms where there are any.

    Differences of tails, from the nearer side; sums of atoms where there are any.
    """
    atoms = base.atoms()
    if atoms is not None:
        inside = (atoms.losses > losses[0]) & (atoms.losses <= losses[-1])
        index = np.searchsorted(losses, atoms.losses[inside], side="left") - 1
        sides = (atoms.p[inside], atoms.q[inside])
        summed = (np.bincount(index, weights=side, minlength=losses.size - 1) for side in sides)
        a, b = (np.asarray(side, dtype=np.float64) for side in summed)
        accuracy = atoms.error + (8 + atoms.losses.size) * UNIT
        return a, b, accuracy * a, accuracy * b
    right = losses[:-1] >= 0
    a = np.where(right, above.p[:-1] - above.p[1:], below.p[1:] - below.p[:-1])
    b = np.where(right, above.q[:-1] - above.q[1:], below.q[1:] - below.q[:-1])
    error = 8 * UNIT + np.where(right, above.error[:-1] + above.error[1:], below.error[1:] + below.error[:-1])
    return a, b, error * np.where(right, above.p[:-1], below.p[1:]), error * np.where(right, above.q[:-1], below.q[1:])


def _repeated(one: _Sum, runs: int, step: float, enough: float, *, upper: bool) -> tuple[_Sum, float]:
    """Return the sum of `runs` independent values, by doubling, and its step.

    The step is halved when there is room: that of a sum of n values needs to be no finer than enough / sqrt(n).

    The step of a sum of n values needs to be no finer than enough / sqrt(n).
    """
    power = one
    total = None
    count = 1
    grid = _Grid(step, upper=upper)
    while True:
        if runs & 1:
            total = power if total is None else grid.added(total, power)
        runs >>= 1
        if not runs:
            assert total is not None  # the last bit is 1
            return total, grid.step
        count *= 2
        while (
            count * grid.step**2 > enough**2
            and max(power.masses.size, total.masses.size if total else 0) <= _MAX_POINTS_REFINED
        ):
            grid = _Grid(grid.step / 2, upper=upper)
            power = _refined(power)
            total = None if total is None else _refined(total)
        power = grid.added(power, power)


def _refined(given: _Sum) -> _Sum:
    """Return the law on a grid of half the step."""
    masses, moments = np.zeros((2, 2 * given.masses.size - 1))
    masses[::2], moments[::2] = given.masses, given.moments
    return _Sum(2 * given.first, masses, moments, given.zero, given.lost)
