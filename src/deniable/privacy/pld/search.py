"""Search for narrow bounds on one direction of a composition, by refinement.

Bins, tilt and frequencies are chosen from the composed law; the bounds hold whatever is chosen.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.privacy.deadline import checkpoint
from deniable.privacy.pld.discretise import Discretised, Grid, Mesh, discretise
from deniable.privacy.pld.enumeration import enumeration
from deniable.privacy.pld.law import UNIT, LossLaw
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.mesh import Focus, begun, cells, placed, threshold
from deniable.privacy.pld.pilot import Pilot, span
from deniable.privacy.pld.transform import Smoothing, Summand, TiltedSum, window_of

MAX_POINTS_PER_LAW = 2**14
MAX_FREQUENCIES = 2**20
MAX_PRODUCTS = 2**31  # losses times frequencies of a transform, all laws together
_MAX_SMOOTHING = 0.5  # GDP of the noise that smooths delta
SMALLEST_DELTA = 1e-250  # smaller ones are not aimed at

_MAX_ROUNDS = 12  # of refinement
_MAX_REMEMBERED = 12  # bounds that answer later questions
_LATTICE_TOLERANCE = 1e-8  # distance of the bounds of a law on its lattice, if all its losses lie there
_ROUGH_WIDTH = 0.02  # relative width above which the answer may be far from the aim,
_ROUGH_MARGIN = 5.0  # by this many powers of e in delta
_MIN_SPREAD = 1e-9  # standard deviation of a sum, where less is computed
_MAX_PIECES = 64  # parts of the least spacing in a common lattice
_FINEST_LATTICE = 0.1  # step of a lattice, over the spread of a smoothing that would suffice


@dataclass(frozen=True)
class RepeatedPair:
    """Independent runs of one pair of distributions, `count` of them."""

    law: LossLaw
    count: int


class Aim(NamedTuple):
    """Aim of a search: numbers near the answer, and the relative width needed.

    steepest: no tilt is larger; where delta falls faster than that, its digits are not needed.
    """

    epsilon: float
    delta: float
    relative: float
    steepest: float = math.inf


@dataclass(frozen=True)
class CurveBounds:
    """Bounds on the finite part of delta and on the probability of an infinite loss.

    They come from two composed laws.
    """

    upper: Callable[[float], float]
    upper_infinite: float
    lower: Callable[[float], float]
    lower_infinite: float
    smoothed: Callable[[float], float]  # about what both together lose by smoothing
    full: bool = False  # whether some law has as many bins as it may

    def above(self, epsilon: float) -> float:
        """Return an upper bound on delta."""
        return min((self.upper_infinite + self.upper(epsilon)) * (1 + 4 * UNIT), 1.0)

    def below(self, epsilon: float) -> float:
        """Return a lower bound on delta."""
        return min((self.lower_infinite + self.lower(epsilon)) * (1 - 4 * UNIT), 1.0)


class Search:
    """Refinable bounds on one direction of a composition."""

    def __init__(self, parts: Sequence[RepeatedPair]) -> None:
        self.parts = parts
        self.count = sum(part.count for part in parts)
        self._whole = Pilot([part.law for part in parts], [part.count for part in parts])
        self.spread = max(math.sqrt(self._whole.cumulants(0.0).variance), _MIN_SPREAD)
        self.infinite = _any((part.law.infinite, part.count) for part in parts)
        self.certain = Interval(self.infinite * (1 - 64 * UNIT), min(self.infinite * (1 + 64 * UNIT), 1.0))
        noise = [part.law.mu for part in parts if isinstance(part.law, NormalLaw) and part.count == 1]
        self.present = math.sqrt(math.fsum(mu**2 for mu in noise)) * (1 - 4 * UNIT)
        self.noise = math.sqrt(math.fsum(mu**2 for mu in noise)) * (1 + 4 * UNIT)
        self.others = [part for part in parts if not _is_noise(part)]
        self.lattice = 0.0 if noise else _lattice([part.law.spacing for part in parts])
        self._kept: list[CurveBounds] = []
        self._cuts: dict[int, Pilot] = {}

    def refined(
        self,
        read: Callable[[CurveBounds], Interval],
        aimed: Callable[[Interval], Aim],
        excess: Callable[[Interval], float],
        known: Interval,
    ) -> Interval:
        """Return the answer that `read` gives on finer and finer grids, once it is narrow.

        Args:
            read: function from bounds on the curve to an answer.
            aimed: the next aim, given the answer so far.
            excess: the width in units of the one asked for.
            known: the answer is at most its upper end, and need not be computed where it is at most its lower end.
        """
        enumerated = enumeration([(part.law, part.count) for part in self.parts])
        if enumerated is not None:
            return read(
                CurveBounds(enumerated.above, self.certain.upper, enumerated.below, self.certain.lower, lambda _: 0.0)
            )
        answer = NONNEGATIVE
        for kept in self._kept:
            old = read(kept)
            if old.upper <= known.lower or (
                old.lower < known.upper and excess(Interval(old.lower, min(old.upper, known.upper))) <= 1
            ):
                return old
        aim = aimed(answer)
        effort = _Effort.of(min(aim.relative, 0.1))
        missing = math.inf
        stalled = 0
        for _ in range(_MAX_ROUNDS):
            checkpoint()
            bounds = self.bounds(aim, effort)
            while bounds is None and effort.smoothing < 1 and math.isinf(answer.upper):
                effort = effort.times(10.0)
                bounds = self.bounds(aim, effort)
            if bounds is None:
                break
            self._keep(bounds)
            fresh = read(bounds)
            answer = consistent(max(answer.lower, fresh.lower), min(answer.upper, fresh.upper))
            if answer.upper <= known.lower or answer.lower >= known.upper:
                break
            last = missing
            missing = excess(Interval(answer.lower, min(answer.upper, known.upper)))
            stalled = stalled + 1 if 0.9 * last < missing < math.inf else 0
            lost = bounds.full or fresh.width > 2 * answer.width  # roundings of narrow bins count more than their width
            if missing <= 1 or stalled >= (1 if lost else 5):
                break
            before = aim
            aim = aimed(answer)
            if aim.delta < before.delta / 8 or aim.epsilon < 0.7 * before.epsilon:  # the first guess was far off
                effort = _Effort.of(aim.relative)
            else:
                effort = effort.adapted(bounds, aim).times(0.5 if stalled else 1.0)
        return answer

    def _keep(self, bounds: CurveBounds) -> None:
        """Remember the latest bounds for the next question."""
        self._kept = [bounds, *self._kept[: _MAX_REMEMBERED - 1]]

    def negligible(self, delta: float, relative: float) -> float:
        """Return the probability to leave out of each law, a power of a thousand.

        All together they are far below this share of delta.
        """
        return 1e3 ** math.floor(math.log(max(0.01 * delta * relative / self.count, SMALLEST_DELTA), 1e3))

    def pilot(self, delta: float, relative: float) -> Pilot:
        """Return the pilot without losses so unlikely.

        A single one of them may be all that a large tilt sees.
        """
        power = round(math.log10(self.negligible(delta, relative)))
        if power not in self._cuts:
            self._cuts[power] = self._whole.cut(
                np.array([0.0 if _is_noise(part) else 10.0**power for part in self.parts])
            )
        return self._cuts[power]

    def one_jump(self, epsilon: float) -> float:
        """Return about a lower bound on delta: the part from single losses."""
        return self._whole.one_jump(epsilon)[0]

    def slope(self, aim: Aim) -> float:
        """Return about -d ln delta / d epsilon.

        Single large losses may be what brings a sum above epsilon.
        """
        best = self.pilot(aim.delta, aim.relative).chernoff(aim.epsilon)[0]
        jump, steepness = self._whole.one_jump(aim.epsilon)
        floor = 0.3 / self.spread
        if jump > 1e-2 * aim.delta:
            best, floor = min(best, steepness), min(floor, max(steepness, 0.1))
        return max(min(best, aim.steepest), floor)

    def tilt(self, aim: Aim) -> float:
        """Return a tilt that keeps rounding of the transforms well below the width."""
        noise = 1e-13 * (10 + self.count)
        room = min(max(math.log(0.05 * aim.relative / noise), 0.5), 12.0)
        best = self.pilot(aim.delta, aim.relative).tilt(aim.epsilon, math.log(aim.delta), room)
        return min(best, aim.steepest, 300 / self.lattice if self.lattice else math.inf)

    def bounds(self, aim: Aim, effort: "_Effort") -> CurveBounds | None:
        """Return both composed laws; None when they would have too many points."""
        slope = self.slope(aim)
        tilt = self.tilt(aim)
        pilot = self.pilot(aim.delta, aim.relative)
        share = min(math.log(aim.delta) - pilot.cumulants(tilt).value + tilt * aim.epsilon, 0.0)
        negligible = 0.004 * aim.relative / (1 + tilt * self.spread) * math.exp(max(share, -600.0))
        spread = min(math.sqrt(effort.smoothing / (slope * (slope + 1))), _MAX_SMOOTHING)
        smoothing = Smoothing(max(self.noise, spread), self.present)
        laws = None
        if self.lattice > _FINEST_LATTICE * smoothing.spread:
            laws = self._on_lattice(aim)
        if laws is None:
            laws = self._on_meshes(aim, effort, slope)
        else:
            smoothing = Smoothing(0.0, step=self.lattice)
        margin = (_ROUGH_MARGIN if effort.bins > _ROUGH_WIDTH else 1.0) / slope
        thresholds = (aim.epsilon - margin, aim.epsilon + margin)
        sides = []
        for side in (+1, -1):
            summands = [
                Summand(nodes.losses, one.upper if side > 0 else one.lower, part.count)
                for part, (nodes, one) in zip(self.others, laws, strict=True)
            ]
            window = window_of(summands, tilt=tilt, smoothing=smoothing, thresholds=thresholds, negligible=negligible)
            if (
                window.count > MAX_FREQUENCIES
                or window.count * sum(nodes.losses.size for nodes, _ in laws) > MAX_PRODUCTS
            ):
                return None
            sides.append(TiltedSum(summands, tilt=tilt, smoothing=smoothing, window=window, side=side))
        high, low = sides
        parts = list(zip(self.others, laws, strict=True))
        slack = math.fsum(part.count * one.slack for part, (_, one) in parts)
        return CurveBounds(
            lambda epsilon: high.delta(epsilon - slack),
            _any((one.upper_infinite, part.count) for part, (_, one) in parts) * (1 + 64 * UNIT),
            lambda epsilon: low.delta(epsilon + slack),
            _any((one.lower_infinite, part.count) for part, (_, one) in parts) * (1 - 64 * UNIT),
            low.smoothed,
            any(nodes.losses.size >= MAX_POINTS_PER_LAW for nodes, _ in laws),
        )

    def _on_lattice(self, aim: Aim) -> list[tuple[Grid | Mesh, Discretised]] | None:
        """Return the laws of all parts on the lattice that holds all their losses.

        None if there is no such lattice, or it has too many points.
        """
        grids = [_grid(part.law, self.lattice, *self._unlikely(aim)) for part in self.others]
        if max(grid.last - grid.first for grid in grids) <= MAX_POINTS_PER_LAW:
            laws = [discretise(part.law, grid) for part, grid in zip(self.others, grids, strict=True)]
            if all(np.abs(np.cumsum(one.upper - one.lower)).max() < _LATTICE_TOLERANCE for one in laws):
                return list(zip(grids, laws, strict=True))
        self.lattice = 0.0
        return None

    def _on_meshes(self, aim: Aim, effort: "_Effort", slope: float) -> list[tuple[Grid | Mesh, Discretised]]:
        """Return the laws of all parts but noise, on bins of about equal error."""
        above, below = self._unlikely(aim)
        total = 4 * effort.bins / (slope * (slope + 1))
        focus = Focus(aim.epsilon, aim.delta, slope)
        rough = [begun(part.law, part.count, above, below, focus) for part in self.others]
        for _ in range(4):
            bin_error = threshold(rough, total)
            edges = [placed(one, bin_error, MAX_POINTS_PER_LAW) for one in rough]
            rough = [
                cells(part.law, part.count, edge, one.fixed, focus)
                for part, one, edge in zip(self.others, rough, edges, strict=True)
            ]
            if sum(float(one.errors.sum()) for one in rough) <= 1.5 * total:
                break
        return [(Mesh(edge), discretise(part.law, Mesh(edge))) for part, edge in zip(self.others, edges, strict=True)]

    def _unlikely(self, aim: Aim) -> tuple[float, float]:
        """Return the probabilities that are left out of each law above and below."""
        return self.negligible(aim.delta, aim.relative), 0.01 * aim.relative / self.count


class _Effort(NamedTuple):
    """Relative widths of delta that bins and smoothing are expected to cost."""

    bins: float
    smoothing: float

    @classmethod
    def of(cls, relative: float) -> "_Effort":
        """Return the effort for a relative width."""
        return cls(0.5 * relative, 0.25 * relative)

    def times(self, share: float) -> "_Effort":
        """Return the effort with both widths changed by one factor."""
        return _Effort(share * self.bins, share * self.smoothing)

    def adapted(self, bounds: CurveBounds, aim: Aim) -> "_Effort":
        """Return the effort adapted to what was lost at the delta asked for."""
        infinite = bounds.lower_infinite  # no part of what the aim is relative to
        upper = bounds.above(aim.epsilon) - infinite
        lower = bounds.below(aim.epsilon) - infinite
        if upper > 10 * lower:
            return self.times(1 / 30)
        if lower <= 0:
            return self
        smoothing = max(bounds.smoothed(aim.epsilon), 0.0) / upper
        bins = max((upper - lower) / upper - smoothing, 0.0)
        return _Effort(_less(self.bins, bins, 0.5 * aim.relative), _less(self.smoothing, smoothing, 0.3 * aim.relative))


def _less(effort: float, cost: float, goal: float) -> float:
    """Return the effort that brings a cost to its goal.

    The cost is of first order where atoms made it larger than was foreseen.
    """
    share = min(goal / max(cost, 1e-300), 1.0)
    return effort * max(share**2 if cost > 3 * effort else share, 1e-4)


def _is_noise(part: RepeatedPair) -> bool:
    """Return whether a part is one run of Gaussian noise."""
    return isinstance(part.law, NormalLaw) and part.count == 1


def _lattice(spacings: Sequence[float | None]) -> float:
    """Return the spacing of a lattice of all losses, up to a shift of each law.

    0 if there is none.
    """
    known = [spacing for spacing in spacings if spacing]
    if not known or len(known) < len(spacings):
        return 0.0
    finest = min(known)
    ratios = [Fraction(spacing / finest).limit_denominator(_MAX_PIECES) for spacing in known]
    pieces = math.lcm(*(ratio.denominator for ratio in ratios))
    is_lattice = all(
        abs(spacing / finest - ratio) < 1e-12 * ratio for spacing, ratio in zip(known, ratios, strict=True)
    )
    return finest / pieces if is_lattice and pieces <= _MAX_PIECES else 0.0


def _grid(law: LossLaw, step: float, above: float, below: float) -> Grid:
    """Return the grid of the losses that matter; the anchor is on it."""
    low, high = span(law, above, below)
    origin = law.anchor
    last = math.ceil((high - origin) / step - 1e-9)
    first = min(math.floor((low - origin) / step) - 1, last - 2)
    return Grid(origin, step, first, last)


def _any(atoms: Iterable[tuple[float, int]]) -> float:
    """Return the probability that any of these independent events happens."""
    return -math.expm1(sum(count * math.log1p(-mass) if mass < 1 else -math.inf for mass, count in atoms))


def consistent(lower: float, upper: float) -> Interval:
    """Return an interval from two bounds that were proved separately."""
    if lower > upper:
        raise ArithmeticError(f"the bounds {lower!r} and {upper!r} contradict each other: please report this as a bug")
    return Interval(lower, upper)
