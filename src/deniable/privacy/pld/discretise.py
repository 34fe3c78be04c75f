"""From the law of a loss to two laws on a grid, one that certainly reveals more and one that certainly reveals less.

Write Z = exp(-L) under P, with Z = 0 where the loss is infinite. Then delta(epsilon) = E max(0, 1 - exp(epsilon) Z),
and for independent parts Z multiplies. So delta grows when any part's Z is replaced by one that is larger in the order
of decreasing convex functions. Both laws here are proved in that order; see docs/theory/composition.md.
"""

from typing import NamedTuple

import numpy as np

from deniable.privacy.pld.law import UNIT, Floats, LossLaw


class Grid(NamedTuple):
    """The losses origin + step * (first, ..., last)."""

    origin: float
    step: float
    first: int
    last: int

    @property
    def losses(self) -> Floats:
        return np.asarray(self.origin + self.step * np.arange(self.first, self.last + 1), dtype=np.float64)

    @property
    def reach(self) -> float:
        """The largest size of a loss on the grid."""
        return max(abs(self.origin + self.step * self.first), abs(self.origin + self.step * self.last))


class Discretised(NamedTuple):
    """Two laws on a grid. upper and lower: probabilities under P at each loss.

    Guarantee: delta of any composition with the pair is at most that with `upper` and probability `upper_infinite` of
        an infinite loss, all losses raised by `slack`; at least that with `lower` and `lower_infinite`, all losses
        lowered by `slack`.
    """

    upper: Floats
    upper_infinite: float
    lower: Floats
    lower_infinite: float
    slack: float


def discretise(law: LossLaw, grid: Grid) -> Discretised:
    """Bounds on both sides of a law, on a grid of at least two losses.

    Error: of second order in the step, on both sides; of first order from below at atoms that lie between grid losses.
    """
    losses = grid.losses
    slack = law.slack(grid.reach) + 4 * UNIT * grid.reach
    tails = law.above(losses)
    inside = losses < law.highest - slack  # no loss is greater, whatever rounding says at the edge itself
    p, q = np.where(inside, tails.p, 0.0), np.where(inside, tails.q, 0.0)
    bins = _Bins.of(losses, p, q, tails.error + 8 * UNIT + slack, grid.step)
    upper, beyond = _upper(bins, law.whole)
    top = law.above(np.array([losses[-1] - slack]))
    at_the_top = float((top.p * (1 - top.error - 4 * UNIT))[0])
    line = (1 - law.infinite) * (1 - 4 * UNIT) - bins.odds * ((1 - law.vanishing) * (1 + 8 * UNIT + slack))
    lower = _lower(bins, at_the_top, line)
    return Discretised(upper, law.infinite * (1 + 4 * UNIT) + beyond, lower, law.infinite * (1 - 4 * UNIT), slack)


class _Bins(NamedTuple):
    """Per grid loss: survival, exp(loss), curve H. Per bin: mass and the share of it that belongs to the left end."""

    survival: Floats
    scaled: Floats  # exp(loss) * Q(L > loss)
    odds: Floats  # exp(loss)
    error: Floats  # relative, of the two above
    mass: Floats
    left: Floats
    doubt: Floats  # absolute, of `left`
    ratio: float  # exp(-step)
    gap: float  # 1 - exp(-step)

    @classmethod
    def of(cls, losses: Floats, p: Floats, q: Floats, error: Floats, step: float) -> "_Bins":
        ratio, gap = float(np.exp(-step)), float(-np.expm1(-step))
        odds = np.exp(losses)
        worst = np.maximum(error[:-1], error[1:])
        mass = np.maximum(p[:-1] - p[1:], 0.0)
        left = (odds[:-1] * np.maximum(q[:-1] - q[1:], 0.0) - ratio * mass) / gap
        doubt = 6 * worst * p[:-1] / gap
        return cls(p, odds * q, odds, error, mass, left, doubt, ratio, gap)


def _upper(bins: _Bins, whole: float) -> tuple[Floats, float]:
    """Each bin's mass goes to its ends so that P and Q keep theirs (connect the dots); doubt goes to the right."""
    raised = bins.survival * (1 + bins.error)
    beyond = float(raised[-1])
    kept = np.clip(bins.left - bins.doubt, 0.0, bins.mass)
    steps = np.maximum(raised[:-1] - kept, beyond)  # mass at or above each grid loss but the first
    steps = np.maximum.accumulate(steps[::-1])[::-1]
    ends = np.concatenate(([max(whole, steps[0])], steps, [beyond]))
    return ends[:-1] - ends[1:], beyond


def _lower(bins: _Bins, at_the_top: float, line: Floats) -> Floats:
    """The hull of the best of three polygons below the true curve, each with its corners at grid losses.

    They are the chords lowered at each grid loss by the most that they exceed the curve beside it, the curve of the law
    whose masses all move to the left end of their bin, and the straight `line` that every curve lies above.
    """
    lowered = bins.survival * np.maximum(1 - bins.error, 0.0)
    moved = np.append(lowered[1:-1], min(at_the_top, lowered[-2]))  # masses above each grid loss, each moved left
    moved = np.minimum.accumulate(np.maximum(moved, 0.0))
    rest, doubt = _curve_of(moved, bins)
    least = rest * (1 - doubt)
    chords = _joined(_curve_cut_at_the_top(bins) - _dips(bins), line)
    wins = chords > least * (1 - 1e-9)  # where both are exact up to rounding, the change from one to the other is free
    steps = moved
    if wins.any():
        inner = wins.copy()
        inner[1:] &= wins[:-1]
        inner[:-1] &= wins[1:]
        switch = min(int(np.flatnonzero(wins)[-1]) + 1, moved.size)  # from here on it is the law that was moved
        heights = np.where(inner, chords, least)[: switch + 1]
        heights[switch] = rest[switch] * (1 + doubt)
        steps = np.append(_hull(heights, bins, switch), moved[switch:])
    steps = np.minimum.accumulate(np.clip(steps, 0.0, max(float(lowered[0]), 0.0)))
    ends = np.concatenate(([max(float(lowered[0]), 0.0)], steps, [0.0]))
    return ends[:-1] - ends[1:]


def _joined(first: Floats, second: Floats) -> Floats:
    """A polygon below the larger of two in every bin: at each corner the one that is larger at the corner before."""
    first_wins = first >= second
    before = np.append(first_wins[0], first_wins[:-1])
    return np.where(before, first, second)


def _curve_cut_at_the_top(bins: _Bins) -> Floats:
    """A lower bound on delta at each grid loss, all losses above the last one counted as the last one."""
    curve = bins.survival - bins.scaled
    last = max(float(curve[-1]), 0.0) + 4 * float(bins.error[-1] * bins.survival[-1])
    return np.asarray(curve - bins.odds / bins.odds[-1] * last - 4 * bins.error * bins.survival)


def _curve_of(steps: Floats, bins: _Bins) -> tuple[Floats, float]:
    """The curve, at every grid loss, of a law on the grid with mass `steps[i]` above loss i, and its relative error."""
    weights = np.zeros(steps.size + 1, dtype=np.longdouble)
    weights[1:] = np.cumsum((steps / bins.odds[:-1])[::-1], dtype=np.longdouble)
    rounding = 16 * UNIT + 4 * steps.size * float(np.finfo(np.longdouble).eps)
    return np.asarray(bins.gap * bins.odds * weights[::-1].astype(np.float64)), rounding


def _dips(bins: _Bins) -> Floats:
    """At each grid loss, the most that the chords beside it exceed the curve: a b (1 - r) / (a + b r) in a bin."""
    noise = 2 * bins.error[:-1] * bins.survival[:-1]
    a = np.clip(bins.left + bins.doubt, 0.0, bins.mass) + noise
    b = bins.mass - np.clip(bins.left - bins.doubt, 0.0, bins.mass) + noise
    total = a + bins.ratio * b
    excess = np.divide(a * b, total, out=np.zeros_like(a), where=total > 0) * (bins.gap * (1 + 16 * UNIT))
    return np.asarray(np.maximum(np.append(excess, 0.0), np.append(0.0, excess)))


def _hull(heights: Floats, bins: _Bins, count: int) -> Floats:
    """Mass above each of the first `count` grid losses for the convex hull of these heights."""
    odds = bins.odds[: count + 1]
    steps = (heights[:-1] - bins.ratio * heights[1:]) / bins.gap
    if np.any(steps[1:] > steps[:-1]):
        from scipy.optimize import isotonic_regression

        widths = np.diff(odds)
        corners = isotonic_regression(np.diff(heights) / widths, weights=widths).blocks
        hull = np.minimum(np.interp(odds, odds[corners], heights[corners]), heights)
        steps = (hull[:-1] - bins.ratio * hull[1:]) / bins.gap
    return steps - 16 * UNIT * heights[:-1] / bins.gap
