"""Discretisation of a law into two laws on a grid, one revealing more, one less.

Write Z = exp(-L) under P, with Z = 0 where the loss is infinite. Then delta(epsilon) = E max(0, 1 - exp(epsilon) Z),
and for independent parts Z multiplies. So delta grows when any part's Z is replaced by one that is larger in the order
of decreasing convex functions. Both laws here are proved in that order; see docs/theory/privacy/composition.md.

Write Z = exp(-L) under P, with Z = 0 where the loss is infinite. Then delta(epsilon) = E max(0, 1 - exp(epsilon) Z),
and for independent parts Z multiplies. So delta grows when any part's Z is replaced by one that is larger in the order
of decreasing convex functions. Both laws here are proved in that order; see docs/theory/privacy/composition.md.
"""

from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.privacy.pld.law import UNIT, LossLaw


class Grid(NamedTuple):
    """Evenly spaced losses: origin + step * (first, ..., last)."""

    origin: float
    step: float
    first: int
    last: int

    @property
    def losses(self) -> Floats:
        """The losses, increasing."""
        return np.asarray(self.origin + self.step * np.arange(self.first, self.last + 1), dtype=np.float64)

    @property
    def widths(self) -> Floats:
        """Widths of the bins between its losses."""
        return np.full(self.last - self.first, self.step)


class Mesh(NamedTuple):
    """Increasing losses, at any distances."""

    losses: Floats
    origin: float = 0.0

    @property
    def widths(self) -> Floats:
        """Widths of the bins between its losses."""
        return np.diff(self.losses)


class Discretised(NamedTuple):
    """Two laws on a grid: probabilities under P at each loss, `upper` and `lower`.

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
    """Bound a law from both sides by laws on a grid of at least two losses.

    Error: of second order in the step, on both sides; of first order from below at atoms that lie between grid losses.
    """
    losses = grid.losses
    room = law.slacks(losses) + 4 * UNIT * (np.abs(losses) + abs(grid.origin))
    magnitude = float(max(-losses[0], losses[-1]))
    slack = 2 * max(law.slack(magnitude) + 4 * UNIT * (magnitude + abs(grid.origin)), float(room.max()))
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
    line = (1 - law.infinite) * (1 - 4 * UNIT) - bins.exp_losses * ((1 - law.vanishing) * (1 + 8 * UNIT) + 4 * UNIT)
    at_lowest = np.flatnonzero(np.abs(losses - law.lowest) <= room)[:1]
    if at_lowest.size:  # beyond its least loss, which may be an atom, a curve lies above its tangent
        rest = law.above(losses[at_lowest] + 2 * room[at_lowest])
        tangent = rest.p * (1 - rest.error - 4 * UNIT) - bins.exp_losses * (rest.q * (1 + rest.error + 8 * UNIT))
        first = losses[
            at_lowest[0]
        ]  # within `room` of the atom, on either side: there the lower of the two lines holds
        line = np.where(losses > first, tangent, np.where(losses == first, np.minimum(line, tangent), line))
    lower = _lower(bins, at_the_top, line)
    return Discretised(upper, law.infinite * (1 + 4 * UNIT) + beyond, lower, law.infinite * (1 - 4 * UNIT), slack)


class Exponentials(NamedTuple):
    """Exponentials of grid losses, and of the widths between them."""

    exp_losses: Floats  # exp(loss)
    ratio: Floats  # exp(-width) of each bin
    gap: Floats  # 1 - exp(-width)


class _Bins(NamedTuple):
    """Survival, exp(loss) and error at grid losses; mass and its left share per bin."""

    survival: Floats
    scaled: Floats  # exp(loss) * Q(L > loss)
    exp_losses: Floats  # exp(loss)
    error: Floats  # relative, of the two above
    mass: Floats
    left: Floats
    doubt: Floats  # absolute, of `left`
    ratio: Floats  # exp(-width)
    gap: Floats  # 1 - exp(-width)

    @classmethod
    def of(cls, losses: Floats, p: Floats, q: Floats, error: Floats, widths: Floats) -> "_Bins":
        """Return the bins of a law with tails p and q at the losses."""
        ratio = np.exp(-widths)
        gap = -np.expm1(-widths)
        exp_losses = np.exp(losses)
        worst = np.maximum(error[:-1], error[1:])
        mass = np.maximum(p[:-1] - p[1:], 0.0)
        left = (exp_losses[:-1] * np.maximum(q[:-1] - q[1:], 0.0) - ratio * mass) / gap
        doubt = 6 * worst * p[:-1] / gap
        return cls(p, exp_losses * q, exp_losses, error, mass, left, doubt, ratio, gap)


def _upper(bins: _Bins, whole: float) -> tuple[Floats, float]:
    """Return masses whose curve is a polygon through raised points of the curve.

    Each point is raised by its error; the mass of a bin goes to its two ends. Also returns the mass beyond the grid.
    """
    beyond = float(bins.survival[-1] * (1 + bins.error[-1]))
    heights = np.maximum(bins.survival - bins.scaled + 4 * bins.error * bins.survival, 0.0)
    heights[-1] = beyond
    above = (heights[:-1] * (1 + 16 * UNIT) - bins.ratio * heights[1:]) / bins.gap  # mass above each loss but the last
    above = np.maximum.accumulate(np.maximum(above, beyond)[::-1])[::-1]
    ends = np.concatenate(([max(whole, above[0])], above, [beyond]))
    return ends[:-1] - ends[1:], beyond


def _lower(bins: _Bins, at_the_top: float, line: Floats) -> Floats:
    """Return masses whose curve is the hull of three polygons below the true curve.

    All corners are at grid losses. The polygons are the chords lowered at each grid loss by the most that they exceed
    the curve beside it, the curve of the law whose masses all move to the left end of their bin, and the straight
    `line` that every curve lies above.

    They are the chords lowered at each grid loss by the most that they exceed the curve beside it, the curve of the law
    whose masses all move to the left end of their bin, and the straight `line` that every curve lies above.
    """
    beyond = float(bins.survival[-1] * (1 + bins.error[-1]))  # left out: a large tilt would see nothing else
    lowered = np.maximum(bins.survival * np.maximum(1 - bins.error, 0.0) - beyond, 0.0)
    moved = np.append(lowered[1:-1], min(at_the_top, lowered[-2]))  # above each grid loss, after a move to the left
    chords = _joined(
        _curve_cut_at_the_top(bins) - beyond * (1 - bins.exp_losses / bins.exp_losses[-1]) - _dips(bins), line
    )
    return law_below(chords, moved, float(lowered[0]), Exponentials(bins.exp_losses, bins.ratio, bins.gap))


def law_below(chords: Floats, moved: Floats, whole: float, steps: Exponentials) -> Floats:
    """Return masses of a law whose curve is at most that of another.

    Args:
        chords: heights, at every grid loss, of a polygon below the other curve.
        moved: masses above each grid loss but the last of a law with a curve below the other, used where it is higher.
        whole: a lower bound on the mass above the first grid loss or at it.
        steps: exponentials of the grid.
    """
    moved = np.minimum.accumulate(np.maximum(moved, 0.0))
    rest, doubt = curve_of(moved, steps)
    floor = rest * (1 - doubt)
    wins = chords > floor * (1 - 1e-9)  # where both are exact up to rounding, the change from one to the other is free
    above = moved
    if wins.any():
        inner = wins.copy()
        inner[1:] &= wins[:-1]
        inner[:-1] &= wins[1:]
        switch = min(int(np.flatnonzero(wins)[-1]) + 1, moved.size)  # from here on it is the law that was moved
        heights = np.where(inner, chords, np.where(wins, np.minimum(chords, floor), floor))[: switch + 1]
        heights[switch] = rest[switch] * (1 + doubt)
        above = np.append(_hull(heights, steps, switch), moved[switch:])
    above = np.minimum.accumulate(np.clip(above, 0.0, max(whole, 0.0)))
    ends = np.concatenate(([max(whole, 0.0)], above, [0.0]))
    return ends[:-1] - ends[1:]


def _joined(first: Floats, second: Floats) -> Floats:
    """Return a polygon that is below one of two in every bin.

    At a corner between a bin of one and a bin of the other, it is the lower. The second is straight: where rounding
    alone decides, it is kept.

    The second is straight: where rounding alone decides, it is kept.
    """
    first_wins = first >= second + 64 * UNIT
    before = np.append(first_wins[0], first_wins[:-1])
    return np.where(before != first_wins, np.minimum(first, second), np.where(first_wins, first, second))


def _curve_cut_at_the_top(bins: _Bins) -> Floats:
    """Return lower bounds on delta at each grid loss.

    Losses above the last grid loss count as the last one.
    """
    curve = bins.survival - bins.scaled
    last = max(float(curve[-1]), 0.0) + 4 * float(bins.error[-1] * bins.survival[-1])
    return np.asarray(curve - bins.exp_losses / bins.exp_losses[-1] * last - 4 * bins.error * bins.survival)


def curve_of(above: Floats, steps: Exponentials) -> tuple[Floats, float]:
    """Return the curve of a law at every grid loss, and its relative error.

    The law has mass `above[i]` above loss i.
    """
    weights = np.zeros(above.size + 1, dtype=np.longdouble)
    weights[1:] = np.cumsum((steps.gap * above / steps.exp_losses[:-1])[::-1], dtype=np.longdouble)
    rounding = 16 * UNIT + 4 * above.size * float(np.finfo(np.longdouble).eps)
    return np.asarray(steps.exp_losses * weights[::-1].astype(np.float64)), rounding


def _dips(bins: _Bins) -> Floats:
    """Return the most that the chords beside each grid loss exceed the curve.

    In a bin that is a b (1 - r) / (a + b r).
    """
    noise = 2 * bins.error[:-1] * bins.survival[:-1]
    a = np.clip(bins.left + bins.doubt, 0.0, bins.mass) + noise
    b = bins.mass - np.clip(bins.left - bins.doubt, 0.0, bins.mass) + noise
    total = a + bins.ratio * b
    share = np.divide(b, total, out=np.zeros_like(b), where=total > 0)  # a b may be too small for a float
    excess = a * share * (bins.gap * (1 + 16 * UNIT))
    return np.asarray(np.maximum(np.append(excess, 0.0), np.append(0.0, excess)))


def _hull(heights: Floats, steps: Exponentials, count: int) -> Floats:
    """Return the mass above each grid loss for the convex hull of the heights."""
    exp_losses = steps.exp_losses[: count + 1]
    ratio, gap = steps.ratio[:count], steps.gap[:count]
    above = (heights[:-1] - ratio * heights[1:]) / gap
    if np.any(above[1:] > above[:-1]):
        from scipy.optimize import isotonic_regression

        widths = np.diff(exp_losses)
        corners = isotonic_regression(np.diff(heights) / widths, weights=widths).blocks
        hull = np.minimum(np.interp(exp_losses, exp_losses[corners], heights[corners]), heights)
        above = (hull[:-1] - ratio * hull[1:]) / gap
    return np.asarray(above - 16 * UNIT * heights[:-1] / gap)
