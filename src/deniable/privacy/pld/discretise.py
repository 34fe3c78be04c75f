"""From the law of a loss to two laws on a grid, one that certainly reveals more and one that certainly reveals less.

Write Z = exp(-L) under P, with Z = 0 where the loss is infinite. Then delta(epsilon) = E max(0, 1 - exp(epsilon) Z),
and for independent parts Z multiplies. So delta grows when any part's Z is replaced by one that is larger in the order
of decreasing convex functions. Both laws here are proved in that order; see docs/theory/privacy/composition.md.
"""

from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, LossLaw


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
    def widths(self) -> Floats:
        """Widths of the bins between its losses."""
        return np.full(self.last - self.first, self.step)


class Mesh(NamedTuple):
    """Any increasing losses."""

    losses: Floats
    origin: float = 0.0

    @property
    def widths(self) -> Floats:
        """Widths of the bins between its losses."""
        return np.diff(self.losses)


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


def discretise(law: LossLaw, grid: Grid | Mesh) -> Discretised:
    """Bounds on both sides of a law, on a grid of at least two losses.

    Error: of second order in the step, on both sides; of first order from below at atoms that lie between grid losses.
    """
    losses = grid.losses
    room = law.slacks(losses) + 4 * UNIT * (np.abs(losses) + abs(grid.origin))
    reach = float(max(-losses[0], losses[-1]))
    slack = 2 * max(law.slack(reach) + 4 * UNIT * (reach + abs(grid.origin)), float(room.max()))
    tails = law.above(losses - room)  # a loss on the grid, up to rounding, belongs to the bin that begins there
    inside = losses - room < law.highest  # no loss is greater, whatever rounding says at the edge itself
    p, q = np.where(inside, tails.p, 0.0), np.where(inside, tails.q, 0.0)
    error = tails.error + 8 * UNIT + 2 * room
    at_the_top = 0.0
    if losses[-1] >= law.highest - slack:  # the greatest loss is the last one: it stays in the bin that ends there
        at_the_top = float(p[-1] * max(1 - error[-1], 0.0))
        p[-1] = q[-1] = 0.0
    bins = _Bins.of(losses, p, q, error, grid.widths)
    upper, beyond = _upper(bins, law.whole)
    line = (1 - law.infinite) * (1 - 4 * UNIT) - bins.odds * ((1 - law.vanishing) * (1 + 8 * UNIT) + 4 * UNIT)
    least = np.flatnonzero(np.abs(losses - law.lowest) <= room)[:1]
    if least.size:  # beyond its least loss, which may be an atom, a curve lies above its tangent
        rest = law.above(losses[least] + 2 * room[least])
        tangent = rest.p * (1 - rest.error - 4 * UNIT) - bins.odds * (rest.q * (1 + rest.error + 8 * UNIT))
        first = losses[least[0]]  # within `room` of the atom, on either side: there the lower of the two lines holds
        line = np.where(losses > first, tangent, np.where(losses == first, np.minimum(line, tangent), line))
    lower = _lower(bins, at_the_top, line)
    return Discretised(upper, law.infinite * (1 + 4 * UNIT) + beyond, lower, law.infinite * (1 - 4 * UNIT), slack)


class Odds(NamedTuple):
    """The exponentials of grid losses, and of the widths between them."""

    odds: Floats  # exp(loss)
    ratio: Floats  # exp(-width) of each bin
    gap: Floats  # 1 - exp(-width)


class _Bins(NamedTuple):
    """Per grid loss: survival, exp(loss), curve H. Per bin: mass and the share of it that belongs to the left end."""

    survival: Floats
    scaled: Floats  # exp(loss) * Q(L > loss)
    odds: Floats  # exp(loss)
    error: Floats  # relative, of the two above
    mass: Floats
    left: Floats
    doubt: Floats  # absolute, of `left`
    ratio: Floats  # exp(-width)
    gap: Floats  # 1 - exp(-width)

    @classmethod
    def of(cls, losses: Floats, p: Floats, q: Floats, error: Floats, widths: Floats) -> "_Bins":
        ratio, gap = np.exp(-widths), -np.expm1(-widths)
        odds = np.exp(losses)
        worst = np.maximum(error[:-1], error[1:])
        mass = np.maximum(p[:-1] - p[1:], 0.0)
        left = (odds[:-1] * np.maximum(q[:-1] - q[1:], 0.0) - ratio * mass) / gap
        doubt = 6 * worst * p[:-1] / gap
        return cls(p, odds * q, odds, error, mass, left, doubt, ratio, gap)


def _upper(bins: _Bins, whole: float) -> tuple[Floats, float]:
    """The polygon through points of the curve, each raised by its error: the mass of a bin goes to its two ends."""
    beyond = float(bins.survival[-1] * (1 + bins.error[-1]))
    heights = np.maximum(bins.survival - bins.scaled + 4 * bins.error * bins.survival, 0.0)
    heights[-1] = beyond
    above = (heights[:-1] * (1 + 16 * UNIT) - bins.ratio * heights[1:]) / bins.gap  # mass above each loss but the last
    above = np.maximum.accumulate(np.maximum(above, beyond)[::-1])[::-1]
    ends = np.concatenate(([max(whole, above[0])], above, [beyond]))
    return ends[:-1] - ends[1:], beyond


def _lower(bins: _Bins, at_the_top: float, line: Floats) -> Floats:
    """The hull of the best of three polygons below the true curve, each with its corners at grid losses.

    They are the chords lowered at each grid loss by the most that they exceed the curve beside it, the curve of the law
    whose masses all move to the left end of their bin, and the straight `line` that every curve lies above.
    """
    beyond = float(bins.survival[-1] * (1 + bins.error[-1]))  # left out: a large tilt would see nothing else
    lowered = np.maximum(bins.survival * np.maximum(1 - bins.error, 0.0) - beyond, 0.0)
    moved = np.append(lowered[1:-1], min(at_the_top, lowered[-2]))  # above each grid loss, after a move to the left
    chords = _joined(_curve_cut_at_the_top(bins) - beyond * (1 - bins.odds / bins.odds[-1]) - _dips(bins), line)
    return law_below(chords, moved, float(lowered[0]), Odds(bins.odds, bins.ratio, bins.gap))


def law_below(chords: Floats, moved: Floats, whole: float, steps: Odds) -> Floats:
    """Masses of a law whose curve is at most that of another.

    Args:
        chords: heights, at every grid loss, of a polygon below the other curve.
        moved: masses above each grid loss but the last of a law with a curve below the other, used where it is higher.
        whole: a lower bound on the mass above the first grid loss or at it.
    """
    moved = np.minimum.accumulate(np.maximum(moved, 0.0))
    rest, doubt = curve_of(moved, steps)
    least = rest * (1 - doubt)
    wins = chords > least * (1 - 1e-9)  # where both are exact up to rounding, the change from one to the other is free
    above = moved
    if wins.any():
        inner = wins.copy()
        inner[1:] &= wins[:-1]
        inner[:-1] &= wins[1:]
        switch = min(int(np.flatnonzero(wins)[-1]) + 1, moved.size)  # from here on it is the law that was moved
        heights = np.where(inner, chords, np.where(wins, np.minimum(chords, least), least))[: switch + 1]
        heights[switch] = rest[switch] * (1 + doubt)
        above = np.append(_hull(heights, steps, switch), moved[switch:])
    above = np.minimum.accumulate(np.clip(above, 0.0, max(whole, 0.0)))
    ends = np.concatenate(([max(whole, 0.0)], above, [0.0]))
    return ends[:-1] - ends[1:]


def _joined(first: Floats, second: Floats) -> Floats:
    """A polygon below one of two in every bin: at a corner between a bin of one and a bin of the other, the lower.

    The second is straight: where rounding alone decides, it is kept.
    """
    first_wins = first >= second + 64 * UNIT
    before = np.append(first_wins[0], first_wins[:-1])
    return np.where(before != first_wins, np.minimum(first, second), np.where(first_wins, first, second))


def _curve_cut_at_the_top(bins: _Bins) -> Floats:
    """A lower bound on delta at each grid loss, all losses above the last one counted as the last one."""
    curve = bins.survival - bins.scaled
    last = max(float(curve[-1]), 0.0) + 4 * float(bins.error[-1] * bins.survival[-1])
    return np.asarray(curve - bins.odds / bins.odds[-1] * last - 4 * bins.error * bins.survival)


def curve_of(above: Floats, steps: Odds) -> tuple[Floats, float]:
    """The curve, at every grid loss, of a law on the grid with mass `above[i]` above loss i, and its relative error."""
    weights = np.zeros(above.size + 1, dtype=np.longdouble)
    weights[1:] = np.cumsum((steps.gap * above / steps.odds[:-1])[::-1], dtype=np.longdouble)
    rounding = 16 * UNIT + 4 * above.size * float(np.finfo(np.longdouble).eps)
    return np.asarray(steps.odds * weights[::-1].astype(np.float64)), rounding


def _dips(bins: _Bins) -> Floats:
    """At each grid loss, the most that the chords beside it exceed the curve: a b (1 - r) / (a + b r) in a bin."""
    noise = 2 * bins.error[:-1] * bins.survival[:-1]
    a = np.clip(bins.left + bins.doubt, 0.0, bins.mass) + noise
    b = bins.mass - np.clip(bins.left - bins.doubt, 0.0, bins.mass) + noise
    total = a + bins.ratio * b
    share = np.divide(b, total, out=np.zeros_like(b), where=total > 0)  # a b may be too small for a float
    excess = a * share * (bins.gap * (1 + 16 * UNIT))
    return np.asarray(np.maximum(np.append(excess, 0.0), np.append(0.0, excess)))


def _hull(heights: Floats, steps: Odds, count: int) -> Floats:
    """Mass above each of the first `count` grid losses for the convex hull of these heights."""
    odds = steps.odds[: count + 1]
    ratio, gap = steps.ratio[:count], steps.gap[:count]
    above = (heights[:-1] - ratio * heights[1:]) / gap
    if np.any(above[1:] > above[:-1]):
        from scipy.optimize import isotonic_regression

        widths = np.diff(odds)
        corners = isotonic_regression(np.diff(heights) / widths, weights=widths).blocks
        hull = np.minimum(np.interp(odds, odds[corners], heights[corners]), heights)
        above = (hull[:-1] - ratio * hull[1:]) / gap
    return np.asarray(above - 16 * UNIT * heights[:-1] / gap)
