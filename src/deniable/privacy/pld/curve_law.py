"""Laws from certified points of a curve, so that its loss can be composed.

Any convex decreasing curve from 1 that is at least 1 - x is the curve of a pair; a polygon is that of a finite one.
Proofs: docs/theory/privacy/shuffling.md.

Any convex decreasing curve from 1 that is at least 1 - x is the curve of a pair; a polygon is that of a finite one.
Proofs: docs/theory/privacy/shuffling.md.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from deniable.privacy.pld.law import FiniteLaw, LossLaw, Pairs
from deniable.privacy.pld.laws import NOTHING

End = Callable[[Fraction], float]  # one end of delta at an epsilon
Point = tuple[Fraction, Fraction]  # x = exp(loss) and a height
Between = tuple[Fraction, Fraction, Fraction]  # x, and heights below and above the curve

_NEGLIGIBLE_DELTA = 1e-40  # delta at which a curve ends
_MAX_LOSS = 300.0  # epsilon at which a curve ends


def exp_epsilon_grid(upper: End, limit: Fraction | None, points: int) -> list[Fraction]:
    """Return floats x = exp(epsilon) from 1 to where the curve ends.

    They are closer together where epsilon is small.
    """
    top = _MAX_LOSS if limit is None else min(float(limit) * (1 + 1e-12), _MAX_LOSS)
    low = 0.0
    for _ in range(40):
        middle = (low + top) / 2
        if upper(Fraction(middle)) > _NEGLIGIBLE_DELTA:
            low = middle
        elif middle > 0.9 * top and low > 0:
            break
        else:
            top = middle
    return [Fraction(math.exp(epsilon)) for epsilon in top * np.linspace(0.0, 1.0, points + 1) ** 1.5]


def pairs_above(
    upper: End,
    limit: Fraction | None,
    points: int,
    attained: tuple[LossLaw, LossLaw] | None = None,
    *,
    floor: float = 0.0,
) -> Pairs:
    """Return one pair whose curve is above `upper` in both directions.

    Below the curve is what is attained, or nothing.

    Args:
        upper: upper bound on delta at an epsilon.
        limit: the greatest loss, where there is one.
        points: how many intervals of epsilon the curve is cut into.
        attained: laws that some two neighbours attain; None if unknown.
        floor: the height at which `upper` levels out.

    Args:
        limit: the greatest loss, where there is one.
        points: how many intervals of epsilon the curve is cut into.
        least: the height at which `upper` levels out.
    """
    heights = heights_above(upper, exp_epsilon_grid(lambda epsilon: upper(epsilon) - floor, limit, points))
    law = law_above(heights, heights)
    return Pairs((law, law), attained or (NOTHING, NOTHING))


def heights_above(upper: End, exp_epsilons: Sequence[Fraction]) -> list[Point]:
    """Return points above the curve at ln(x), for each x >= 1."""
    return [(x, Fraction(upper(_about(x, -1)))) for x in exp_epsilons]


def heights_around(lower: End, upper: End, exp_epsilons: Sequence[Fraction]) -> list[Between]:
    """Return heights below and above the curve at ln(x), for each x >= 1."""
    ends = [(x, Fraction(lower(_about(x, 1))), Fraction(upper(_about(x, -1)))) for x in exp_epsilons]
    return [(x, min(low, high), high) for x, low, high in ends]


def _about(x: Fraction, side: int) -> Fraction:
    """Return ln(x), rounded down (side -1) or up (side 1)."""
    logarithm = math.log1p(float(x - 1)) if x < 2 else math.log(x)
    return Fraction(logarithm * (1 + side * 2.0**-50))


def law_above(there: Sequence[Point], back: Sequence[Point]) -> FiniteLaw:
    """Return the law of a pair whose curve is above one that passes below `there`.

    The curve of its reverse is above one below `back`.
    """
    left = [_mirrored(x, height) for x, height in back]
    return _law(_hull([(Fraction(0), Fraction(1)), *sorted([*there, *left])]))


def law_below(there: Sequence[Between], back: Sequence[Between]) -> FiniteLaw:
    """Return the law of a pair whose curve is below one between these heights.

    Its reverse likewise, for `back`.
    """
    last = there[-1][0]
    first = 1 / back[-1][0]
    left = [(*_mirrored(x, low), _mirrored(x, high)[1]) for x, low, high in back[1:-1]]
    points = sorted([*there[:-1], *left])
    # the curve is above 1 - x
    start = (Fraction(0), Fraction(1), Fraction(1))
    end = (first, 1 - first, 1 - first)
    flat = [(last, Fraction(0), Fraction(0)), (2 * last, Fraction(0), Fraction(0))]  # and above 0
    return _law(_hull(_below_a_convex_curve([start, end, *points, *flat])))


def _below_a_convex_curve(points: list[Between]) -> list[Point]:
    """Return a polygon below every falling convex curve through the intervals.

    The intervals are (x, low, high). A convex curve is above the extensions of its chords. In each bin the extensions
    of the chords of the bins before and after it cross at a kink; where rounding makes them cross outside, the end of
    the bin is lowered.

    A convex curve is above the extensions of its chords. In each bin the extensions of the chords of the bins before
    and after it cross at a kink; where rounding makes them cross outside, the end of the bin is lowered.
    """
    low = [point[1] for point in points]
    kinks: list[Point] = []
    for i in range(1, len(points) - 2):
        (x, y) = (points[i][0], points[i][1])
        (u, v) = (points[i + 1][0], points[i + 1][1])
        before, after = points[i - 1], points[i + 2]
        fall = (y - before[2]) / (x - before[0])  # of the chord before, at least as steep as it is
        rise = (after[2] - v) / (after[0] - u)  # of the chord after, at least as flat as it is
        if fall >= rise:
            continue  # the chord of the bin itself is a line
        kink = (v - y + fall * x - rise * u) / (fall - rise)
        if kink <= x:
            low[i] = min(low[i], v + rise * (x - u))
        elif kink >= u:
            low[i + 1] = min(low[i + 1], y + fall * (u - x))
        else:
            kinks.append((kink, y + fall * (kink - x)))
    kept = [(x, max(height, 1 - x, Fraction(0))) for (x, _, _), height in zip(points[:-1], low[:-1], strict=True)]
    return sorted([*kept, *((x, max(height, 1 - x, Fraction(0))) for x, height in kinks)])


def _mirrored(x: Fraction, height: Fraction) -> Point:
    """Return the point of the curve of (P, Q) that matches one of the curve of (Q, P)."""
    return 1 / x, 1 - 1 / x + height / x


def _hull(points: list[Point]) -> list[Point]:
    """Return the lower convex hull of the points, from left to right."""
    kept: list[Point] = []
    for point in points:
        if kept and point[0] == kept[-1][0]:
            if point[1] >= kept[-1][1]:
                continue
            kept.pop()
        while len(kept) > 1 and _is_above(kept[-1], kept[-2], point):
            kept.pop()
        kept.append(point)
    while len(kept) > 1 and kept[-1][1] >= kept[-2][1]:  # a curve falls
        kept.pop()
    return kept


def _is_above(point: Point, start: Point, end: Point) -> bool:
    """Return whether a point between two others is on or above the line through them."""
    return (point[1] - start[1]) * (end[0] - start[0]) >= (end[1] - start[1]) * (point[0] - start[0])


def _law(polygon: list[Point]) -> FiniteLaw:
    """Return the law of a pair with this curve.

    At each corner, Q has the change of slope and P that times x.
    """
    slopes = [(after[1] - before[1]) / (after[0] - before[0]) for before, after in pairwise(polygon)]
    slopes.append(Fraction(0))
    masses = [(x, after - before) for (x, _), (before, after) in zip(polygon[1:], pairwise(slopes), strict=True)]
    losses = np.array([_logarithm(x) for x, _ in masses])
    return FiniteLaw(
        losses,
        np.array([float(x * mass) for x, mass in masses]),
        np.array([float(mass) for _, mass in masses]),
        infinite=float(polygon[-1][1]),
        vanishing=float(1 + slopes[0]),
    )


def _logarithm(x: Fraction) -> float:
    """Return ln(x), accurate near 1 and for large fractions."""
    if Fraction(1, 2) < x < 2:
        return math.log1p(float(x - 1))
    return math.log(x.numerator) - math.log(x.denominator) if x < 1 else math.log(x)
