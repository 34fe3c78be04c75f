"""Quantiles by the inverse sensitivity mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.inverse.gaps import InverseByGaps
from deniable.mechanisms.records import checked_quantile, rank_of
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy import Relation, Replace, of_count


@dataclass(frozen=True, kw_only=True)
class InverseQuantile(InverseByGaps):
    """Choose a value t with probability ~ exp(-rate len(t)), near a quantile.

    len is how many records make t the quantile. The exact input is the records; the quantile is the one of rank
    ceil(quantile n).

    Args:
        rate: how fast chances fall, per record.
        bounds: public (lower, upper) of the records and the answer, whole numbers.
        smoothing: a public number of lattice steps that counts as near.
        quantile: in [0, 1].

    Guarantee: epsilon-DP with epsilon = 2 rate, under replace.
    Source: Asi, Duchi (2020), arXiv:2005.10630; McSherry, Talwar (2007); proof in docs/theory/mechanisms/inverse.md.

    >>> mechanism = InverseQuantile.calibrated(epsilon=1, bounds=(0, 1000), quantile="9/10")
    >>> float(mechanism.rate)
    0.5
    >>> noisy = mechanism.release(range(400, 500)).value
    """

    kind: ClassVar[str] = "inverse_quantile"
    relation: ClassVar[Relation] = Replace

    quantile: Annotated[Fraction, checked_quantile]

    @classmethod
    def calibrated(
        cls, *, epsilon: Real, bounds: tuple[int, int], smoothing: int = 0, quantile: Real = Fraction(1, 2)
    ) -> Self:
        """Return the mechanism for epsilon; the median unless another quantile is named."""
        rate = positive_rational("epsilon", epsilon) / 2
        return cls(rate=rate, bounds=bounds, smoothing=smoothing, quantile=quantile)  # type: ignore[arg-type]

    def _lengths(self, fewer: NDArray[np.int64], upto: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return max(0, c - rank + 1, rank - a) with c records below t, and a up to t."""
        rank = rank_of(self.quantile, count)
        return np.maximum(np.maximum(fewer - rank + 1, rank - upto), 0)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair whose median moves across the domain.

        Of the interval of losses, of length 4, this pair has less.
        """
        return WorstCase(
            mechanism=cls.calibrated(epsilon=4, bounds=(0, 5)),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(0, 5, 5),
            neighbour=(0, 0, 5),
            attains=False,
        )
