"""Many quantiles from slices around noisy ranks."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from math import ceil, inf, log
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.counts.tree import BRANCHES, levels, matrices
from deniable.mechanisms.ranks.base import SeveralQuantiles
from deniable.mechanisms.ranks.errors import WIDE, rank_error
from deniable.mechanisms.ranks.points import Codes, Points
from deniable.mechanisms.ranks.records import SortedRecords
from deniable.mechanisms.ranks.sampler import raced
from deniable.noise import laplace
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, PureLoss, Relation

SLOPE = 4
"""Ranks by which a gap grows while a reach grows by one."""

_SLACK = Fraction(1, 32)  # of the price, for ranks that follow a record by halves
_MIN_EPSILON = Fraction(1, 2**40)  # epsilon of a record, for scales of noise that can be drawn
_WEIGHT_PARTS = 2**20  # parts in which the weights of counters are known
_NATS = 32.0  # by which chances have fallen, and more for wide grids, at the largest reach
_SHORT = 3  # standard deviations by which a gap is taken to be too short


@dataclass(frozen=True, kw_only=True)
class SliceQuantiles(SeveralQuantiles):
    """Choose each quantile near a noisy rank of its own, in separate slices of ranks.

    Noise from a tree of counters makes noisy ranks R_1, ..., R_m of the wanted ones, in halves. Quantile j is chosen
    with chances that fall with the distance in ranks from R_j, up to its reach; all points beyond are alike. Its reach
    is a quarter of what its gap to the nearest other R is longer than a fixed number of ranks; so a record matters to
    one slice at most, and a reach hardly moves when a gap does. Where a gap is too short the reach is 0, and the answer
    is any point.

    Args:
        rate: of the draws; the noise of the ranks is public, and follows from it.
        points: among which it chooses; a number for points of equal weight.
        quantiles: different ones of [0, 1], in order.

    Guarantee: epsilon-DP with epsilon = `cost` rate a record that comes or goes. It moves the noise by a rank in one
        node of each level, the draws by a range of (1 + 1/4) rate, and ln(1 + 2 / (2 zone - 1)) pays for what lets
        ranks follow it by halves. A record that is replaced goes and comes.
        Proof: docs/theory/mechanisms/ranks.md, "Slices".
    Source: Imola, Boninsegna, Keller, Aamand, Roy Chowdhury, Pagh (2025), arXiv:2505.13662, for the idea. The rule for
        reaches and the proof are ours.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> deciles = [Fraction(tenth, 10) for tenth in range(1, 10)]
    >>> mechanism = SliceQuantiles.calibrated(record, epsilon=1, quantiles=deciles, points=10**6)
    >>> round(float(mechanism.expected_errors(10_000)[4]))  # of the median, in ranks
    6
    """

    kind: ClassVar[str] = "slice_quantiles"
    name: ClassVar[str] = "slices"

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return half of the epsilon of one record at rate 1."""
        return self.cost * (1 if relation is Relation.REPLACE else Fraction(1, 2))

    def _loss(self, epsilon: Fraction) -> PrivacyLoss:
        return PureLoss(epsilon)

    def expected_errors(self, size: int) -> Floats:
        """Return the root mean squared error of every quantile, in ranks.

        From noise, draws, and answers from any point.

        The latter are as likely as points outside of the records weigh, for gaps that are short by three deviations.
        """
        weights = self._weights - np.outer(self._floats, self._weights[-1])  # (quantiles, counters)
        deviation = 2**0.5 * float(self.scale) / 2  # of a counter, in ranks
        noise = deviation**2 * (weights[:-1] ** 2).sum(axis=1)
        short = _SHORT * deviation * np.sqrt((np.diff(weights[:-1], axis=0) ** 2).sum(axis=1))
        gaps = np.concatenate([[inf], size * np.diff(self._floats[:-1]) - short, [inf]])
        far = float(self.rate) * np.maximum(0, np.minimum(gaps[:-1], gaps[1:]) - self.zone) / SLOPE
        weight_outside = WIDE * max(1.0, size * float(self.rate) / 2) * np.exp(-far)
        lost = weight_outside / (1 + weight_outside)
        q = self._floats[:-1]
        drawn = np.array([rank_error(self.rate, s * size, size, truth=s * size) for s in q]) ** 2
        anywhere = size**2 * (q**2 + (1 - q) ** 2) / 2
        return np.asarray(np.minimum(np.sqrt((1 - lost) * (noise + drawn) + lost * anywhere), size))

    @property
    def is_quick(self) -> bool:
        return self._record >= _MIN_EPSILON

    def is_steady(self, size: int) -> bool:
        """Whether hardly any answer is lost for `size` records."""
        at_size, at_large_size = (float(np.sum(self.expected_errors(number) ** 2)) for number in (size, 10**9))
        return at_size < 1.25 * at_large_size

    @cached_property
    def zone(self) -> int:
        """Gap in ranks below which slices have no reach.

        Within half of it a rank follows a record by halves.
        """
        return ceil(1 / (self._record * _SLACK) + Fraction(1, 2))

    @cached_property
    def cost(self) -> Fraction:
        """The epsilon of a record that comes or goes, at rate 1."""
        return (1 + Fraction(1, SLOPE)) / ((1 - _SLACK) * (1 - self.tree[1]))

    @cached_property
    def tree(self) -> tuple[int, Fraction]:
        """Number of children of a node, and the share of the noise, of least variance.

        The other share is that of the draws.

        For parts x and 1 - x of an epsilon the variances are a / x^2 and b / (1 - x)^2; so x is as the cube root of a.
        """
        cells = len(self.quantiles) + 1
        best = min((self._variance(cells, branch), branch) for branch in {*filter(cells.__gt__, BRANCHES), cells})
        sides = np.cbrt([best[0], 2 * (1 + 1 / SLOPE) ** 2])
        return best[1], Fraction(float(sides[0] / sides.sum())).limit_denominator(1000)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise of a counter, in half ranks.

        A record moves a node of every level by two of them.
        """
        branch, share = self.tree
        return 2 * levels(len(self.quantiles) + 1, branch) / (self._record * (1 - _SLACK) * share)

    @property
    def _record(self) -> Fraction:
        """The epsilon of a record that comes or goes."""
        return self.rate * self.cost

    @property
    def _floats(self) -> Floats:
        """The quantiles, and that of all records."""
        return np.array([*self.quantiles, 1], dtype=np.float64)

    @property
    def _weights(self) -> Floats:
        """Weights of all counters in each running count, shape (cells, counters)."""
        return counter_weights(len(self.quantiles) + 1, self.tree[0]).astype(np.float64) / _WEIGHT_PARTS

    def _variance(self, cells: int, branch: int) -> float:
        """Mean variance of a rank, at epsilon = 1."""
        weights = counter_weights(cells, branch).astype(np.float64) / _WEIGHT_PARTS
        moved = weights[:-1] - np.outer(self._floats[:-1], weights[-1])
        return float(2 * levels(cells, branch) ** 2 * (moved**2).sum(axis=1).mean())

    def _draw(self, records: SortedRecords, runs: int, bits: Bits) -> Codes:
        noisy_ranks = self._noisy_places(records.size, runs, bits)
        largest = ceil((_NATS + log(self.points.size)) / self.rate) * 2 * SLOPE
        aims = [
            [(p, int(min(r, largest))) for p, r in zip(row, reaches(row, self.zone), strict=True)]
            for row in noisy_ranks
        ]
        codes = np.empty((runs, len(self.quantiles)), dtype=np.int64)
        for index, column in enumerate(zip(*aims, strict=True)):
            same: dict[tuple[int, int], list[int]] = {}
            for run, aim in enumerate(column):
                same.setdefault(aim, []).append(run)
            for (rank, radius), where in same.items():
                codes[where, index] = draw_around(
                    records, rank, radius, rate=self.rate, points=self.points, runs=len(where), bits=bits
                )
        return np.sort(codes, axis=1)

    def _noisy_places(self, size: int, runs: int, bits: Bits) -> list[list[int]]:
        """Return the noisy ranks q (n - T) + E of every run, in halves.

        E is the noise of the count up to q, and T that of all records.
        """
        weights = counter_weights(len(self.quantiles) + 1, self.tree[0])
        noise = laplace.sample(scale=self.scale, size=weights.shape[1] * runs, bits=bits).reshape(runs, -1)
        sums = noise.astype(object) @ weights.T.astype(object)  # (runs, cells)
        return [
            [
                (q.numerator * (2 * size * _WEIGHT_PARTS - row[-1]) * 2 + (2 * part + _WEIGHT_PARTS) * q.denominator)
                // (2 * _WEIGHT_PARTS * q.denominator)
                for q, part in zip(self.quantiles, row[:-1], strict=True)
            ]
            for row in sums.tolist()
        ]

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows a quarter of epsilon.

        One of two records goes; the rest of epsilon is for noise that hides no single record.
        """
        return WorstCase(
            mechanism=cls(rate=Fraction(6), quantiles=(Fraction(1, 2),), points=Points(3)),
            exact=(1, 2),
            neighbour=(2,),
            attains=False,
        )


def reaches(ranks: list[int], zone: int) -> list[int | float]:
    """Return the reach of each slice, in ranks / (2 SLOPE).

    It is the excess over `zone` of its gap to all ranks on either side.

    Args:
        ranks: noisy ranks in halves, in the order of the quantiles, which noise may have upset.
    """
    ends_below, ends_above = [inf], [-inf]
    for below, above in zip(ranks, reversed(ranks), strict=True):
        ends_above.append(max(ends_above[-1], below))
        ends_below.append(min(ends_below[-1], above))
    sides = zip(ranks, ends_above, reversed(ends_below[:-1]), strict=False)
    return [max(0, min(rank - below, above - rank) - 2 * zone) for rank, below, above in sides]


def draw_around(
    records: SortedRecords, rank: int, radius: int | float, *, rate: Fraction, points: Points, runs: int, bits: Bits
) -> Codes:
    """Draw codes of `runs` points in proportion to weight exp(-rate min(D, reach)).

    Args:
        rank: from where D, the distance in ranks, counts; in halves of ranks.
        radius: in ranks / (2 SLOPE).

    All records from which D is below the reach are looked at, and one more to either side; so D is exact wherever it is
    below the reach. The first and the last point of the grid count as having any number of public records.
    """
    radius = int(radius)
    halves = radius // SLOPE + 2
    rank = min(max(rank, -halves), 2 * records.size + halves)
    first = min(max(0, (rank - halves) // 2), records.size)
    window = records.between(first, (rank + halves) // 2 + 1)
    cuts = np.unique(np.concatenate([[0], window, [points.size - 1]]))
    low, high = (first + np.searchsorted(window, cuts, side=side) for side in ("left", "right"))
    over = 2 * low - rank
    under = rank - 2 * high
    over[0], under[-1] = 0, 0
    away = np.concatenate([np.maximum(np.maximum(over, under), 0), np.abs(2 * high[:-1] - rank)])
    firsts, ends = np.concatenate([cuts, cuts[:-1] + 1]), np.concatenate([cuts + 1, cuts[1:]])
    weights = points.below(ends) - points.below(firsts)
    scores = -np.minimum(away * SLOPE, radius)
    chosen, within = raced(scores, weights, rate=rate / (2 * SLOPE), runs=runs, bits=bits)
    located = (points.locate(int(firsts[p]), int(ends[p]), int(w)) for p, w in zip(chosen, within, strict=True))
    return np.fromiter(located, dtype=np.int64, count=runs)


@lru_cache(maxsize=64)
def counter_weights(cells: int, branch: int) -> NDArray[np.int64]:
    """Return the part of each counter of a tree in every running count, times 2^20.

    Shape (cells, counters).

    Near those of least squares, and exact in one respect: if a row comes, and with it each counter above it grows by 1,
    then the running counts from its cell on grow by 1, and no other does.
    """
    tree, running = matrices(cells, branch)
    inner = np.rint(running[:, cells:] * _WEIGHT_PARTS).astype(np.int64)
    leaves = _WEIGHT_PARTS * np.tril(np.ones((cells, cells), dtype=np.int64)) - inner @ tree[cells:].astype(np.int64)
    return np.concatenate([leaves, inner], axis=1)
