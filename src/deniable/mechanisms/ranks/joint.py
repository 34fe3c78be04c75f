"""Many quantiles in one draw."""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import ceil, factorial, lgamma, log, prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.ranks.base import SeveralQuantiles
from deniable.mechanisms.ranks.errors import WIDE
from deniable.mechanisms.ranks.joint_ranks import RankSampler, Targets, coin
from deniable.mechanisms.ranks.points import Codes, Points
from deniable.mechanisms.ranks.records import SortedRecords
from deniable.mechanisms.ranks.sampler import raced
from deniable.noise import uniform
from deniable.noise.bits import Bits
from deniable.numbers import balls
from deniable.numbers.arrays import Floats
from deniable.privacy import Relation

if TYPE_CHECKING:
    from flint import arb

_NATS = 30.0  # between the windows and what they leave out, for records of different values
_LARGEST_RATE = Fraction(32)  # per rank: above it nothing is gained but exponents too large for floats
_LARGE_SIZE = 10**6  # records for which the work is estimated
_LARGEST_WORK = 10**6  # ranks of half windows
_RESERVE = 1.5  # for records that lie thinner towards the ends
_POINTS_PER_FOLD = 16  # points of the lattice for expected errors while chances fall by e


@dataclass(frozen=True, kw_only=True)
class JointQuantiles(SeveralQuantiles):
    """Choose a tuple of points by the numbers of records between them, in one draw.

    The probability is proportional to their weights times exp(-rate sum |N - T|). Between consecutive quantiles, and
    outside of the first and the last, N_1, ..., N_(m+1) records lie, and T_1, ..., T_(m+1) should. A rate above 32 is
    used as 32.

    Args:
        rate: how fast chances fall with the distance, per rank.
        points: among which it chooses; a number for points of equal weight.
        quantiles: different ones of [0, 1], in order.

    Guarantee: epsilon-DP with epsilon = 2 rate reach, where a record moves the sum by reach = 2 under replace, and by
        2 (1 - the smallest share of the records between two quantiles) under add/remove; all losses lie in one interval
        of that length. Proof: docs/theory/mechanisms/ranks.md.
    Source: Gillenwater, Joseph, Kulesza (2021), arXiv:2102.08244, for the mechanism.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = JointQuantiles.calibrated(record, epsilon=1, quantiles=["1/4", "1/2", "3/4"], points=1000)
    >>> mechanism.expected_errors(500).round(1).tolist()  # in ranks
    [3.0, 3.5, 3.0]
    """

    kind: ClassVar[str] = "joint_quantiles"
    name: ClassVar[str] = "joint"

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one record moves the sum of all |N - T|."""
        if relation is Relation.REPLACE:
            return Fraction(2)
        return 2 * (1 - min(b - a for a, b in pairwise([Fraction(0), *self.quantiles, Fraction(1)])))

    @property
    def is_quick(self) -> bool:
        count = len(self.quantiles)
        return count * first_width(count, self.rate, _LARGE_SIZE) <= _LARGEST_WORK

    def is_steady(self, size: int) -> bool:
        """Return whether `size` records keep two outer quantiles from leaving together.

        Records that fill a twentieth of the bounds weigh little beside the points outside, and r quantiles that are all
        drawn to one side cost no more than 2 rate t, where the r-th is wanted at t: see
        docs/theory/mechanisms/ranks.md.
        """
        rate = float(self.rate)
        gain = log(max(1.0, WIDE * size * rate / 2))
        inner, outer = list(self.quantiles), [1 - q for q in reversed(self.quantiles)]
        return all(
            _RESERVE * (number * gain - lgamma(number + 1)) < 2 * rate * size * float(q)
            for side in (inner, outer)
            for number, q in enumerate(side[1:], 2)
        )

    def expected_errors(self, size: int) -> Floats:
        """Return the root mean squared error of every quantile, in ranks.

        The records N between quantiles are independent, with chances exp(-rate |N - T|), given their sum.
        """
        from scipy.fft import irfft, rfft

        rate = float(self._slower)
        wanted = size * np.diff([0.0, *map(float, self.quantiles), 1.0])
        away = _lattice(rate, size, len(wanted))
        kinds, kind, numbers = np.unique(wanted.round(6), return_inverse=True, return_counts=True)
        rows = np.maximum(kinds[:, None] + away, 0.0)  # (kinds of steps, lattice)
        logs = np.where(kinds[:, None] + away >= -0.5, -rate * np.abs(away), -np.inf)
        steps = _chances(logs, rows, _tilt(logs, rows, numbers, size))[kind]
        factors = rfft(steps)
        behind = np.cumprod(factors[::-1], axis=0)[::-1]
        ahead = factors[0]
        errors = []
        for index in range(len(self.quantiles)):
            chances = np.maximum(irfft(ahead), 0.0) * np.roll(np.maximum(irfft(behind[index + 1]), 0.0)[::-1], 1)
            errors.append(np.sqrt(np.sum(chances * away**2) / np.sum(chances)))
            ahead = ahead * factors[index + 1]
        return np.minimum(errors, float(size))

    @property
    def _slower(self) -> Fraction:
        return min(self.rate, _LARGEST_RATE)

    def _draw(self, records: SortedRecords, runs: int, bits: Bits) -> Codes:
        """Draw once from windows of ranks, or several times from a list of all tuples.

        The list is for few records.
        """
        if runs > 1:
            return self._listed(records, runs, bits)
        ranked = _RankedPoints(records, self.points)
        wanted = [q * records.size for q in self.quantiles]
        width = first_width(len(wanted), self._slower, records.size)
        while True:
            targets = Targets(ranks=wanted, total=records.size, rate=self._slower, width=width)
            sampler = RankSampler(targets, ranked.weights)
            if targets.complete or sampler.start > ranked.outside(targets) + 5:
                break
            width *= 2
        while True:
            if not targets.complete and coin(lambda: ranked.chance_outside(targets, sampler.start), bits):
                codes = ranked.anywhere(targets, bits)
            else:
                ranks = sampler.propose(bits)
                codes = None if ranks is None else ranked.located(ranks, bits)
            if codes is not None:
                return codes[np.newaxis, :]

    def _listed(self, records: SortedRecords, runs: int, bits: Bits) -> Codes:
        """Draw by a race of all tuples for every run."""
        tuples = np.array(list(combinations_with_replacement(range(self.points.size), len(self.quantiles))))
        below = np.array([records.below(points) for points in tuples])
        off = below - np.array([q * records.size for q in self.quantiles])
        costs = np.abs(np.diff(off, prepend=0, append=0, axis=1)).sum(axis=1)
        scale = int(np.lcm.reduce([Fraction(cost).denominator for cost in costs]))
        weights = np.diff(self.points.below(np.arange(self.points.size + 1)))[tuples].prod(axis=1)
        orders = [prod(factorial(number) for number in np.unique(points, return_counts=True)[1]) for points in tuples]
        weights = weights * (factorial(len(self.quantiles)) // np.array(orders))
        scores = np.array([-int(cost * scale) for cost in costs])
        chosen, _ = raced(scores, weights, rate=self._slower / scale, runs=runs, bits=bits)
        return np.asarray(tuples[chosen], dtype=np.int64)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows three quarters of the interval of losses.

        One of four records goes, the one at the third of four points.
        """
        return WorstCase(
            mechanism=cls(rate=Fraction(2), quantiles=(Fraction(1, 3), Fraction(2, 3)), points=Points(4)),
            exact=(0, 1, 2, 3),
            neighbour=(0, 1, 3),
            attains=False,
        )


def first_width(count: int, rate: Fraction, size: int) -> int:
    """Return how far from the wanted ranks the first windows reach.

    Where all records differ, the rest weighs e^-30 or less.
    """
    spread = count * log(1 + size * float(rate) / 2) - lgamma(count + 1)
    return ceil((_NATS + max(0.0, spread)) / (2 * float(rate))) + count // 2 + 1


def _lattice(rate: float, size: int, steps: int) -> Floats:
    """Distances in ranks, as a circle that begins at 0."""
    fine = max(1.0, min(1 / (_POINTS_PER_FOLD * rate), size / 2**11))
    reached = min((8 * steps**0.5 + 40) / rate, 2.0 * size) / fine + 8
    half = 1 << ceil(log(reached, 2))
    return np.append(np.arange(half), np.arange(-half, 0)).astype(np.float64) * fine


def _tilt(logs: Floats, rows: Floats, numbers: NDArray[np.int64], size: int) -> float:
    """The exponent that makes the rows of all steps add up to all rows on average."""
    from scipy.optimize import brentq

    def excess(exponent: float) -> float:
        return float(numbers @ (_chances(logs, rows, exponent) * rows).sum(axis=1)) - size

    return float(brentq(excess, 0.0, 40.0)) if excess(0.0) > 1e-3 and excess(40.0) < 0 else 0.0


def _chances(logs: Floats, rows: Floats, exponent: float) -> Floats:
    """Return tilted chances of the number of rows of each kind of step.

    Given the sum of all steps, the law is the same.
    """
    tilted = logs - exponent * rows
    chances = np.exp(tilted - tilted.max(axis=1, keepdims=True))
    return np.asarray(chances / chances.sum(axis=1, keepdims=True), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class _RankedPoints:
    """Records among points, each rank with the points behind its record.

    Rank i belongs to the points behind the i-th record, up to the next one included.
    """

    records: SortedRecords
    points: Points

    def weights(self, first: int, last: int) -> NDArray[np.int64]:
        """Return the weights of the points of the ranks from the first to the last."""
        below: NDArray[np.int64] = self.points.below(self._starts(first, last + 1))
        return np.diff(below)

    def located(self, ranks: NDArray[np.int64], bits: Bits) -> Codes:
        """Draw points of these ranks by weight, in order."""
        starts = [self._starts(rank, rank + 1) for rank in ranks.tolist()]
        return np.sort(np.array([self._point(int(start), int(end), bits) for start, end in starts], dtype=np.int64))

    def outside(self, targets: Targets) -> float:
        """Return ln of a bound on the weight of tuples with a rank outside of its window.

        Up to rounding.
        """
        count = targets.count
        return count * log(self.points.weight) - lgamma(count + 1) - 2 * float(targets.rate) * targets.width

    def chance_outside(self, targets: Targets, start: float) -> "arb":
        """The share of that bound in the sum with exp(start)."""
        exponent = Fraction(start) + 2 * targets.rate * targets.width
        inside = (
            balls.ball(exponent).exp()
            * factorial(targets.count)
            / balls.ball(Fraction(self.points.weight)) ** targets.count
        )
        return 1 / (1 + inside)

    def anywhere(self, targets: Targets, bits: Bits) -> Codes | None:
        """Draw points by weight alone; None where they are to be drawn anew.

        That is if all their ranks lie in the windows, or a coin shows that they are too far.
        """
        codes = np.sort(
            np.array([self._point(0, self.points.size, bits) for _ in range(targets.count)], dtype=np.int64)
        )
        ranks = self.records.below(codes)
        if targets.holds(ranks):
            return None
        exponent = targets.rate * (targets.cost(ranks) - 2 * targets.width)
        return codes if coin(balls.exp_of_minus(exponent), bits) else None

    def _starts(self, first: int, last: int) -> Codes:
        """Return the first points of the ranks from the first to the last.

        That of rank n + 1 is behind all points.
        """
        ends = [0] * (first == 0) + [self.points.size] * (last == self.records.size + 1)
        inner = self.records.between(first - 1, last) + 1
        return np.concatenate([ends[: first == 0], inner, ends[first == 0 :]]).astype(np.int64)

    def _point(self, first: int, end: int, bits: Bits) -> int:
        low, high = (int(weight) for weight in self.points.below(np.array([first, end])))
        return self.points.locate(first, end, int(uniform.below(high - low, bits=bits)))
