"""One quantile by the exponential mechanism over all points of a grid, exactly, whatever their number.

The distance of a point c from the wanted rank t is D(c) = max(0, low(c) - t, t - high(c)), where c has the places from
low to high among the rows (`place`): in whole ranks, or in parts of ranks between two rows. The first point counts as
having any place below its highest, and the last any above its lowest. A point is chosen with probability proportional
to exp(-rate D(c)).

Few points matter, and they are never listed. The grid is cut into a few hundred pieces whose least D is known or
bounded; a race chooses a piece as if all its points had that D; a point of it is drawn evenly, and kept with the
probability exp(-rate (D(c) - bound)), else all is done again.

Guarantee: exactly the stated law. Changing one row changes every D by at most `reach(q, relation)` for t = q n + const.
Proof: docs/theory/mechanisms/ranks.md.
Source: Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for the mechanism.
"""

from fractions import Fraction
from math import ceil, floor, log

import numpy as np

from deniable.noise import bernoulli, race, uniform
from deniable.noise.bits import Bits
from deniable.privacy import Relation
from deniable.statistics.order.measure import Codes, Measure
from deniable.statistics.order.place import PARTS, distances, within_gaps
from deniable.statistics.order.ranks import Ranks

EQUAL = Measure()
_NATS = 32.0  # the ranks left out of the window win with probability e^-32 or so, which is paid by a slow look
_LARGEST_EXPONENT = 2**40  # of one coin


def reach(q: Fraction, relation: Relation) -> Fraction:
    """How far one row moves the distance of any point from the rank t = q n + const.

    Guarantee: replace: 1. Add/remove: max(q, 1 - q), because t moves too. Proof: docs/theory/mechanisms/ranks.md.
    """
    return Fraction(1) if relation is Relation.REPLACE else max(q, 1 - q)


def window(target: Fraction, *, rate: Fraction, size: int) -> tuple[int, int]:
    """The ranks that `choose` should know: all others together are chosen with probability about e^-32."""
    width, count = _bands(rate, size)
    return floor(target) - width * count, floor(target) + width * count


def choose(
    ranks: Ranks,
    *,
    target: Fraction,
    rate: Fraction,
    codes: tuple[int, int],
    measure: Measure = EQUAL,
    between: bool = False,
    bits: Bits,
) -> int:
    """The code of a point with probability proportional to its weight times exp(-rate D).

    Args:
        ranks: of the rows; it must know those of `window(...)`.
        target: the wanted rank t; any number.
        rate: per rank; epsilon / (2 reach).
        codes: the first and the last point; the codes of all rows lie between them.
        measure: the weights of the points.
        between: whether places are counted in parts of ranks.
    """
    pieces = _Pieces(ranks, target, rate, codes, measure=measure, between=between)
    unit = rate / (target.denominator * pieces.parts)
    while True:
        code, excess = pieces.propose(unit, bits)
        if _coin(unit * excess, bits):
            return code


class _Pieces:
    """The grid cut into points and open intervals between them, each with a lower bound on its D, in small units."""

    def __init__(
        self,
        ranks: Ranks,
        target: Fraction,
        rate: Fraction,
        codes: tuple[int, int],
        *,
        measure: Measure,
        between: bool,
    ) -> None:
        self.ranks, self.target, self.codes, self.measure, self.between = ranks, target, codes, measure, between
        self.parts = PARTS if between else 1  # of a rank, so D is known in units of 1 / (parts * denominator)
        cuts = np.unique(np.concatenate([self._rows(*_bands(rate, codes[1] - codes[0] + 1)), self._inner(rate)]))
        low, high = self._places(cuts)
        lowest, highest = np.append(-self.parts, high), np.append(low, (ranks.total + 1) * self.parts)
        bounds = np.concatenate([self._distances(cuts, low, high), self._outside(lowest, highest)])
        firsts = np.concatenate([cuts, [codes[0]], cuts + 1])
        behind = np.concatenate([cuts + 1, cuts, [codes[1] + 1]])
        ends = measure.below(np.concatenate([behind, firsts]))
        weights = ends[: behind.size] - ends[behind.size :]
        exact = np.concatenate([np.ones(cuts.size, dtype=np.bool_), lowest == highest])
        held = weights > 0
        self.bounds, self.weights, self.exact = bounds[held], weights[held], exact[held]
        self.firsts, self.behind = firsts[held], behind[held]

    def propose(self, rate: Fraction, bits: Bits) -> tuple[int, int]:
        """A point, and how far its D is above the bound of its piece."""
        piece = race.exponential_mechanism(-self.bounds, rate=rate, weights=self.weights, bits=bits)
        place = int(uniform.below(int(self.weights[piece]), bits=bits))
        code = self.measure.locate(int(self.firsts[piece]), int(self.behind[piece]), place)
        if self.exact[piece]:
            return code, 0
        return code, int(self._distances(np.array([code]), *self._place(code))[0] - self.bounds[piece])

    def _rows(self, width: int, count: int) -> Codes:
        """Rows that many ranks apart, and the ends of the grid where the rows next to them are known."""
        ranks = self.ranks
        centre = min(max(floor(self.target), 0), max(ranks.total - 1, 0))
        places = np.arange(centre - width * count, centre + width * count + 1, width) if width < ranks.total else centre
        places = np.unique(np.clip(places, ranks.start, ranks.end - 1)) if ranks.window.size else np.empty(0, np.int64)
        ends = [self.codes[0]] * (ranks.start == 0) + [self.codes[1]] * (ranks.end == ranks.total)
        return np.concatenate([ranks.window[places - ranks.start], np.array(ends, dtype=np.int64)])

    def _inner(self, rate: Fraction) -> Codes:
        """Points between rows, where D falls so fast there that exp(-rate D) should not be bounded for a whole gap."""
        if not self.between or rate <= 1:
            return np.empty(0, dtype=np.int64)
        count = ceil(_NATS + log(self.codes[1] - self.codes[0] + 1))
        away = np.rint(np.arange(-count, count + 1) * (PARTS / min(float(rate), PARTS))).astype(np.int64)
        rows, parts = np.divmod(floor(self.target * PARTS) - PARTS // 2 + away, PARTS)
        start, window = self.ranks.start, self.ranks.window
        held = (rows >= start) | (start == 0)
        held &= (rows + 1 < self.ranks.end) | (self.ranks.end == self.ranks.total)
        rows, parts = rows[held] - start, parts[held]
        known = np.concatenate([self.codes[:1], window, self.codes[1:]])
        before, behind = (known[np.clip(rows + side, 0, known.size - 1)] for side in (1, 2))
        whole, rest = np.divmod(behind - before, PARTS)
        inner = before + whole * parts + rest * parts // PARTS  # the last point before the place changes, or the first
        return np.concatenate([inner, np.minimum(inner + 1, behind)])

    def _places(self, cuts: Codes) -> tuple[Codes, Codes]:
        """The lowest and the highest place of points that are known rows, or lie between two of them."""
        window, start = self.ranks.window, self.ranks.start
        first, last = (np.searchsorted(window, cuts, side=side) for side in ("left", "right"))
        if not self.between:
            return start + first, start + last
        known = np.concatenate([self.codes[:1], window, self.codes[1:]])
        before, behind = known[first], known[last + 1]
        return within_gaps(cuts, start + first, start + last, before=before, behind=behind, codes=self.codes)

    def _place(self, code: int) -> tuple[Codes, Codes]:
        """The lowest and the highest place of any point."""
        below, within = (np.array([self.ranks.below(end)]) for end in (code, code + 1))
        if not self.between:
            return below, within
        sides = zip(self.ranks.beside(code), self.codes, strict=True)
        before, behind = (np.array([end if row is None else row]) for row, end in sides)
        return within_gaps(np.array([code]), below, within, before=before, behind=behind, codes=self.codes)

    def _distances(self, points: Codes, low: Codes, high: Codes) -> Codes:
        return distances(points, low, high, target=self.target, codes=self.codes, parts=self.parts)

    def _outside(self, low: Codes, high: Codes) -> Codes:
        """D at least, in small units, for points with places from `low` to `high`."""
        wanted, scale = self.target.numerator * self.parts, self.target.denominator
        return np.maximum(0, np.maximum(low * scale - wanted, wanted - high * scale))


def _bands(rate: Fraction, size: int) -> tuple[int, int]:
    """Ranks between two cuts, over which exp(-rate D) falls by at most e, and the number of cuts on either side."""
    width = max(1, floor(1 / rate))
    return width, ceil((_NATS + log(size)) / min(float(rate * width), 1000.0))


def _coin(exponent: Fraction, bits: Bits) -> bool:
    """True with probability exp(-exponent): several coins where one cannot show so small a chance."""
    coins = ceil(exponent / _LARGEST_EXPONENT)
    return all(bernoulli.sample_exp(x=exponent / coins, bits=bits) for _ in range(coins))
