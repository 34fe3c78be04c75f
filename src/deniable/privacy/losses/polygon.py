"""Exact trade-off of finite pairs: a polygon with integer corners.

For a pair (P, Q) on finitely many outcomes, take the outcomes by falling likelihood ratio. The points (Q(E), P(E)) of
the events so reached are the corners of a concave polygon from (0, P(loss = inf)) to (1 - Q(loss = -inf), 1), and
delta(epsilon) is the maximum of P(E) - e^epsilon Q(E) over its corners. Over a common denominator all of it is exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval
from deniable.privacy.pld.law import FiniteLaw

Whole = NDArray[Any]  # of whole numbers: int64 where products of floats are exact, else Python's own

_EXACT_IN_FLOATS = 2**53  # whole numbers up to it are floats
_MIN_RATIO = 1e-290  # quotients below it are computed by their bits


@dataclass(frozen=True, eq=False)
class Polygon:
    """Polygon with corners (q, p) / total, from left to right, and falling slopes.

    Args:
        total: the common denominator.
        q: whole numbers, increasing from 0.
        p: whole numbers, increasing to `total`; p[0] / total is the probability of an infinite loss.
    """

    total: int
    q: Whole
    p: Whole

    @classmethod
    def of_masses(cls, p: Sequence[int], q: Sequence[int]) -> "Polygon":
        """Return the polygon of two distributions, whole numbers with one common sum."""
        total = sum(p)
        kind = np.int64 if total < _EXACT_IN_FLOATS else object
        above, below = np.array(p, dtype=kind), np.array(q, dtype=kind)
        certain = above[below == 0].sum()
        finite = (above != 0) & (below != 0)
        above, below = above[finite], below[finite]
        order = _by_falling_ratio(above, below)
        return cls(total, _running(below[order], 0), _running(above[order], certain))._without_flat_corners()

    @classmethod
    def hull(cls, polygons: Sequence["Polygon"]) -> "Polygon":
        """Return the least polygon above all of these.

        Its curve is the greatest of theirs, everywhere.
        """
        total = polygons[0].total
        corners = {corner for polygon in polygons for corner in polygon.corners}
        kept: list[tuple[int, int]] = []
        for corner in sorted(corners, key=lambda corner_of: (corner_of[0], -corner_of[1])):
            if kept and corner[1] <= kept[-1][1]:
                continue
            while len(kept) > 1 and _is_below(kept[-1], kept[-2], corner):
                kept.pop()
            kept.append(corner)
        kind = np.int64 if total < _EXACT_IN_FLOATS else object
        return cls(total, np.array([q for q, _ in kept], dtype=kind), np.array([p for _, p in kept], dtype=kind))

    @property
    def corners(self) -> list[tuple[int, int]]:
        """Corners as pairs of whole numbers."""
        return list(zip(self.q.tolist(), self.p.tolist(), strict=True))

    def reversed(self) -> "Polygon":
        """Return the polygon of (Q, P): every event is exchanged for its complement."""
        return Polygon(self.total, (self.total - self.p)[::-1], (self.total - self.q)[::-1])

    def equals(self, other: "Polygon") -> bool:
        """Return whether both have the same corners, over the same denominator."""
        return self.total == other.total and np.array_equal(self.q, other.q) and np.array_equal(self.p, other.p)

    @property
    def infinite(self) -> Fraction:
        """Probability P(loss = inf)."""
        return Fraction(int(self.p[0]), self.total)

    @property
    def vanishing(self) -> Fraction:
        """Probability Q(loss = -inf)."""
        return Fraction(self.total - int(self.q[-1]), self.total)

    def ratio(self, edge: int) -> Fraction:
        """Return exp(loss) on one edge; edges are numbered from the greatest loss down."""
        return Fraction(int(self.p[edge + 1] - self.p[edge]), int(self.q[edge + 1] - self.q[edge]))

    def exact_delta(self, exp_epsilon: Fraction) -> Fraction:
        """Return delta at epsilon = ln(exp_epsilon), a rational number."""
        gains = self.p.astype(object) * exp_epsilon.denominator - self.q.astype(object) * exp_epsilon.numerator
        return Fraction(int(gains.max()), self.total * exp_epsilon.denominator)

    def delta(self, epsilon: Fraction) -> Interval:
        """Return delta at `epsilon`, to one rounding.

        The best corner is guessed in floats. In ball arithmetic the gain of every edge beyond it is then shown not to
        be positive, and that of every edge before it not to be negative, else more corners are compared.
        """
        edges = self.losses.size
        guess = int(np.count_nonzero(self.losses > float(min(epsilon, Fraction(10**6)))))
        if guess == 0 and (edges == 0 or self.ratio(0) < 1 + epsilon):  # e^x >= 1 + x
            return Interval.around(self.infinite)

        def formula() -> Arb:
            exp_epsilon = ball(epsilon).exp()

            def gain(edge: int) -> Arb:
                rise, run = (int(line[edge + 1] - line[edge]) for line in (self.p, self.q))
                return rise - exp_epsilon * run

            last, first = guess, guess
            while last < edges and not gain(last) <= 0:
                last += 1
            while first > 0 and not gain(first - 1) >= 0:
                first -= 1
            values = [int(self.p[corner]) - exp_epsilon * int(self.q[corner]) for corner in range(first, last + 1)]
            best = values[0]
            for value in values[1:]:
                best = best.max(value)
            return best / self.total

        return certified(formula)

    @cached_property
    def losses(self) -> NDArray[np.float64]:
        """Losses of the edges, falling; each to a few roundings."""
        return _logarithms(np.diff(self.p), np.diff(self.q))

    def law(self) -> FiniteLaw:
        """Return the law of the loss of a pair with this polygon."""
        p, q = (np.asarray(np.diff(line) / self.total, dtype=np.float64)[::-1] for line in (self.p, self.q))
        ends = float(self.infinite), float(self.vanishing)
        law = FiniteLaw(self.losses[::-1], p, q, infinite=ends[0], vanishing=ends[1], spacing=self._spacing())
        law.highest = max(law.highest, 0.0)  # all finite losses may be negative when some are infinite
        return law

    def _spacing(self) -> float | None:
        """Return the distance of neighbouring losses when all are equal, or None.

        Of a single loss, any number.
        """
        if self.losses.size < 2:
            return max(1.0, float(np.abs(self.losses).max(initial=0.0)))
        p, q = np.diff(self.p).astype(object), np.diff(self.q).astype(object)
        up, down = p[:-1] * q[1:], p[1:] * q[:-1]  # the quotient of neighbouring ratios is up / down
        if np.any(up * down[0] != down * up[0]):
            return None
        return float((self.losses[0] - self.losses[-1]) / (self.losses.size - 1))

    def _without_flat_corners(self) -> "Polygon":
        """Return the polygon with edges of equal slope joined."""
        p, q = np.diff(self.p).astype(object), np.diff(self.q).astype(object)
        kept = np.ones(self.p.size, dtype=bool)
        kept[1:-1] = p[:-1] * q[1:] != p[1:] * q[:-1]
        return Polygon(self.total, self.q[kept], self.p[kept])


def _is_below(point: tuple[int, int], start: tuple[int, int], end: tuple[int, int]) -> bool:
    """Return whether a point between two others is on or below the line through them."""
    return (point[1] - start[1]) * (end[0] - start[0]) <= (end[1] - start[1]) * (point[0] - start[0])


def _by_falling_ratio(above: Whole, below: Whole) -> NDArray[np.intp]:
    """Return the order of falling above / below, exactly.

    Quotients are rounded correctly, so only ties need a second look.
    """
    large = above >= below
    key = np.where(large, -1.0, 1.0)
    size = np.asarray(np.minimum(above, below) / np.maximum(above, below), dtype=np.float64)
    order = np.lexsort((-key * size, key))
    first, second = above[order].astype(object), below[order].astype(object)
    if np.any(first[:-1] * second[1:] < first[1:] * second[:-1]):
        ratios = [Fraction(int(a), int(b)) for a, b in zip(above, below, strict=True)]
        return np.array(sorted(range(len(ratios)), key=ratios.__getitem__, reverse=True), dtype=np.intp)
    return order


def _running(masses: Whole, start: int) -> Whole:
    """Return `start` and the running sums beyond it."""
    return np.concatenate((np.array([start], dtype=masses.dtype), start + np.cumsum(masses)))


def _logarithms(above: Whole, below: Whole) -> NDArray[np.float64]:
    """Return ln(above / below), relatively within four roundings.

    Quotients of whole numbers are rounded correctly.
    """
    if above.size == 0:
        return np.zeros(0)
    smaller, larger = np.minimum(above, below), np.maximum(above, below)
    sign = np.where(above >= below, 1.0, -1.0)
    excess = np.asarray(np.minimum(larger - smaller, 2 * smaller) / smaller, dtype=np.float64)
    share = np.asarray(smaller / larger, dtype=np.float64)
    sizes = np.where(excess < 1, np.log1p(np.minimum(excess, 1.0)), -np.log(np.maximum(share, _MIN_RATIO)))
    for index in np.flatnonzero(share < _MIN_RATIO):
        sizes[index] = _large_logarithm(int(larger[index]), int(smaller[index]))
    return np.asarray(sign * sizes, dtype=np.float64)


def _large_logarithm(above: int, below: int) -> float:
    """Return ln(above / below) of a quotient that no float holds."""
    shift = above.bit_length() - below.bit_length()
    return float(shift * np.log(2.0) + np.log(above / (below << shift)))
