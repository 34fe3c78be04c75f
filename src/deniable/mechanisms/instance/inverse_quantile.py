"""Quantiles by the inverse sensitivity mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.instance.base import Answer, clamped_records, some
from deniable.mechanisms.instance.inverse_sensitivity import InverseSensitivity
from deniable.mechanisms.instance.quantile import checked_quantile, rank_of
from deniable.noise import race, races, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.privacy import Relation, Replace, of_count
from deniable.privacy.exact import positive_rational


@dataclass(frozen=True, kw_only=True)
class InverseQuantile(InverseSensitivity):
    """Choose a value t with probability proportional to exp(-rate len(t)), len how many records make t the quantile.

    The exact input is the records; the quantile is the one of rank ceil(quantile n). len is constant between records,
    so a gap is chosen by an exact race, with its length as weight, and then a value in it.

    Guarantee: epsilon-DP with epsilon = 2 rate, under replace.
    Source: Asi, Duchi (2020), arXiv:2005.10630; McSherry, Talwar (2007); proof in docs/theory/instance.md.
    """

    kind: ClassVar[str] = "inverse_quantile"
    guarantee: ClassVar[str] = "epsilon-DP, epsilon = 2 rate, under replace; epsilon^2/8-zCDP"
    source: ClassVar[str] = "Asi, Duchi (2020)"

    quantile: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "quantile", checked_quantile(self.quantile))

    @classmethod
    def calibrated(
        cls, *, epsilon: object, lower: int, upper: int, smoothing: int = 0, quantile: object = Fraction(1, 2)
    ) -> Self:
        """The rate for epsilon; the median unless another quantile is named."""
        rate = positive_rational("epsilon", epsilon) / 2
        return cls(rate=rate, lower=lower, upper=upper, smoothing=smoothing, quantile=checked_quantile(quantile))

    @property
    def _proved(self) -> frozenset[Relation]:
        return frozenset({Replace})

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Answer:
        """One value of {lower, ..., upper}."""
        start, length, weight = self._gaps(exact)
        gap = race.exponential_mechanism(-length, rate=self.rate, weights=weight, bits=bits)
        inside = int(uniform.below(int(weight[gap]), bits=bits))
        return Answer(int(start[gap]) + inside, bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        start, length, weight = self._gaps(exact)
        shape = (runs, start.size)
        scores, weights = np.broadcast_to(-length, shape), np.broadcast_to(weight, shape)
        gap = races.exponential_mechanism(scores, rate=self.rate, weights=weights, bits=bits)
        return start[gap] + uniform.sample(weight[gap], bits=bits)

    def _gaps(self, exact: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Runs of values with equal len: where they start, their len, and how many values they hold.

        With c(t) records below t, and a(t) up to t, len(t) = max(0, c(t) - rank + 1, rank - a(t)); smoothing puts
        c(t - smoothing) and a(t + smoothing) in their place. c grows after a record, a at a record.
        """
        records = some(clamped_records(exact, self.lower, self.upper))
        rank = rank_of(self.quantile, records.size)
        wide = min(self.smoothing, self.upper - self.lower)
        turns = np.concatenate([[self.lower], records + (wide + 1), records - wide])
        start = np.unique(turns[(turns >= self.lower) & (turns <= self.upper)])
        fewer = np.searchsorted(records, start - wide, side="left")
        upto = np.searchsorted(records, start + wide, side="right")
        length = np.maximum(np.maximum(fewer - rank + 1, rank - upto), 0)
        return start, length, np.diff(start, append=self.upper + 1)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """The median moves across the domain; of the interval of losses, of length 4, this pair has less."""
        return WorstCase(
            mechanism=cls.calibrated(epsilon=4, lower=0, upper=5),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(0, 5, 5),
            neighbour=(0, 0, 5),
            attains=False,
        )
