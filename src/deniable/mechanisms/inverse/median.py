"""The median of a private number of records by the inverse sensitivity mechanism."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.inverse.gaps import InverseByGaps
from deniable.privacy import AddRemove, Relation


@dataclass(frozen=True, kw_only=True)
class InverseMedian(InverseByGaps):
    """Choose a value t with probability proportional to exp(-rate len(t)), len how many records make t the median.

    The exact input is the records, whose number is private; one is added or removed at a time.

    Guarantee: epsilon-DP with epsilon = 2 rate, under add/remove.
    Source: Asi, Duchi (2020), arXiv:2005.10630; McSherry, Talwar (2007); proof in docs/theory/mechanisms/inverse.md.
    """

    kind: ClassVar[str] = "inverse_median"
    relation: ClassVar[Relation] = AddRemove

    def _lengths(self, fewer: NDArray[np.int64], upto: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """max(0, 2 c + 1 - n, n - 2 a) with c records below t, and a up to t."""
        return np.maximum(np.maximum(2 * fewer + 1 - count, count - 2 * upto), 0)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """One record more moves the median across the domain; of the interval of losses this pair has less."""
        return WorstCase(
            mechanism=cls.calibrated(epsilon=4, bounds=(0, 5)),
            exact=(0, 5, 5),
            neighbour=(0, 5),
            attains=False,
        )
