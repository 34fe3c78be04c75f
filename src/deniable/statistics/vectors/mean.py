"""The mean of vectors under loose public bounds, in steps that close in on it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import ClassVar, Unpack

import numpy as np

from deniable.mechanisms import ClippedSum
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.mechanisms.vectors.matrix_noise import deviation_of
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, Reals
from deniable.privacy import Sensitivity, of_count
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.release import Release
from deniable.release.columns import Bounds, Estimate, Key, Measure, Noisy
from deniable.release.intervals import of_measure
from deniable.rows import Container
from deniable.statistics.bounds import for_each_column
from deniable.statistics.call import asks
from deniable.statistics.statistic import Answer, BoundsLike, Options, release
from deniable.statistics.vectors.base import VectorStatistic, part_of
from deniable.statistics.vectors.clipping_bound import ClippingBound
from deniable.statistics.vectors.columns import Columns
from deniable.statistics.vectors.schedule import COUNT, SMALLEST_SHARE, Schedule, Scheduler
from deniable.statistics.vectors.tail_bound import RadiusSearch

_LATTICE_STEPS = 2**20  # lattice steps to the radius of every ball
_COUNT = Fraction(1, 32)  # of the price, where the number of rows is private
_COUNTED = 0.2  # of the chance that an interval misses, for the number of rows that are clipped
_SURE = 0.99  # chance that there are as many rows as the steps count on


@dataclass(frozen=True, kw_only=True)
class VectorMean(VectorStatistic):
    """Mean of every column of a table under loose bounds: see `vector_mean`."""

    name: ClassVar[str] = "vector_mean"

    def _check(self) -> None:
        for share in (SMALLEST_SHARE, Fraction(1)):
            self.mechanism(share)
        _ = self.counter
        if not self.size_is_public:
            _ = self._count_mechanism

    def mechanism(self, share: Fraction) -> AdditiveNoise:
        """Return the noise of a step that costs this share of what the steps cost."""
        return part_of(self._for_steps, share).noise(self._sensitivity)

    def search(self, share: Fraction, *, size: float) -> RadiusSearch:
        """Return the search for the last radius that costs this share of the steps."""
        return RadiusSearch(size, part_of(self._for_steps, share / 2).selection() / (2 * self.rows))

    @cached_property
    def counter(self) -> AdditiveNoise:
        """Noise of the number of rows beyond a public radius."""
        once = of_count(rows=self.rows, groups=1, relation=self.relation, cells=1)
        return part_of(self._for_steps, COUNT).noise(once)

    def expected_error(self, size: int) -> float:
        """Return the root mean squared l2 norm of the noise, per column in its deviation.

        Bounds that are to be found count as 8 deviations, and deviations that are, as half of the range of the values.
        """
        schedule = self._schedule(max(size, 1), self.range_search.supposed(self.columns))
        return schedule.deviation * math.sqrt(len(self.columns))

    @cached_property
    def _for_steps(self) -> Price:
        return self.rest if self.size_is_public else part_of(self.rest, 1 - _COUNT)

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        return of_ball_sum(radius=_LATTICE_STEPS, dimensions=len(self.columns), rows=self.rows, relation=self.relation)

    @cached_property
    def _count_mechanism(self) -> AdditiveNoise:
        once = of_count(rows=self.rows, groups=1, relation=self.relation, cells=1)
        return part_of(self.rest, _COUNT).noise(once)

    def _schedule(self, size: float, public: Columns) -> Schedule:
        whole = deviation_of(self.mechanism(Fraction(1))) / _LATTICE_STEPS
        return Scheduler(
            size=size,
            columns=len(public),
            mean_radius=public.mean_radius,
            limit=public.limit,
            counted=self.counter.standard_deviation(),
            miscount=0.0 if self.size_is_public else self._count_mechanism.standard_deviation(),
            noise=lambda share: self._spread(whole, share),
            search=lambda share: self.search(share, size=size),
        ).best()

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        public, rows_in_bounds, names, notes = self._searched(values, units, bits)
        rows = public.scaled(rows_in_bounds, public.deviations)
        size, counted, sure = self._size(rows, bits)
        schedule = self._schedule(sure, public)
        half = public.half / public.deviations
        centre = np.zeros(len(public))
        for share, radius in schedule.rough:
            centre = np.clip(centre + self._moves(rows, centre, share, radius, bits).values / size, -half, half)
        radius, lost = self._radius(rows, centre, schedule, public, size=sure, bits=bits)
        moves = self._moves(rows, centre, schedule.last, radius, bits)
        mean = np.clip(centre + moves.values / size, -half, half)
        ends = _Ends(public, centre, moves, counted or size, lost, mean)
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
            notes=(f"rows were clipped {len(schedule.rough) + 1} times, in the end to {radius:.3g} deviations", *notes),
        )

    def _size(self, rows: Floats, bits: Bits) -> tuple[float, Noisy | None, float]:
        """Return the number of rows: best guess, noisy number, and one surely not above.

        The noisy number is None where it is public.

        It is noisy once, and stands beside every column.
        """
        if self.size_is_public:
            size = float(max(len(rows), 1))
            return size, None, size
        law = self._count_mechanism.law()
        noisy = self._count_mechanism.release([len(rows)], bits=bits).value[0]
        counted = Noisy(name="size", values=np.full(len(self.columns), float(noisy)), law=law)
        return max(1.0, float(noisy)), counted, max(1.0, float(noisy) - law.half_width(_SURE))

    def _radius(
        self, rows: Floats, centre: Floats, schedule: Schedule, public: Columns, *, size: float, bits: Bits
    ) -> tuple[float, float | ClippingBound]:
        """Return the last radius, and the most that clipping takes from a mean."""
        if schedule.search:
            search = self.search(schedule.search, size=size)
            return search.tail(rows, centre=centre, largest=public.row_radius, bits=bits).clip(schedule.unit, size)
        if not schedule.count:
            return public.limit + float(np.linalg.norm(centre)), 0.0
        exact = np.count_nonzero(squared_norms(rows - centre) > schedule.radius**2)
        noisy = self.counter.release([exact], bits=bits).value
        beyond = Noisy(name="beyond", values=noisy.astype(np.float64), law=self.counter.law())
        return schedule.radius, ClippingBound(schedule.radius, beyond, size)

    def _moves(self, rows: Floats, centre: Floats, share: Fraction, radius: float, bits: Bits) -> Noisy:
        """Return the noisy sum of clipped differences of rows and centre, in deviations."""
        clipped = ClippedSum(
            noise=self.mechanism(share),
            columns=len(centre),
            radius=Fraction(radius),
            steps=_LATTICE_STEPS,
            centre=tuple(map(Fraction, centre)),
        )
        noisy = clipped.release(rows, bits=bits).value.astype(np.float64)
        step = radius / _LATTICE_STEPS
        return Noisy(name="moves", values=noisy * step, law=clipped.noise.law(Fraction(step)))


@dataclass(frozen=True, eq=False)
class _Ends:
    """Intervals of the means.

    Args:
        moves: the last noisy sum of differences from the centre.
        size: the number of rows, or the noisy one.
        lost: by clipping, in the mean of one column, at most.
        mean: what is published, in deviations from the middle; intervals hold it even where the noise hides the rows.
    """

    public: Columns
    centre: Floats
    moves: Noisy
    size: Noisy | float
    lost: float | ClippingBound
    mean: Floats

    def __call__(self, level: float) -> Bounds:
        public = self.public
        chance = 1 - level
        half = public.half / public.deviations
        if isinstance(self.lost, ClippingBound):
            moved_by = self._moved(1 - (1 - _COUNTED) * chance)
            moved = np.maximum(np.abs(moved_by.lower), np.abs(moved_by.upper))
            lost = self.lost.lost(moved, 2 * half, chance=_COUNTED * chance)
        else:
            moved_by = self._moved(level)
            lost = np.full(len(half), self.lost)
        ends = np.array([moved_by.lower - lost, moved_by.upper + lost]) + self.centre
        lower, upper = np.clip(ends, -half, half)
        ends = np.array([np.minimum(lower, self.mean), np.maximum(upper, self.mean)])
        inside: Floats = ends * public.deviations + public.middle
        return Bounds(inside[0], inside[1])

    def _moved(self, level: float) -> Bounds:
        """Interval for the difference of the mean of the clipped rows and the centre."""
        if isinstance(self.size, Noisy):
            return of_measure(_QUOTIENT, {"moves": self.moves, "size": self.size}, level=level)
        moves = self.moves.values.astype(np.float64)
        width = self.moves.law.half_width(level)
        return Bounds((moves - width) / self.size, (moves + width) / self.size)


_QUOTIENT = Measure(
    name="mean",
    bases=("moves", "size"),
    evaluate=lambda arrays: arrays["moves"] / arrays["size"],
    denominators=(itemgetter("size"),),
)


@asks(VectorMean)
def vector_mean(
    values: Container,
    *,
    bounds: BoundsLike | Sequence[BoundsLike],
    deviations: Real | Reals = "auto",
    **options: Unpack[Options],
) -> Release:
    """Return the noisy mean of every column of a table, under loose public bounds.

    In the manner of CoinPress: rows are clipped to a ball around a noisy centre, again and again. The bounds may be
    loose by orders of magnitude. So may `deviations`, if there are enough rows: 8000 / epsilon, or 1000 for a rho of
    1/2. Then the last radius is found among the rows. With fewer rows it is public: near where normal rows with these
    deviations end, if columns are many, which has errors below the published ones; intervals are wider by what clipping
    may have taken, two or three times as wide as the noise alone. Columns that are nearly equal are clipped more then,
    and far too large deviations cost as much noise as they say.

    Args:
        values: a table of private numbers.
        bounds: for each column one pair (lower, upper), between which its mean lies, or "auto": a quarter of the price
            finds what is not declared. The word "auto" alone stands for all columns.
        deviations: standard deviations that no column exceeds: one number, or one for each column. Those of a column
            with bounds="auto" may be "auto": half of the distance of the ends to which its values are clamped.
        options: price, relation, units and ledger: see `Options`.

    Guarantee: the price. Rows are integer vectors of a ball, one unit moves their sum by at most the radius times
        `rows` (twice that under replace); the last radius comes from two exponential mechanisms on the ranks of the
        distances of rows, or the rows beyond it are counted, by up to `rows` more or fewer; and the steps add up. Under
        add/remove 1/32 of the price goes to the number of rows.
    Interval: for the mean of the rows that were there, not of what they were drawn from (`dn.statistics.bootstrap`).
        It allows for the noise and for what clipping may take, provided that the mean lies within the bounds, no
        deviation exceeds `deviations`, and the distances of rows from their mean thin out exponentially or faster, as
        they do for normal, Laplace and exponential columns, however they depend on each other. Rows in few lumps, as
        those of two rare yes-or-no columns, may be clipped by more: 0.94 instead of 0.95 was measured.
    Error: `expected_error` is the l2 norm of the noise in `deviations`, for normal rows of these deviations.
    Proof: docs/theory/statistics/vectors.md, with what is changed.
    Source: Biswas, Dong, Kamath, Ullman (2020), arXiv:2006.06618.

    >>> import deniable as dn
    >>> rows = [[61.0, 172.0], [74.5, 181.0], [58.0, 165.0]]
    >>> answer = dn.statistics.vector_mean(rows, bounds=[(0, 500), (0, 300)], deviations=20, rho=1)
    """
    return release(VectorMean, values, {"bounds": for_each_column(bounds, values), "deviations": deviations}, options)
