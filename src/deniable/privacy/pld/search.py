"""The search for a grid that is fine enough: one direction of a composition, refined until its answer is narrow.

Grid, tilt and window are chosen from the composed law; the bounds hold whatever is chosen.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from deniable.privacy.interval import Interval
from deniable.privacy.pld.discretise import Grid, discretise
from deniable.privacy.pld.enumeration import enumeration
from deniable.privacy.pld.law import UNIT, Floats, LossLaw
from deniable.privacy.pld.pilot import Pilot, span
from deniable.privacy.pld.transform import Summand, TiltedSum, Window

MOST_POINTS = 2**22
SMALLEST_DELTA = 1e-250

_MOST_DIRECT = 2**19
_FEWEST_STAGED = 100
_MOST_ROUNDS = 12
_MOST_TRIALS = 200
_MOST_KEPT = 12
_MOST_KEPT_POINTS = 2**16


@dataclass(frozen=True)
class Part:
    """`count` independent runs of one pair of distributions."""

    law: LossLaw
    count: int


class Aim(NamedTuple):
    """What a search works towards: numbers near the answer, and the relative width of delta that will do.

    steepest: no tilt is larger; where delta falls faster than that, its digits are not needed.
    """

    epsilon: float
    delta: float
    relative: float
    steepest: float = math.inf


@dataclass(frozen=True)
class Bounds:
    """Bounds on the finite part of delta and on the probability of an infinite loss, from two composed laws."""

    upper: Callable[[float], float]
    upper_infinite: float
    lower: Callable[[float], float]
    lower_infinite: float
    points: int

    def above(self, epsilon: float) -> float:
        return min((self.upper_infinite + self.upper(epsilon)) * (1 + 4 * UNIT), 1.0)

    def below(self, epsilon: float) -> float:
        return min((self.lower_infinite + self.lower(epsilon)) * (1 - 4 * UNIT), 1.0)


class Search:
    """One direction of a composition."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.count = sum(part.count for part in parts)
        self._whole = Pilot([part.law for part in parts], [part.count for part in parts])
        self.spread = math.sqrt(self._whole.cumulants(0.0).variance)
        self.infinite = _any((part.law.infinite, part.count) for part in parts)
        self.certain = Interval(self.infinite * (1 - 64 * UNIT), min(self.infinite * (1 + 64 * UNIT), 1.0))
        lengths = {part.law.spacing or part.law.highest - part.law.lowest for part in parts}
        self.lengths = np.array(sorted(length for length in lengths if 0 < length < math.inf))
        self._kept: list[Bounds] = []
        self._cuts: dict[int, Pilot] = {}

    def refined(
        self,
        read: Callable[[Bounds], Interval],
        aimed: Callable[[Interval], Aim],
        excess: Callable[[Interval], float],
        known: Interval,
    ) -> Interval:
        """The answer that `read` finds, on finer and finer grids until it is narrow.

        Args:
            aimed: what to work towards, by what is known so far.
            excess: the width in units of the one asked for.
            known: the answer is at most its upper end, and need not be found where it is at most its lower end.
        """
        few = enumeration([(part.law, part.count) for part in self.parts])
        if few is not None:
            return read(Bounds(few.above, self.certain.upper, few.below, self.certain.lower, 0))
        found = Interval(0.0, math.inf)
        for kept in self._kept:
            old = read(kept)
            if old.upper <= known.lower or (
                old.lower < known.upper and excess(Interval(old.lower, min(old.upper, known.upper))) <= 1
            ):
                return old
        aim = aimed(found)
        step = self.fitted(self.first_step(aim) * (6 if known.lower > 0 else 1))  # rough, where that may be enough
        bounds = self.bounds(aim, step)
        while bounds is None and step < 1:
            step *= 2
            bounds = self.bounds(aim, step)
        missing, stalled = math.inf, 0
        for _ in range(_MOST_ROUNDS):
            if bounds is None:
                break
            self._keep(bounds)
            fresh = read(bounds)
            found = consistent(max(found.lower, fresh.lower), min(found.upper, fresh.upper))
            if found.upper <= known.lower or found.lower >= known.upper:
                break
            last, missing = missing, excess(Interval(found.lower, min(found.upper, known.upper)))
            stalled = stalled + 1 if 0.9 * last < missing < math.inf else 0
            if missing <= 1 or (stalled >= 3 and bounds.points > _MOST_KEPT_POINTS):
                break
            before, aim = aim, aimed(found)
            if aim.delta < before.delta / 8 or aim.epsilon < 0.7 * before.epsilon:  # the first guess was far off
                step = self.fitted(self.first_step(aim))
            elif math.isfinite(missing):
                step = self.fitted(step * (0.3 if stalled else min(max(0.9 / math.sqrt(missing), 0.06), 0.7)))
            bounds = self.bounds(aim, step)
        return found

    def _keep(self, bounds: Bounds) -> None:
        """Remember the latest small ones for the next question."""
        if bounds.points <= _MOST_KEPT_POINTS:
            self._kept = [bounds, *self._kept[: _MOST_KEPT - 1]]

    def fitted(self, step: float) -> float:
        """A step of 0.6 to 1 times this one for which isolated losses lie on the grid, or nearly so.

        A loss between grid points costs an error of first order from below.
        """
        lengths = self.lengths[self.lengths > 0.6 * step]
        if lengths.size == 0:
            return _short(step)
        pieces = np.ceil(lengths / step)[:, None] + np.arange(_MOST_TRIALS // lengths.size + 1)
        steps = np.unique((lengths[:, None] / pieces)[lengths[:, None] / pieces > 0.6 * step])
        if steps.size == 0:
            return float(lengths.min() / np.ceil(lengths.min() / step))
        off = np.abs(lengths / steps[:, None] - np.rint(lengths / steps[:, None]))
        return float(steps[np.argmin(off.sum(axis=1) + 1e-9 * np.arange(steps.size)[::-1])])

    def negligible(self, delta: float, relative: float) -> float:
        """A power of ten: what is left out of each law, all together far below this share of delta."""
        return 10.0 ** math.floor(math.log10(max(0.01 * delta * relative / self.count, SMALLEST_DELTA)))

    def pilot(self, delta: float, relative: float) -> Pilot:
        """The composition without losses so unlikely; a single one of them may be all that a large tilt sees."""
        power = round(math.log10(self.negligible(delta, relative)))
        if power not in self._cuts:
            self._cuts[power] = self._whole.cut(10.0**power)
        return self._cuts[power]

    def one_jump(self, epsilon: float) -> float:
        """About a lower bound on delta: what single losses contribute."""
        return self._whole.one_jump(epsilon)

    def first_step(self, aim: Aim) -> float:
        """By the second-order error of the grid: it changes the variance of each loss by half of step^2."""
        pilot = self.pilot(aim.delta, aim.relative)
        slope = max(min(pilot.chernoff(aim.epsilon)[0], aim.steepest), 0.3 / self.spread)
        return min(
            math.sqrt(2.0 * aim.relative / (self.count * slope * (slope + 1))), max(self.spread, 1e-3 * aim.epsilon) / 4
        )

    def tilt(self, aim: Aim, step: float) -> float:
        """A tilt that leaves the rounding of the transform well below the width."""
        noise = 5e-14 * (10 + self.count) * math.sqrt(self.spread / step)
        room = min(max(math.log(0.05 * aim.relative / noise), 0.5), 12.0)
        return min(self.pilot(aim.delta, aim.relative).tilt(aim.epsilon, math.log(aim.delta), room), aim.steepest)

    def bounds(self, aim: Aim, step: float) -> Bounds | None:
        """Both composed laws on a grid of this step; None when it would have too many points."""
        tilt = self.tilt(aim, step)
        pilot = self.pilot(aim.delta, aim.relative)
        share = min(math.log(aim.delta) - pilot.cumulants(tilt).value + tilt * aim.epsilon, 0.0)
        unlikely = 0.004 * aim.relative / (1 + tilt * self.spread) * math.exp(max(share, -600.0))
        plan = self._plan(pilot, tilt, unlikely, step)
        above, below = self.negligible(aim.delta, aim.relative), 0.01 * aim.relative / self.count
        grids = [_grid(part.law, step, above, below) for part in self.parts]
        if plan is None or max(grid.last - grid.first for grid in grids) > MOST_POINTS:
            return None
        found = [discretise(part.law, grid) for part, grid in zip(self.parts, grids, strict=True)]
        firsts = [grid.origin + step * grid.first for grid in grids]
        slack = math.fsum(part.count * one.slack for part, one in zip(self.parts, found, strict=True))
        upper = _staged(plan, list(zip([one.upper for one in found], firsts, strict=True)), +1)
        lower = _staged(plan, list(zip([one.lower for one in found], firsts, strict=True)), -1)
        if upper is None or lower is None:
            return None
        (high, slack_high), (low, slack_low) = upper, lower
        counts = [part.count for part in self.parts]
        return Bounds(
            lambda epsilon: high.delta(epsilon - slack - slack_high),
            _any(zip([one.upper_infinite for one in found], counts, strict=True)) * (1 + 64 * UNIT),
            lambda epsilon: low.delta(epsilon + slack + slack_low),
            _any(zip([one.lower_infinite for one in found], counts, strict=True)) * (1 - 64 * UNIT),
            plan.window.length,
        )

    def _plan(self, pilot: Pilot, tilt: float, unlikely: float, step: float) -> "_Plan | None":
        """One stage where that needs few points; else blocks of losses, then all of these on a coarser grid."""
        counts = [part.count for part in self.parts]
        window = _window(pilot, tilt, unlikely, step)
        if window is not None and (window.length <= _MOST_DIRECT or self.count < _FEWEST_STAGED):
            return _Plan(tilt, step, 1, window, [_Stage(counts, 1, window)])
        if self.count < _FEWEST_STAGED:
            return None
        blocks = _blocks(counts)
        factor = 2 ** max(round(math.log2(0.5 * math.sqrt(self.count / blocks))), 1)
        window = _window(pilot, tilt, unlikely, step * factor)
        stages = []
        for inner, times in (
            ([count // blocks for count in counts], blocks),
            ([count % blocks for count in counts], 1),
        ):
            if any(inner):
                own = _window(pilot.of(inner), tilt, unlikely / (4 * times), step)
                if own is None or own.length < 2 * factor:
                    return None
                stages.append(_Stage(inner, times, own))
        return None if window is None else _Plan(tilt, step, factor, window, stages)


class _Stage(NamedTuple):
    """`times` sums of `counts` equal losses of each part."""

    counts: list[int]
    times: int
    window: Window


class _Plan(NamedTuple):
    """All stages on a grid of `step`, then their sum on one of `step * factor`, unless the factor is 1."""

    tilt: float
    step: float
    factor: int
    window: Window
    stages: list[_Stage]


def _staged(plan: _Plan, laws: list[tuple[Floats, float]], side: int) -> tuple[TiltedSum, float] | None:
    """The sum of all parts, and how far its losses may be off; None if floats are too short for stages."""
    blocks, slack = [], 0.0
    for stage in plan.stages:
        summands = [Summand(*law, count) for law, count in zip(laws, stage.counts, strict=True) if count]
        inner = TiltedSum(summands, step=plan.step, tilt=plan.tilt, window=stage.window, side=side)
        slack += stage.times * inner.slack
        if plan.factor == 1:
            return inner, slack
        block = inner.block(plan.factor, stage.times)
        if block is None:
            return None
        blocks.append(block)
    whole = TiltedSum(blocks, step=plan.step * plan.factor, tilt=plan.tilt, window=plan.window, side=side)
    return whole, slack + whole.slack


def _window(pilot: Pilot, tilt: float, unlikely: float, step: float) -> Window | None:
    """Where all but `unlikely` of the tilted sum lies; None if that has too many points."""
    start, end, rise, fall = pilot.reach(tilt, unlikely)
    points = (end - start) / step + 4
    if points > MOST_POINTS:
        return None
    return Window(start - step, 2 ** max(math.ceil(math.log2(points)), 6), rise, fall)


def _blocks(counts: Sequence[int]) -> int:
    """About the root of the number of losses, and if possible a divisor of all counts."""
    root = math.isqrt(sum(counts))
    near = range(max(root // 2, 2), 2 * root)
    return min(near, key=lambda blocks: (sum(count % blocks for count in counts) > 0, abs(blocks - root)))


def _grid(law: LossLaw, step: float, above: float, below: float) -> Grid:
    """The losses that matter; the anchor is on the grid."""
    low, high = span(law, above, below)
    origin = law.anchor
    last = math.ceil((high - origin) / step - 1e-9)
    first = min(math.floor((low - origin) / step) - 1, last - 2)
    return Grid(origin, step, first, last)


def _any(atoms: Iterable[tuple[float, int]]) -> float:
    """The probability that any of these independent events happens."""
    return -math.expm1(sum(count * math.log1p(-mass) if mass < 1 else -math.inf for mass, count in atoms))


def _short(step: float) -> float:
    """The step with 20 significant bits, so that its multiples are exact."""
    mantissa, exponent = math.frexp(step)
    return math.ldexp(round(mantissa * 2**20), exponent - 20)


def consistent(lower: float, upper: float) -> Interval:
    """An interval from two bounds that were proved separately."""
    if lower > upper:
        raise ArithmeticError(f"the bounds {lower!r} and {upper!r} contradict each other: please report this as a bug")
    return Interval(lower, upper)
