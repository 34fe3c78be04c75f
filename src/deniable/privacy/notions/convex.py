"""A convex decreasing curve known at some points: what it can be between them, and the error rates that it allows.

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

_UNIT = 2.0**-53


class Corner(NamedTuple):
    """A point (x, delta) of the least curve; `segment` is the index of the point before it, -1 for a point itself."""

    x: Fraction
    delta: Fraction
    segment: int


def corners(points: list[Point], tops: list[Point], floor: Fraction) -> list[Corner]:
    """All corners of the least convex curve: whatever it allows, the true curve allows no less.

    Args:
        points: on or below the curve, x increasing; roundings may make some equal.
        tops: the same on or above it; chords start there.
        floor: the curve is at least this.
    """
    found = [Corner(x, delta, -1) for x, delta in points]
    for i, point in enumerate(points):
        before = next((top for top in reversed(tops[:i]) if top[0] < point[0]), None) if i else _image(tops)
        if i == len(points) - 1:
            corner = _end(before, point, floor)
        else:
            end = points[i + 1]
            corner = _kink(before, point, end, next((top for top in tops[i + 2 :] if top[0] > end[0]), None))
        if corner is not None:
            found.append(Corner(*corner, i))
    return found


def polygon(lines: list[Point], least: Fraction) -> list[Point]:
    """The corners (a, b) of b = max(1 - delta - x a) with `least` <= a <= b, from lines of increasing x from 1.

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
    found = []
    for first, second in pairwise(hull):
        place = _meeting(first, second)
        if place > least:
            found.append((place, 1 - first[1] - first[0] * place))
    if hull:
        start = max(1 - delta - x * least for x, delta in hull)
        if least > 0 or start < 1:
            found.append((least, start))
    return [(a, b) for a, b in found if a <= b]


def _meeting(first: Point, second: Point) -> Fraction:
    """The level a at which two lines meet; the steeper one is higher before it."""
    return (first[1] - second[1]) / (second[0] - first[0])


def misses(lines: list[Point], rates: Floats, *, side: int) -> Floats:
    """max(0, 1 - delta - x a, (1 - delta - a)/x) over lines, at most 1 - a, rounded down (side -1) or up (+1)."""
    x, delta = _as_floats(lines, side)
    found = np.zeros(rates.shape)
    for grown, share in zip(x, delta, strict=True):
        direct = 1 - share - grown * rates + side * 8 * _UNIT
        mirror = (1 - share - rates + side * 4 * _UNIT) / grown * (1 + side * 4 * _UNIT)
        found = np.maximum(found, np.maximum(direct, mirror))
    return np.minimum(found, (1 - rates) * (1 + side * 2 * _UNIT))


def hits(lines: list[Point], rates: Floats, *, side: int) -> Floats:
    """1 - misses, computed from small terms; `side` is the direction of rounding of the hits."""
    x, delta = _as_floats(lines, -side)
    found = np.ones(rates.shape)
    for grown, share in zip(x, delta, strict=True):
        direct = share + grown * rates
        mirror = (grown - 1 + share + rates) / grown
        found = np.minimum(found, np.minimum(direct, mirror))
    return np.minimum(np.maximum(found * (1 + side * 8 * _UNIT) + side * 1e-320, rates), 1.0)


def _as_floats(lines: list[Point], side: int) -> tuple[list[float], list[float]]:
    """Lines that give fewer misses (side -1) or more (+1) than the exact ones; x stays below the largest float."""
    rounded = round_up if side < 0 else round_down
    return [min(rounded(x), 1e308) for x, _ in lines], [rounded(delta) for _, delta in lines]


def _image(tops: list[Point]) -> Point | None:
    """That of the first point beyond 1: delta(1/x) = 1 - 1/x + delta(x)/x."""
    x, delta = next((top for top in tops[1:] if top[0] > 1), (Fraction(1), Fraction(1)))
    return (1 / x, 1 - 1 / x + delta / x) if x > 1 else None


@lru_cache(maxsize=4096)
def _kink(before: Point | None, start: Point, end: Point, after: Point | None) -> Point | None:
    """The corner between `start` and `end` of the least convex decreasing curve, or None where there is none inside.

    The chord from `before` to `start` and that from `after` to `end` are extended; the curve lies above both.
    """
    (x, delta), (far, less) = start, end
    rise = Fraction(0) if after is None else max((less - after[1]) / (after[0] - far), Fraction(0))  # leftward
    if before is None:
        return x, less + rise * (far - x)
    fall = (before[1] - delta) / (x - before[0])
    if fall <= rise:
        return None
    place = (delta + fall * x - less - rise * far) / (fall - rise)
    if place <= x:
        return None
    place = min(place, far)
    return place, less + rise * (far - place)


@lru_cache(maxsize=4096)
def _end(before: Point | None, last: Point, floor: Fraction) -> Point | None:
    """The corner beyond the last knot, where the extended chord meets the least possible delta."""
    x, delta = last
    if before is None or delta <= floor:
        return None
    fall = (before[1] - delta) / (x - before[0])
    return (x + (delta - floor) / fall, floor) if fall > 0 else None
