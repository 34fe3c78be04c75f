"""Certified delta and epsilon of a composition: grid, tilt and window are chosen from the composed law and refined.

`tolerance` is the width of the answer: relative for delta, relative for epsilon above 1 and absolute below. It is met,
or an error says what was reached; the bounds themselves hold whatever is chosen here.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.privacy.interval import Interval, round_down, round_up
from deniable.privacy.pld.discretise import Grid, discretise
from deniable.privacy.pld.enumeration import enumeration
from deniable.privacy.pld.law import UNIT, LossLaw
from deniable.privacy.pld.pilot import Pilot, span
from deniable.privacy.pld.transform import Summand, TiltedSum, Window

DEFAULT_TOLERANCE = 1e-3

_MOST_POINTS = 2**22
_MOST_ROUNDS = 8
_SMALLEST_DELTA = 1e-250
_FARTHEST = 450.0
_SMALLEST_TAIL = 1e-260
_MOST_TRIALS = 200


def checked_tolerance(tolerance: object) -> float:
    """A width between 1e-12 and 1."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 1e-12 <= tolerance <= 1:
        raise InvalidParameterError(f"tolerance must be a number from 1e-12 to 1, got {tolerance!r}. Try 1e-3.")
    return float(tolerance)


@dataclass(frozen=True)
class Part:
    """`count` independent runs of one pair of distributions."""

    law: LossLaw
    count: int


def composed_delta(
    directions: Sequence[Sequence[Part]], epsilon: Fraction, tolerance: float, *, most: float = 1.0
) -> Interval:
    """delta at `epsilon` in the worse direction, at most `most`, as near to a relative width `tolerance` as can be."""

    def answer(search: "_Search", least: float) -> Interval:
        if round_down(epsilon) >= composed_limit([search.parts], finite=True).upper:
            return search.certain
        at = float(epsilon)
        guess = max(math.exp(search.pilot.chernoff(at)[1] - 3), _SMALLEST_DELTA)
        return search.refined(
            lambda bounds: _consistent(bounds.below(round_up(epsilon)), bounds.above(round_down(epsilon))),
            lambda found: _Aim(at, _nearer(guess, found), 0.9 * tolerance),
            lambda found: found.width / (tolerance * found.upper) if found.upper > _SMALLEST_DELTA else 0.0,
            Interval(least, max(least, most)),
        )

    return _worse(directions, answer, most)


def composed_epsilon(
    directions: Sequence[Sequence[Part]], delta: Fraction, tolerance: float, *, most: float = math.inf
) -> Interval:
    """The least epsilon for `delta` in the worse direction, at most `most`; as near to `tolerance` as can be."""
    goal = float(delta)

    def answer(search: "_Search", least: float) -> Interval:
        greatest = composed_limit([search.parts]).upper
        if goal < search.infinite * (1 - 64 * UNIT):
            return Interval(math.inf, math.inf)
        if greatest <= least:
            return Interval(0.0, least)
        finite = max(goal - search.infinite, goal * 1e-6)
        guess = search.pilot.epsilon_at(finite)

        def aim(found: Interval) -> _Aim:
            centre = found.upper if found.lower > 0 and math.isfinite(found.upper) else guess
            slope = max(search.pilot.chernoff(centre)[0], 0.2 / search.spread)
            relative = 0.9 * tolerance * max(1.0, centre) * slope * finite / goal
            return _Aim(centre, finite, min(relative, 0.5))

        return search.refined(
            lambda bounds: _crossing(bounds, delta, guess, tolerance * max(1.0, guess) / 50),
            aim,
            lambda found: found.width / (tolerance * unit_of_epsilon(found)),
            Interval(least, max(least, most)),
        )

    return _worse(directions, answer, most)


def unit_of_epsilon(found: Interval) -> float:
    """What the tolerance of an epsilon is relative to."""
    return max(1.0, found.upper if math.isfinite(found.upper) else found.lower)


def reached(found: Interval, tolerance: float, unit: float, name: str) -> Interval:
    """`found`, or an error that says what it is, if it is wider than asked."""
    if found.width <= tolerance * unit or found.upper <= _SMALLEST_DELTA:
        return found
    raise InvalidParameterError(
        f"tolerance={tolerance:g} cannot be reached with {_MOST_POINTS} grid points: {name} is known to lie in "
        f"[{found.lower!r}, {found.upper!r}]. Ask for a larger tolerance."
    )


def composed_limit(directions: Sequence[Sequence[Part]], *, finite: bool = False) -> Interval:
    """The greatest loss of a composition: the epsilon for delta = 0; or the greatest finite one."""
    ends = []
    for parts in directions:
        slack = 64 * UNIT * (len(parts) + 1)
        greatest = 0.0
        for part in parts:
            greatest += part.count * (math.inf if part.law.infinite and not finite else part.law.highest)
        ends.append((greatest * (1 - slack), greatest * (1 + slack)))
    return Interval(max(lower for lower, _ in ends), max(upper for _, upper in ends))


def within_reach(part: Part) -> bool:
    """Whether all losses that can matter are of a size that floats can exponentiate."""
    far = np.array([_FARTHEST])
    return float(part.law.above(far).p[0]) < _SMALLEST_TAIL


def _worse(
    directions: Sequence[Sequence[Part]],
    answer: "Callable[[_Search, float], Interval]",
    most: float,
) -> Interval:
    """The larger of the answers, at most `most`; a direction that cannot be the larger one is not refined."""
    searches = [_Search(parts) for parts in directions]
    lower = upper = 0.0
    for search in searches:
        found = answer(search, lower)
        lower, upper = max(lower, found.lower), max(upper, found.upper)
    upper = min(upper, most)
    return Interval(min(lower, upper), upper)


def _nearer(guess: float, found: Interval) -> float:
    """A guess at delta, brought to what is known of it."""
    return max(min(guess, found.upper), found.lower, _SMALLEST_DELTA)


class _Aim(NamedTuple):
    """What a search works towards: numbers near the answer, and the relative width of delta that will do."""

    epsilon: float
    delta: float
    relative: float


@dataclass(frozen=True)
class _Bounds:
    """Bounds on the finite part of delta and on the probability of an infinite loss, from two composed laws."""

    upper: Callable[[float], float]
    upper_infinite: float
    lower: Callable[[float], float]
    lower_infinite: float

    def above(self, epsilon: float) -> float:
        return min((self.upper_infinite + self.upper(epsilon)) * (1 + 4 * UNIT), 1.0)

    def below(self, epsilon: float) -> float:
        return min((self.lower_infinite + self.lower(epsilon)) * (1 - 4 * UNIT), 1.0)


class _Search:
    """One direction of a composition."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.count = sum(part.count for part in parts)
        self.pilot = Pilot([part.law for part in parts], [part.count for part in parts])
        self.spread = math.sqrt(self.pilot.cumulants(0.0).variance)
        self.infinite = _any((part.law.infinite, part.count) for part in parts)
        self.certain = Interval(self.infinite * (1 - 64 * UNIT), min(self.infinite * (1 + 64 * UNIT), 1.0))
        lengths = {part.law.spacing or part.law.highest - part.law.lowest for part in parts}
        self.lengths = np.array(sorted(length for length in lengths if 0 < length < math.inf))

    def refined(
        self,
        read: Callable[[_Bounds], Interval],
        aimed: Callable[[Interval], _Aim],
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
            return read(_Bounds(few.above, self.certain.upper, few.below, self.certain.lower))
        found = Interval(0.0, math.inf)
        aim = aimed(found)
        step = self.fitted(self.first_step(aim))
        bounds = self.bounds(aim, step)
        while bounds is None and step < 1:
            step *= 2
            bounds = self.bounds(aim, step)
        missing, stalled = math.inf, 0
        for _ in range(_MOST_ROUNDS):
            if bounds is None:
                break
            fresh = read(bounds)
            found = _consistent(max(found.lower, fresh.lower), min(found.upper, fresh.upper))
            if found.upper <= known.lower or found.lower >= known.upper:
                break
            last, missing = missing, excess(Interval(found.lower, min(found.upper, known.upper)))
            stalled = stalled + 1 if 0.9 * last < missing < math.inf else 0
            if missing <= 1 or stalled == 3:
                break
            before, aim = aim, aimed(found)
            if aim.delta > before.delta / 8 and math.isfinite(missing):
                step = self.fitted(step * (0.3 if stalled else min(max(0.9 / math.sqrt(missing), 0.06), 0.7)))
            bounds = self.bounds(aim, step)
        return found

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

    def first_step(self, aim: _Aim) -> float:
        """By the second-order error of the grid: it changes the variance of each loss by half of step^2."""
        slope = max(self.pilot.chernoff(aim.epsilon)[0], 0.3 / self.spread)
        return min(math.sqrt(2.0 * aim.relative / (self.count * slope * (slope + 1))), self.spread / 4)

    def tilt(self, aim: _Aim, step: float) -> float:
        """A tilt that leaves the rounding of the transform well below the width."""
        noise = 5e-14 * (10 + self.count) * math.sqrt(self.spread / step)
        room = min(max(math.log(0.05 * aim.relative / noise), 0.5), 12.0)
        return self.pilot.tilt(aim.epsilon, math.log(aim.delta), room)

    def bounds(self, aim: _Aim, step: float) -> _Bounds | None:
        """Both composed laws on a grid of about this step; None when it would have too many points."""
        tilt = self.tilt(aim, step)
        share = min(math.log(aim.delta) - self.pilot.cumulants(tilt).value + tilt * aim.epsilon, 0.0)
        unlikely = 0.004 * aim.relative / (1 + tilt * self.spread) * math.exp(max(share, -600.0))
        start, end, rise, fall = self.pilot.reach(tilt, unlikely)
        points = (end - start) / step + 4
        if points > _MOST_POINTS:
            return None
        window = Window(start - step, 2 ** max(math.ceil(math.log2(points)), 6), rise, fall)
        share = 0.01 * aim.relative / self.count
        uppers, lowers, atoms_above, atoms_below, slack = [], [], [], [], 0.0
        for part in self.parts:
            grid = _grid(part.law, step, max(aim.delta * share, _SMALLEST_DELTA), share)
            if grid.last - grid.first > _MOST_POINTS:
                return None
            found = discretise(part.law, grid)
            uppers.append(Summand(found.upper, grid.origin + step * grid.first, part.count))
            atoms_above.append((found.upper_infinite, part.count))
            slack += part.count * found.slack
            lowers.append(Summand(found.lower, grid.origin + step * grid.first, part.count))
            atoms_below.append((found.lower_infinite, part.count))
        upper = TiltedSum(uppers, step=step, tilt=tilt, window=window, side=+1)
        lower = TiltedSum(lowers, step=step, tilt=tilt, window=window, side=-1)
        return _Bounds(
            lambda epsilon: upper.delta(epsilon - slack - upper.slack),
            _any(atoms_above) * (1 + 64 * UNIT),
            lambda epsilon: lower.delta(epsilon + slack + lower.slack),
            _any(atoms_below) * (1 - 64 * UNIT),
        )


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


def _crossing(bounds: _Bounds, delta: Fraction, centre: float, fine: float) -> Interval:
    """Where the two bounds cross `delta`, each end checked on its own side."""
    upper = _edge(bounds.above, delta, centre, fine)[1]
    lower = _edge(bounds.below, delta, min(centre, upper), fine)[0]
    return _consistent(lower, upper)


def _consistent(lower: float, upper: float) -> Interval:
    """An interval from two bounds that were proved separately."""
    if lower > upper:
        raise ArithmeticError(f"the bounds {lower!r} and {upper!r} contradict each other: please report this as a bug")
    return Interval(lower, upper)


def _edge(curve: Callable[[float], float], delta: Fraction, guess: float, fine: float) -> tuple[float, float]:
    """(e, e') at most about `fine` apart with curve(e) > delta >= curve(e'); e may be 0 unchecked, e' may be inf."""
    goal = math.log(float(delta))

    def excess(epsilon: float) -> float:
        value = curve(epsilon)
        if Fraction(value) <= delta:
            return min(math.log(value) - goal, 0.0) if value > 0 else -50.0
        return max(math.log(value) - goal, 5e-324)

    below = above = max(guess, 0.0)
    high = low = excess(below)
    stride = 4 * fine
    while low > 0:
        if stride > 1e4:
            return above, math.inf
        below, high = above, low
        above, stride = above + stride, 8 * stride
        low = excess(above)
    while high <= 0:
        if below == 0.0:
            return 0.0, 0.0
        above, low = below, high
        below, stride = max(below - stride, 0.0), 8 * stride
        high = excess(below)
    for step in range(80):
        if above - below <= fine:
            break
        share = min(max(high / (high - low), 0.05), 0.95) if step % 3 < 2 else 0.5
        trial = below + share * (above - below)
        value = excess(trial)
        if value > 0:
            below, high = trial, value
        else:
            above, low = trial, value
    return below, above
