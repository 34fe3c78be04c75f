"""Many quantiles from slices: noise moves the wanted ranks, and each quantile is drawn among the rows near its own.

Noise from a tree of counters makes noisy ranks R_1, ..., R_m of the wanted ones, in halves. Quantile j is chosen with
chances that fall with the distance in ranks from R_j, up to its reach; all points beyond are alike. Its reach is a
quarter of what its gap to the nearest other R is longer than a fixed number of ranks; so a row matters to one slice at
most, and a reach hardly moves when a gap does. Where a gap is too short the reach is 0, and the answer is any point.

Guarantee: epsilon-DP. A row that comes moves the noise by a rank in one node of each level, the draws by a range of
(1 + 1/4) rate, and ln(1 + 2 / (2 zone - 1)) pays for what lets ranks follow it by halves. A row that is replaced goes
and comes. Proof: docs/theory/mechanisms/ranks.md, "Slices".
Source: Imola, Boninsegna, Keller, Aamand, Roy Chowdhury, Pagh (2025), arXiv:2505.13662, for the idea. The rule for
reaches and the proof are ours.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, floor, inf, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.counts.tree import BRANCHES, levels, matrices
from deniable.mechanisms.price import Price
from deniable.noise import laplace, race, uniform
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss, PureLoss, Relation
from deniable.privacy.around.restricted import Restricted
from deniable.privacy.currencies.concentrated import epsilon_within
from deniable.rows import Floats
from deniable.statistics.order.choice import EQUAL
from deniable.statistics.order.measure import Codes, Measure
from deniable.statistics.order.method import OUTSIDE, Method
from deniable.statistics.order.quantile import rank_error, selections
from deniable.statistics.order.rows import Rows

SLOPE = 4
"""A reach grows by a rank when the gap grows by so many."""

_SLACK = Fraction(1, 32)  # of the price, for ranks that follow a row by halves
_LEAST = Fraction(1, 2**40)  # epsilon of a row, for scales of noise that can be drawn
_FINE = 2**20  # parts in which the weights of counters are known
_NATS = 32.0  # by which chances have fallen, and more for wide grids, at the largest reach
_SHORT = 3  # standard deviations by which a gap is taken to be too short


@dataclass(frozen=True, kw_only=True)
class Slices(Method):
    """Quantiles in slices of their own, around noisy ranks."""

    name: ClassVar[str] = "slices"

    @cached_property
    def losses(self) -> list[PrivacyLoss]:
        """One, of all."""
        return [Restricted(PureLoss(self._epsilon), self.relation)]

    def rank_errors(self, size: int) -> Floats:
        """The root mean squared error of every quantile in ranks: noise, draws, and answers from any point.

        The latter are as likely as points outside of the rows weigh, for gaps that are short by three deviations.
        """
        weights = self._weights - np.outer(self._floats, self._weights[-1])  # (quantiles, counters)
        deviation = 2**0.5 * float(self._scale) / 2  # of a counter, in ranks
        noise = deviation**2 * (weights[:-1] ** 2).sum(axis=1)
        short = _SHORT * deviation * np.sqrt((np.diff(weights[:-1], axis=0) ** 2).sum(axis=1))
        gaps = np.concatenate([[inf], size * np.diff(self._floats[:-1]) - short, [inf]])
        far = float(self._rate) * np.maximum(0, np.minimum(gaps[:-1], gaps[1:]) - self.zone) / SLOPE
        odds = OUTSIDE * max(1.0, size * float(self._rate) / 2) * np.exp(-far)
        lost, shares = odds / (1 + odds), self._floats[:-1]
        drawn = np.array([rank_error(self._rate, s * size, size, truth=s * size) for s in shares]) ** 2
        anywhere = size**2 * (shares**2 + (1 - shares) ** 2) / 2
        return np.asarray(np.minimum(np.sqrt((1 - lost) * (noise + drawn) + lost * anywhere), size))

    @property
    def is_quick(self) -> bool:
        return self._row >= _LEAST

    def is_steady(self, size: int) -> bool:
        """Whether hardly any answer is lost for so many rows."""
        few, many = (float(np.sum(self.rank_errors(number) ** 2)) for number in (size, 10**9))
        return few < 1.25 * many

    def draw(self, ordered: Rows, size: int, *, measure: Measure = EQUAL, bits: Bits) -> tuple[Codes, Codes]:
        places = self._noisy_places(ordered.size, bits)
        largest = ceil((_NATS + log(size)) / self._rate)
        codes = [
            near(ordered, size, place, min(reach, largest * 2 * SLOPE), rate=self._rate, measure=measure, bits=bits)
            for place, reach in zip(places, reaches(places, self.zone), strict=True)
        ]
        found = np.sort(np.array(codes, dtype=np.int64))
        return found, ordered.below(found)

    @cached_property
    def zone(self) -> int:
        """The gap in ranks below which two slices have no reach; within half of it a rank follows a row by halves."""
        return ceil(1 / (self._row * _SLACK) + Fraction(1, 2))

    @cached_property
    def _epsilon(self) -> Fraction:
        """Of the whole, epsilon-DP: as a row moves the noise by an amount that depends on it, a rho buys no more."""
        rho = self.price.rho
        pure = Price(epsilon=self.price.epsilon if rho is None else epsilon_within(rho))
        return selections(pure, (1,))[0]

    @property
    def _row(self) -> Fraction:
        """What a row that comes or goes may cost."""
        return self._epsilon / (self.rows * (2 if self.relation is Relation.REPLACE else 1))

    @cached_property
    def _tree(self) -> tuple[int, Fraction]:
        """How many children a node has, and the share of noise and draws that noise gets: for the least variance.

        For parts x and 1 - x of an epsilon the variances are a / x^2 and b / (1 - x)^2; so x is as the cube root of a.
        """
        cells = len(self.shares) + 1
        best = min((self._variance(cells, branch), branch) for branch in {*filter(cells.__gt__, BRANCHES), cells})
        sides = np.cbrt([best[0], 2 * (1 + 1 / SLOPE) ** 2])
        return best[1], Fraction(float(sides[0] / sides.sum())).limit_denominator(1000)

    @property
    def _scale(self) -> Fraction:
        """Of the noise of a counter, in halves of ranks. A row moves a node of every level by two of them."""
        branch, share = self._tree
        return 2 * levels(len(self.shares) + 1, branch) / (self._row * (1 - _SLACK) * share)

    @property
    def _rate(self) -> Fraction:
        """How fast chances fall with the distance, per rank."""
        return self._row * (1 - _SLACK) * (1 - self._tree[1]) / (1 + Fraction(1, SLOPE))

    @property
    def _floats(self) -> Floats:
        """The shares, and that of all rows."""
        return np.array([*self.shares, 1], dtype=np.float64)

    @property
    def _weights(self) -> Floats:
        """Of all counters in each running count, shape (cells, counters)."""
        return counter_weights(len(self.shares) + 1, self._tree[0]).astype(np.float64) / _FINE

    def _variance(self, cells: int, branch: int) -> float:
        """Of a rank on average, for an epsilon of 1."""
        weights = counter_weights(cells, branch).astype(np.float64) / _FINE
        moved = weights[:-1] - np.outer(self._floats[:-1], weights[-1])
        return float(2 * levels(cells, branch) ** 2 * (moved**2).sum(axis=1).mean())

    def _noisy_places(self, size: int, bits: Bits) -> list[int]:
        """The noisy ranks q (n - T) + E, in halves, where E is the noise of the count up to q, and T that of all."""
        weights = counter_weights(len(self.shares) + 1, self._tree[0])
        noise = laplace.sample(scale=self._scale, size=weights.shape[1], bits=bits)
        *parts, total = (Fraction(int(sum_), _FINE) for sum_ in weights.astype(object) @ noise.astype(object))
        return [
            floor(share * (2 * size - total) + part + Fraction(1, 2))
            for share, part in zip(self.shares, parts, strict=True)
        ]


def reaches(places: list[int], zone: int) -> list[int | float]:
    """How far each slice reaches, in ranks / (2 SLOPE): the excess over `zone` of its gap to all ranks on either side.

    Args:
        places: noisy ranks in halves, in the order of the quantiles, which noise may have upset.
    """
    least, most = [inf], [-inf]
    for below, above in zip(places, reversed(places), strict=True):
        most.append(max(most[-1], below))
        least.append(min(least[-1], above))
    sides = zip(places, most, reversed(least[:-1]), strict=False)
    return [max(0, min(place - below, above - place) - 2 * zone) for place, below, above in sides]


def near(
    ordered: Rows, size: int, place: int, reach: int | float, *, rate: Fraction, measure: Measure, bits: Bits
) -> int:
    """A point with probability proportional to its weight times exp(-rate min(D, reach)).

    Args:
        ordered: rows with codes of [0, size).
        place: from where D, the distance in ranks, counts; in halves of ranks.
        reach: in ranks / (2 SLOPE).

    All rows from which D is below the reach are looked at, and one more to either side; so D is exact wherever it is
    below the reach. The first and the last point of the grid count as having any number of public rows.
    """
    reach = int(reach)
    halves = reach // SLOPE + 2
    place = min(max(place, -halves), 2 * ordered.size + halves)
    first = min(max(0, (place - halves) // 2), ordered.size)
    window = ordered.between(first, (place + halves) // 2 + 1)
    cuts = np.unique(np.concatenate([[0], window, [size - 1]]))
    low, high = (first + np.searchsorted(window, cuts, side=side) for side in ("left", "right"))
    over, under = 2 * low - place, place - 2 * high
    over[0], under[-1] = 0, 0
    away = np.concatenate([np.maximum(np.maximum(over, under), 0), np.abs(2 * high[:-1] - place)])
    firsts, ends = np.concatenate([cuts, cuts[:-1] + 1]), np.concatenate([cuts + 1, cuts[1:]])
    weights = measure.below(ends) - measure.below(firsts)
    scores = -np.minimum(away * SLOPE, reach)
    piece = race.exponential_mechanism(scores, rate=rate / (2 * SLOPE), weights=weights, bits=bits)
    return measure.locate(int(firsts[piece]), int(ends[piece]), int(uniform.below(int(weights[piece]), bits=bits)))


@lru_cache(maxsize=64)
def counter_weights(cells: int, branch: int) -> NDArray[np.int64]:
    """What each counter of a tree gives to every running count, times 2^20; shape (cells, counters).

    Near those of least squares, and exact in one respect: if a row comes, and with it each counter above it grows by 1,
    then the running counts from its cell on grow by 1, and no other does.
    """
    tree, running = matrices(cells, branch)
    inner = np.rint(running[:, cells:] * _FINE).astype(np.int64)
    leaves = _FINE * np.tril(np.ones((cells, cells), dtype=np.int64)) - inner @ tree[cells:].astype(np.int64)
    return np.concatenate([leaves, inner], axis=1)
