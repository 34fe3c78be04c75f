"""The mean of vectors under loose public bounds, in steps that close in on it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import ClassVar, Unpack

import numpy as np

from deniable.mechanisms import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.privacy import Sensitivity, of_count
from deniable.privacy.vector_sensitivity import of_ball_sum
from deniable.release import Bounds, Estimate, Key, Measure, Noisy, Release
from deniable.release.intervals import of_measure
from deniable.statistics.call import in_words
from deniable.statistics.data import Floats
from deniable.statistics.laws import Law
from deniable.statistics.price import Price
from deniable.statistics.statistic import Answer, Options, release
from deniable.statistics.vectors.ball import ball_sum
from deniable.statistics.vectors.base import VectorStatistic, part_of
from deniable.statistics.vectors.columns import Columns
from deniable.statistics.vectors.plan import SMALLEST_SHARE, Plan, Planner
from deniable.statistics.vectors.tail import Search

_STEPS = 2**20  # lattice steps to the radius of every ball
_COUNT = Fraction(1, 32)  # of the price, where the number of rows is private
_SURE = 0.99  # chance that there are as many rows as the steps count on


@dataclass(frozen=True, kw_only=True)
class VectorMean(VectorStatistic):
    """The mean of every column, in the manner of CoinPress: clip rows to a ball around a noisy centre, and again.

    The bounds may be loose by orders of magnitude, and so may `deviations`: the noise hardly grows with them, because
    the last radius is found among the rows, if there are enough of them: 8000 / epsilon, or 1000 for a rho of 1/2.

    Guarantee: the price. Rows are integer vectors of a ball, one unit moves their sum by at most the radius times
        `rows` (twice that under replace); the last radius comes from two exponential mechanisms on the ranks of the
        distances of rows; and the steps add up. Under add/remove 1/32 of the price goes to the number of rows.
    Interval: for the mean of the rows that were there, not of what they were drawn from (`dn.statistics.bootstrap`).
        It allows for the noise and for what clipping may take, provided that the mean lies within the bounds, no
        deviation exceeds `deviations`, and the distances of rows from their mean thin out exponentially or faster, as
        they do for normal, Laplace and exponential columns, however they depend on each other. Rows in few lumps, as
        those of two rare yes-or-no columns, may be clipped by more: 0.94 instead of 0.95 was measured.
    Error: `expected_error` is the l2 norm of the noise in `deviations`, for normal rows of these deviations.
    Source: Biswas, Dong, Kamath, Ullman (2020), arXiv:2006.06618; changes and proofs in docs/theory/coinpress.md.
    """

    name: ClassVar[str] = "vector_mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        for share in (SMALLEST_SHARE, Fraction(1)):
            self.mechanism(share)
        if not self.size_is_public:
            _ = self._count_mechanism

    def mechanism(self, share: Fraction) -> AdditiveNoise:
        """The noise of a step that costs this share of what the steps cost."""
        return part_of(self._for_steps, share).noise(self._sensitivity)

    def search(self, share: Fraction, *, size: float) -> Search:
        """The search for the last radius that costs this share of what the steps cost."""
        return Search(size, part_of(self._for_steps, share / 2).selection() / (2 * self.rows))

    def expected_error(self, size: int) -> float:
        """Root mean squared l2 norm of the noise, each column in its deviation."""
        return self._plan(max(size, 1)).deviation * math.sqrt(len(self.columns))

    @cached_property
    def _for_steps(self) -> Price:
        return self._spending if self.size_is_public else part_of(self._spending, 1 - _COUNT)

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        return of_ball_sum(radius=_STEPS, dimensions=len(self.columns), rows=self.rows, relation=self.relation)

    @cached_property
    def _count_mechanism(self) -> AdditiveNoise:
        once = of_count(rows=self.rows, groups=1, relation=self.relation, cells=1)
        return part_of(self._spending, _COUNT).noise(once)

    def _plan(self, size: float) -> Plan:
        whole = self.mechanism(Fraction(1)).standard_deviation() / _STEPS
        return Planner(
            size=size,
            columns=len(self.columns),
            reach=self.columns.reach,
            miscount=0.0 if self.size_is_public else self._count_mechanism.standard_deviation(),
            noise=lambda share: self._spread(whole, share),
            search=lambda share: self.search(share, size=size),
        ).best()

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        public = self.columns
        rows, names = public.rows(
            values, units, scale=public.deviations, rows=self.rows, relation=self.relation, bits=bits
        )
        size, counted, sure = self._size(rows, bits)
        plan, half = self._plan(sure), public.half / public.deviations
        centre = np.zeros(len(public))
        for share, radius in plan.rough:
            centre = np.clip(centre + self._moves(rows, centre, share, radius, bits).values / size, -half, half)
        tail = plan.tail
        if plan.search:
            tail = self.search(plan.search, size=sure).tail(rows, centre=centre, largest=public.farthest, bits=bits)
        radius, lost = tail.clip(plan.unit, sure)
        moves = self._moves(rows, centre, plan.last, radius, bits)
        ends = _Ends(public, centre, moves, counted or size, lost)
        mean = np.clip(centre + moves.values / size, -half, half)
        return Answer(
            parts=(
                Key(name="column", values=names, kind="string"),
                Estimate(
                    name="mean",
                    estimates=public.middle + public.deviations * mean,
                    ends=ends,
                    post_processing="clamped to the bounds",
                ),
            ),
            notes=(f"rows were clipped {len(plan.rough) + 1} times, in the end to {radius:.3g} deviations",),
        )

    def _size(self, rows: Floats, bits: Bits) -> tuple[float, Noisy | None, float]:
        """The number of rows: the best guess, the noisy number where it is private, and one that is surely not above.

        It is noisy once, and stands beside every column.
        """
        if self.size_is_public:
            size = float(max(len(rows), 1))
            return size, None, size
        law, found = Law(self._count_mechanism), self._count_mechanism.release([len(rows)], bits=bits).values[0]
        counted = Noisy(name="size", values=np.full(len(self.columns), float(found)), law=law)
        return max(1.0, float(found)), counted, max(1.0, float(found) - law.half_width(_SURE))

    def _moves(self, rows: Floats, centre: Floats, share: Fraction, radius: float, bits: Bits) -> Noisy:
        """The noisy sum of the differences of rows and centre, clipped, in deviations."""
        mechanism, step = self.mechanism(share), radius / _STEPS
        exact = ball_sum(rows, centre=centre, radius=radius, steps=_STEPS)
        noisy = mechanism.release(exact, bits=bits).values.astype(np.float64)
        return Noisy(name="moves", values=noisy * step, law=Law(mechanism, Fraction(step)))


@dataclass(frozen=True, eq=False)
class _Ends:
    """Intervals of the means.

    Args:
        moves: the last noisy sum of differences from the centre.
        size: the number of rows, or the noisy one.
        lost: by clipping, in the mean of one column, at most.
    """

    public: Columns
    centre: Floats
    moves: Noisy
    size: Noisy | float
    lost: float

    def __call__(self, level: float) -> Bounds:
        size, public = self.size, self.public
        if isinstance(size, Noisy):
            found = of_measure(_QUOTIENT, {"moves": self.moves, "size": size}, level=level)
        else:
            moves, width = self.moves.values.astype(np.float64), self.moves.law.half_width(level)
            found = Bounds((moves - width) / size, (moves + width) / size)
        half = public.half / public.deviations
        ends = np.array([found.lower - self.lost, found.upper + self.lost]) + self.centre
        inside: Floats = np.clip(ends, -half, half) * public.deviations + public.middle
        return Bounds(inside[0], inside[1])


_QUOTIENT = Measure(
    name="mean",
    bases=("moves", "size"),
    evaluate=lambda arrays: arrays["moves"] / arrays["size"],
    denominators=(itemgetter("size"),),
)


@in_words
def vector_mean(values: object, *, bounds: object, deviations: object, **options: Unpack[Options]) -> Release:
    """The mean of every column of a table under loose bounds: see `VectorMean`.

    >>> import deniable as dn
    >>> rows = [[61.0, 172.0], [74.5, 181.0], [58.0, 165.0]]
    >>> answer = dn.statistics.vector_mean(rows, bounds=[(0, 500), (0, 300)], deviations=20, rho=1)
    """
    return release(VectorMean, values, {"bounds": bounds, "deviations": deviations}, options)
