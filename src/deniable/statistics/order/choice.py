"""One quantile by the exponential mechanism over all points of a grid, exactly, whatever their number.

The distance of a point c from the wanted rank t is D(c) = max(0, L(c) - t, t - E(c)), where L rows are below c and E
rows are at or below it. The first point counts as having any rank below E, and the last any rank above L. A point is
chosen with probability proportional to exp(-rate D(c)).

Few points matter, and they are never listed. The grid is cut into a few hundred pieces whose least D is known or
bounded; a race chooses a piece as if all its points had that D; a point of it is drawn evenly, and kept with the
probability exp(-rate (D(c) - bound)), else all is done again.

Guarantee: exactly the stated law. Changing one row changes every D by at most `reach(q, relation)` for t = q n + const.
Proof: docs/theory/quantiles.md.
Source: Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates", for the mechanism.
"""

from fractions import Fraction
from math import ceil, floor, log

import numpy as np
from numpy.typing import NDArray

from deniable.noise import bernoulli, race, uniform
from deniable.noise.bits import Bits
from deniable.privacy import Relation
from deniable.statistics.order.measure import Measure
from deniable.statistics.order.ranks import Ranks

EQUAL = Measure()
_NATS = 32.0  # the ranks left out of the window win with probability e^-32 or so, which is paid by a slow look
_LARGEST_EXPONENT = 2**40  # of one coin


def reach(q: Fraction, relation: Relation) -> Fraction:
    """How far one row moves the distance of any point from the rank t = q n + const.

    Guarantee: replace: 1. Add/remove: max(q, 1 - q), because t moves too. Proof: docs/theory/quantiles.md.
    """
    return Fraction(1) if relation is Relation.REPLACE else max(q, 1 - q)


def window(target: Fraction, *, rate: Fraction, size: int) -> tuple[int, int]:
    """The ranks that `choose` should know: all others together are chosen with probability about e^-32."""
    width, count = _bands(rate, size)
    return floor(target) - width * count, floor(target) + width * count


def choose(
    ranks: Ranks, *, target: Fraction, rate: Fraction, codes: tuple[int, int], measure: Measure = EQUAL, bits: Bits
) -> int:
    """The code of a point with probability proportional to its weight times exp(-rate D).

    Args:
        ranks: of the rows; it must know those of `window(...)`.
        target: the wanted rank t; any number.
        rate: per rank; epsilon / (2 reach).
        codes: the first and the last point; the codes of all rows lie between them.
        measure: the weights of the points.
    """
    scale = target.denominator
    pieces = _Pieces(ranks, target, _bands(rate, codes[1] - codes[0] + 1), codes, measure)
    while True:
        code, excess = pieces.propose(rate / scale, bits)
        if _coin(rate / scale * excess, bits):
            return code


def distances(
    points: NDArray[np.int64],
    below: NDArray[np.int64],
    within: NDArray[np.int64],
    *,
    target: Fraction,
    codes: tuple[int, int],
) -> NDArray[np.int64]:
    """D of points, times the denominator of the wanted rank, from the rows below each and within it."""
    wanted, scale = target.numerator, target.denominator
    over = np.where(points == codes[0], 0, below * scale - wanted)
    under = np.where(points == codes[1], 0, wanted - within * scale)
    return np.maximum(0, np.maximum(over, under))


class _Pieces:
    """The grid cut into points and open intervals between them, each with a lower bound on its D, times `scale`."""

    def __init__(
        self, ranks: Ranks, target: Fraction, bands: tuple[int, int], codes: tuple[int, int], measure: Measure
    ) -> None:
        width, count = bands
        self.ranks, self.target, self.codes, self.measure = ranks, target, codes, measure
        centre = min(max(floor(target), 0), max(ranks.total - 1, 0))
        places = np.arange(centre - width * count, centre + width * count + 1, width) if width < ranks.total else centre
        places = np.unique(np.clip(places, ranks.start, ranks.end - 1)) if ranks.window.size else np.empty(0, np.int64)
        ends = [codes[0]] * (ranks.start == 0) + [codes[1]] * (ranks.end == ranks.total)
        cuts = np.unique(np.concatenate([ranks.window[places - ranks.start], np.array(ends, dtype=np.int64)]))
        below = ranks.start + np.searchsorted(ranks.window, cuts, side="left")
        within = ranks.start + np.searchsorted(ranks.window, cuts, side="right")
        low, high = np.append(0, within), np.append(below, ranks.total)  # of the rows below a point of an interval
        bounds = np.concatenate([distances(cuts, below, within, target=target, codes=codes), self._outside(low, high)])
        firsts = np.concatenate([cuts, [codes[0]], cuts + 1])
        behind = np.concatenate([cuts + 1, cuts, [codes[1] + 1]])
        weights = measure.below(behind) - measure.below(firsts)
        exact = np.concatenate([np.ones(cuts.size, dtype=np.bool_), low == high])
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
        below, within = self.ranks.below(code), self.ranks.below(code + 1)
        distance = distances(
            np.array([code]), np.array([below]), np.array([within]), target=self.target, codes=self.codes
        )
        return code, int(distance[0] - self.bounds[piece])

    def _outside(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
        """scale D at least, for points with at least `low` rows below and at most `high` rows within."""
        wanted, scale = self.target.numerator, self.target.denominator
        return np.maximum(0, np.maximum(low * scale - wanted, wanted - high * scale))


def _bands(rate: Fraction, size: int) -> tuple[int, int]:
    """Ranks between two cuts, over which exp(-rate D) falls by at most e, and the number of cuts on either side."""
    width = max(1, floor(1 / rate))
    return width, ceil((_NATS + log(size)) / min(float(rate * width), 1000.0))


def _coin(exponent: Fraction, bits: Bits) -> bool:
    """True with probability exp(-exponent): several coins where one cannot show so small a chance."""
    coins = ceil(exponent / _LARGEST_EXPONENT)
    return all(bernoulli.sample_exp(x=exponent / coins, bits=bits) for _ in range(coins))
