"""Convex curves known at some points: bounds between them, and the error rates.

With x = exp(epsilon) the curve is delta(x), and for every x the false negative rate is at least 1 - delta - x a and (1
- delta - a)/x, a the false positive rate. Proofs: docs/theory/privacy/notions.md.

With x = exp(epsilon) the curve is delta(x), and for every x the share of misses is at least 1 - delta - x a and
(1 - delta - a)/x, a the share of false alarms. Proofs: docs/theory/privacy/notions.md.
"""

from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from deniable.numbers.arrays import Floats
from deniable.numbers.interval import round_down, round_up

Point = tuple[Fraction, Fraction]  # x and delta

_UNIT = 2.0**-53  # largest relative error of one rounding


class Corner(NamedTuple):
    """Point (x, delta) of the least curve.

    `segment` is the index of the point before it, -1 for a point itself.
    """

    x: Fraction
    delta: Fraction
    segment: int


def corners(points: list[Point], tops: list[Point], floor: Fraction) -> list[Corner]:
    """Return all corners of the least convex curve through the points.

    Whatever it allows, the true curve allows no less.

    Args:
        points: on or below the curve, x increasing; roundings may make some equal.
        tops: points on or above it at the same x; chords start there.
        floor: the curve is at least this.
    """
    all_corners = [Corner(x, delta, -1) for x, delta in points]
    for i, point in enumerate(points):
        before = next((top for top in reversed(tops[:i]) if top[0] < point[0]), None) if i else _image(tops)
        if i == len(points) - 1:
            corner = _end(before, point, floor)
        else:
            end = points[i + 1]
            corner = _kink(before, point, end, next((top for top in tops[i + 2 :] if top[0] > end[0]), None))
        if corner is not None:
            all_corners.append(Corner(*corner, i))
    return all_corners


def polygon(lines: list[Point], min_rate: Fraction) -> list[Point]:
    """Return the corners (a, b) of b = max(1 - delta - x a) with `min_rate` <= a <= b.

    The lines have increasing x from 1. The first corner is at a = min_rate, where it is not in the flat part; a corner
    with the line x = 1 stands for its mirror image too. Corners with a = 0 and b = 1 are left out: every curve passes
    through them.

    The first is at a = least, where it is not in the flat part; a corner with the line x = 1 stands for its mirror
    image too. Corners with a = 0 and b = 1 are left out: every curve passes through them.
    """
    hull: list[Point] = []  # the lines that matter, x increasing; each is the higher one to the left of a meeting
    for x, delta in lines:
        if hull and delta >= hull[-1][1]:
            continue  # higher nowhere
        while len(hull) > 1 and _meeting(hull[-1], (x, delta)) >= _meeting(hull[-2], hull[-1]):
            hull.pop()
        hull.append((x, delta))
    polygon_corners = []
    for first, second in pairwise(hull):
        crossing = _meeting(first, second)
        if crossing > min_rate:
            polygon_corners.append((crossing, 1 - first[1] - first[0] * crossing))
    if hull:
        start = max(1 - delta - x * min_rate for x, delta in hull)
        if min_rate > 0 or start < 1:
            polygon_corners.append((min_rate, start))
    return [(a, b) for a, b in polygon_corners if a <= b]


def _meeting(first: Point, second: Point) -> Fraction:
    """Return the level a at which two lines meet; the steeper one is higher before it."""
    return (first[1] - second[1]) / (second[0] - first[0])


def misses(lines: list[Point], rates: Floats, *, side: int) -> Floats:
    """Return false negative rates over lines, rounded down (side -1) or up (+1).

    They are max(0, 1 - delta - x a, (1 - delta - a)/x), at most 1 - a.
    """
    x, delta = _as_floats(lines, side)
    bounds = np.zeros(rates.shape)
    for grown, share in zip(x, delta, strict=True):
        direct = 1 - share - grown * rates + side * 8 * _UNIT
        mirror = (1 - share - rates + side * 4 * _UNIT) / grown * (1 + side * 4 * _UNIT)
        bounds = np.maximum(bounds, np.maximum(direct, mirror))
    return np.minimum(bounds, (1 - rates) * (1 + side * 2 * _UNIT))


def hits(lines: list[Point], rates: Floats, *, side: int) -> Floats:
    """Return true positive rates, 1 - misses, computed from small terms.

    `side` is the direction of rounding of the hits.
    """
    x, delta = _as_floats(lines, -side)
    bounds = np.ones(rates.shape)
    for grown, share in zip(x, delta, strict=True):
        direct = share + grown * rates
        mirror = (grown - 1 + share + rates) / grown
        bounds = np.minimum(bounds, np.minimum(direct, mirror))
    return np.minimum(np.maximum(bounds * (1 + side * 8 * _UNIT) + side * 1e-320, rates), 1.0)


def _as_floats(lines: list[Point], side: int) -> tuple[list[float], list[float]]:
    """Return lines as floats that give fewer misses (side -1) or more (+1).

    x stays below the largest float.
    """
    rounded = round_up if side < 0 else round_down
    return [min(rounded(x), 1e308) for x, _ in lines], [rounded(delta) for _, delta in lines]


def _image(tops: list[Point]) -> Point | None:
    """Return the mirror image of the first point beyond 1.

    delta(1/x) = 1 - 1/x + delta(x)/x.
    """
    x, delta = next((top for top in tops[1:] if top[0] > 1), (Fraction(1), Fraction(1)))
    return (1 / x, 1 - 1 / x + delta / x) if x > 1 else None


@lru_cache(maxsize=4096)
def _kink(before: Point | None, start: Point, end: Point, after: Point | None) -> Point | None:
    """Return the corner between `start` and `end` of the least convex curve, if any.

    The chord from `before` to `start` and that from `after` to `end` are extended; the curve, which decreases, lies
    above both. None where there is no corner inside.

    The chord from `before` to `start` and that from `after` to `end` are extended; the curve lies above both.
    """
    (x, delta), (far, less) = start, end
    rise = Fraction(0) if after is None else max((less - after[1]) / (after[0] - far), Fraction(0))  # leftward
    if before is None:
        return x, less + rise * (far - x)
    fall = (before[1] - delta) / (x - before[0])
    if fall <= rise:
        return None
    kink = (delta + fall * x - less - rise * far) / (fall - rise)
    if kink <= x:
        return None
    kink = min(kink, far)
    return kink, less + rise * (far - kink)


@lru_cache(maxsize=4096)
def _end(before: Point | None, last: Point, floor: Fraction) -> Point | None:
    """Return the corner beyond the last knot, where its chord meets the least delta."""
    x, delta = last
    if before is None or delta <= floor:
        return None
    fall = (before[1] - delta) / (x - before[0])
    return (x + (delta - floor) / fall, floor) if fall > 0 else None
