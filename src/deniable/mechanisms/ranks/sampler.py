"""Exact draws of one point by the exponential mechanism over a grid of any size.

The distance of a point c from the wanted rank t is D(c) = max(0, low(c) - t, t - high(c)), where c has the places from
low to high among the records (`places`): in whole ranks, or in parts of ranks between two records. The first point
counts as having any place below its highest, and the last any above its lowest. A point is chosen with probability
proportional to its weight times exp(-rate D(c)).

Few points matter, and they are never listed. The grid is cut into a few hundred pieces whose least D is known or
bounded; a race chooses a piece as if all its points had that D; a point of it is drawn evenly, and kept with the
probability exp(-rate (D(c) - bound)), else all is done again.

Guarantee: exactly the stated law. Proof: docs/theory/mechanisms/ranks.md.
"""

from fractions import Fraction
from math import ceil, floor, log

import numpy as np

from deniable.mechanisms.ranks.points import Codes, Points
from deniable.mechanisms.ranks.positions import PARTS, distances, within_gaps
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise import bernoulli, race, races, uniform
from deniable.noise.bits import Bits

_NATS = 32.0  # the ranks left out of the window win with probability e^-32 or so, which is paid by a slow look
_LARGEST_EXPONENT = 2**40  # of one coin


def window(target: Fraction, *, rate: Fraction, size: int) -> tuple[int, int]:
    """Return the ranks that a draw should know.

    All others together are chosen with probability about e^-32.
    """
    width, count = _bands(rate, size)
    return floor(target) - width * count, floor(target) + width * count


class PointSampler:
    """Points cut into single ones and open intervals, with lower bounds on their D.

    The bounds are in small units.

    Args:
        records: it must know those of `window(...)`.
        target: the wanted rank t; any number.
        rate: per rank.
        span: the first and the last point; the codes of all records lie between them. All of `points` by default.
        interpolated: whether places are counted in parts of ranks.
    """

    def __init__(
        self,
        records: RankWindow,
        *,
        target: Fraction,
        rate: Fraction,
        points: Points,
        span: tuple[int, int] | None = None,
        interpolated: bool = False,
    ) -> None:
        self.records, self.target, self.points, self.interpolated = records, target, points, interpolated
        self.span = span = (0, points.size - 1) if span is None else span
        self.parts = PARTS if interpolated else 1  # of a rank, so D is known in units of 1 / (parts * denominator)
        self.rate = rate / (target.denominator * self.parts)  # per unit
        cuts = np.unique(np.concatenate([self._rows(*_bands(rate, span[1] - span[0] + 1)), self._inner(rate)]))
        low, high = self._rank_ranges(cuts)
        lowest, highest = np.append(-self.parts, high), np.append(low, (records.total + 1) * self.parts)
        bounds = np.concatenate([self._distances(cuts, low, high), self._outside(lowest, highest)])
        firsts = np.concatenate([cuts, [span[0]], cuts + 1])
        behind = np.concatenate([cuts + 1, cuts, [span[1] + 1]])
        ends = points.below(np.concatenate([behind, firsts]))
        weights = ends[: behind.size] - ends[behind.size :]
        exact = np.concatenate([np.ones(cuts.size, dtype=np.bool_), lowest == highest])
        held = weights > 0
        self.bounds, self.weights, self.exact = bounds[held], weights[held], exact[held]
        self.firsts, self.behind = firsts[held], behind[held]

    def draws(self, runs: int, bits: Bits) -> Codes:
        """Codes of `runs` points, drawn independently."""
        codes = np.full(runs, -1, dtype=np.int64)
        while (left := np.flatnonzero(codes < 0)).size:
            drawn = raced(-self.bounds, self.weights, rate=self.rate, runs=left.size, bits=bits)
            known: dict[tuple[int, int], tuple[int, int]] = {}
            for run, drawn_piece in zip(
                left.tolist(), zip(*(each.tolist() for each in drawn), strict=True), strict=True
            ):
                code, excess = known[drawn_piece] = known.get(drawn_piece) or self._within(*drawn_piece)
                if not excess or _coin(self.rate * excess, bits):
                    codes[run] = code
        return codes

    def _within(self, piece: int, position: int) -> tuple[int, int]:
        """A point of a piece, and how far its D is above the bound."""
        code = self.points.locate(int(self.firsts[piece]), int(self.behind[piece]), position)
        if self.exact[piece]:
            return code, 0
        return code, int(self._distances(np.array([code]), *self._rank_range(code))[0] - self.bounds[piece])

    def _rows(self, width: int, count: int) -> Codes:
        """Return records that many ranks apart, and the ends of the span.

        At the ends the records next to them are known.
        """
        records = self.records
        centre = min(max(floor(self.target), 0), max(records.total - 1, 0))
        ranks = (
            np.arange(centre - width * count, centre + width * count + 1, width) if width < records.total else centre
        )
        ranks = (
            np.unique(np.clip(ranks, records.start, records.end - 1)) if records.known.size else np.empty(0, np.int64)
        )
        ends = [self.span[0]] * (records.start == 0) + [self.span[1]] * (records.end == records.total)
        return np.concatenate([records.known[ranks - records.start], np.array(ends, dtype=np.int64)])

    def _inner(self, rate: Fraction) -> Codes:
        """Return points between records, where one bound of exp(-rate D) is too coarse."""
        if not self.interpolated or rate <= 1:
            return np.empty(0, dtype=np.int64)
        count = ceil(_NATS + log(self.span[1] - self.span[0] + 1))
        away = np.rint(np.arange(-count, count + 1) * (PARTS / min(float(rate), PARTS))).astype(np.int64)
        rows, parts = np.divmod(floor(self.target * PARTS) - PARTS // 2 + away, PARTS)
        start, window = self.records.start, self.records.known
        held = (rows >= start) | (start == 0)
        held &= (rows + 1 < self.records.end) | (self.records.end == self.records.total)
        rows = rows[held] - start
        parts = parts[held]
        known = np.concatenate([self.span[:1], window, self.span[1:]])
        before, behind = (known[np.clip(rows + side, 0, known.size - 1)] for side in (1, 2))
        whole, rest = np.divmod(behind - before, PARTS)
        inner = before + whole * parts + rest * parts // PARTS  # the last point before the place changes, or the first
        return np.concatenate([inner, np.minimum(inner + 1, behind)])

    def _rank_ranges(self, cuts: Codes) -> tuple[Codes, Codes]:
        """Return the lowest and the highest rank of points at or between known records."""
        window, start = self.records.known, self.records.start
        first, last = (np.searchsorted(window, cuts, side=side) for side in ("left", "right"))
        if not self.interpolated:
            return start + first, start + last
        known = np.concatenate([self.span[:1], window, self.span[1:]])
        before, behind = known[first], known[last + 1]
        return within_gaps(cuts, start + first, start + last, before=before, behind=behind, span=self.span)

    def _rank_range(self, code: int) -> tuple[Codes, Codes]:
        """The lowest and the highest place of any point."""
        below, within = (np.array([self.records.below(end)]) for end in (code, code + 1))
        if not self.interpolated:
            return below, within
        sides = zip(self.records.beside(code), self.span, strict=True)
        before, behind = (np.array([end if row is None else row]) for row, end in sides)
        return within_gaps(np.array([code]), below, within, before=before, behind=behind, span=self.span)

    def _distances(self, points: Codes, low: Codes, high: Codes) -> Codes:
        return distances(points, low, high, target=self.target, span=self.span, parts=self.parts)

    def _outside(self, low: Codes, high: Codes) -> Codes:
        """D at least, in small units, for points with places from `low` to `high`."""
        wanted = self.target.numerator * self.parts
        scale = self.target.denominator
        return np.maximum(0, np.maximum(low * scale - wanted, wanted - high * scale))


def raced(scores: Codes, weights: Codes, *, rate: Fraction, runs: int, bits: Bits) -> tuple[Codes, Codes]:
    """Draw candidates in proportion to weight exp(rate score), and positions in each.

    A position is uniform in the weight of its candidate.
    """
    if runs == 1:
        chosen = np.array([race.exponential_mechanism(scores, rate=rate, weights=weights, bits=bits)])
        return chosen, np.array([uniform.below(int(weights[chosen[0]]), bits=bits)])
    shape = (runs, scores.size)
    chosen = races.exponential_mechanism(
        np.broadcast_to(scores, shape), rate=rate, weights=np.broadcast_to(weights, shape), bits=bits
    )
    return chosen, uniform.sample(weights[chosen], bits=bits)


def _bands(rate: Fraction, size: int) -> tuple[int, int]:
    """Return ranks between two cuts, over which exp(-rate D) falls by at most e.

    And the number of cuts on either side.
    """
    width = max(1, floor(1 / rate))
    return width, ceil((_NATS + log(size)) / min(float(rate * width), 1000.0))


def _coin(exponent: Fraction, bits: Bits) -> bool:
    """Return True with probability exp(-exponent), by several coins where it is small."""
    coins = ceil(exponent / _LARGEST_EXPONENT)
    return all(bernoulli.sample_exp(x=exponent / coins, bits=bits) for _ in range(coins))
