"""The mean of vectors under loose public bounds, in steps that close in on it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Unpack

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
from deniable.statistics.vectors.plan import SMALLEST_SHARE, Plan, best_plan

_STEPS = 2**20  # lattice steps to the radius of every ball
_COUNT = Fraction(1, 32)  # of the price, where the number of rows is private


@dataclass(frozen=True, kw_only=True)
class VectorMean(VectorStatistic):
    """The mean of every column, by CoinPress: clip rows to a ball around a noisy centre, and again, ever smaller.

    The bounds may be loose by orders of magnitude: the noise hardly grows with them. The answer is the mean of the rows
    after the last clipping, which leaves out little if `deviations` are right: rows are clipped at the radius that one
    of 20 normal rows exceeds.

    Guarantee: the price. Rows are integer vectors of a ball, one unit moves their sum by at most the radius times
        `rows` (twice that under replace), and the steps add up. Under add/remove 1/32 of the price goes to the number
        of rows.
    Error: `expected_error` is the l2 norm of the noise, in `deviations`.
    Source: Biswas, Dong, Kamath, Ullman (2020), arXiv:2006.06618; changes and proofs in docs/theory/coinpress.md.
    """

    name: ClassVar[str] = "vector_mean"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.mechanism(SMALLEST_SHARE)
        if not self.size_is_public:
            _ = self._count_mechanism

    def mechanism(self, share: Fraction) -> AdditiveNoise:
        """The noise of a step that costs this share of what the steps cost."""
        return part_of(self._for_steps, share).noise(self._sensitivity)

    def expected_error(self, size: int) -> float:
        """Root mean squared l2 norm of the noise, each column in its deviation."""
        return self._plan(size).deviation * math.sqrt(len(self.columns))

    @cached_property
    def _for_steps(self) -> Price:
        return self._spending if self.size_is_public else part_of(self._spending, 1 - _COUNT)

    @cached_property
    def _sensitivity(self) -> Sensitivity:
        return of_ball_sum(radius=_STEPS, dimensions=len(self.columns), rows=self.rows, relation=self.relation)

    @cached_property
    def _count_mechanism(self) -> AdditiveNoise:
        reach = of_count(rows=self.rows, groups=1, relation=self.relation, cells=1)
        return part_of(self._spending, _COUNT).noise(reach)

    def _plan(self, size: float) -> Plan:
        whole = self.mechanism(Fraction(1)).standard_deviation() / _STEPS
        return best_plan(
            size,
            columns=len(self.columns),
            reach=float(np.linalg.norm(self.columns.half / self.columns.deviations)),
            noise=lambda share: self._spread(whole, share),
        )

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        public = self.columns
        rows, names = public.rows(
            values, units, scale=public.deviations, rows=self.rows, relation=self.relation, bits=bits
        )
        size = float(max(len(rows), 1))
        if not self.size_is_public:
            size = max(1.0, float(self._count_mechanism.release([len(rows)], bits=bits).values[0]))
        plan, half = self._plan(size), public.half / public.deviations
        centre, found, errors = np.zeros(len(public)), [], []
        for share, radius in zip(plan.shares, plan.radii, strict=True):
            mechanism, step = self.mechanism(share), radius / _STEPS / size
            exact = ball_sum(rows, centre=centre, radius=radius, steps=_STEPS)
            found.append(centre + mechanism.release(exact, bits=bits).values.astype(np.float64) * step)
            errors.append(Law(mechanism, Fraction(step)))
            shares = np.array(plan.weights[: len(found)])
            moved, centre = centre, np.clip(shares @ np.array(found) / shares.sum(), -half, half)
        mean = public.middle + public.deviations * centre
        drift = public.deviations * np.abs(centre - moved)

        def ends(level: float) -> Bounds:
            width = public.deviations * _half_width(plan, errors, level)
            if not self.size_is_public:
                width = np.hypot(width, drift * self._count_mechanism.half_width(level) / size)
            low, high = public.middle - public.half, public.middle + public.half
            return Bounds(np.clip(mean - width, low, high), np.clip(mean + width, low, high))

        return Answer(
            parts=(
                Key(name="column", values=names, kind="string"),
                Estimate(name="mean", estimates=mean, ends=ends, post_processing="clamped to the bounds"),
            ),
            notes=(f"rows were clipped {len(plan.shares)} times, in the end to {plan.radii[-1]:.3g} deviations",),
        )


@in_words
def vector_mean(values: object, *, bounds: object, deviations: object, **options: Unpack[Options]) -> Release:
    """The mean of every column of a table under loose bounds: see `VectorMean`.

    >>> import deniable as dn
    >>> rows = [[61.0, 172.0], [74.5, 181.0], [58.0, 165.0]]
    >>> answer = dn.statistics.vector_mean(rows, bounds=[(0, 500), (0, 300)], deviations=20, rho=1)
    """
    return release(VectorMean, values, {"bounds": bounds, "deviations": deviations}, options)


def _half_width(plan: Plan, errors: list[Law], level: float) -> float:
    """Half of the interval for one column, in deviations, of the weighted sum of the noise of the steps."""
    bases = {str(step): Noisy(name=str(step), values=np.zeros(1), law=law) for step, law in enumerate(errors)}

    def weighted(arrays: Mapping[str, Any]) -> Floats:
        return np.asarray(sum(weight * arrays[base] for base, weight in zip(bases, plan.weights, strict=True)))

    measure = Measure(name="error", bases=tuple(bases), evaluate=weighted)
    return float(of_measure(measure, bases, level=level).upper[0])
