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
    """Choose a value t with probability ~ exp(-rate len(t)), near the median.

    len is how many records make t the median. The exact input is the records, whose number is private; one is added or
    removed at a time.

    Args:
        rate: how fast chances fall, per record.
        bounds: public (lower, upper) of the records and the answer, whole numbers.
        smoothing: a public number of lattice steps that counts as near.

    Guarantee: epsilon-DP with epsilon = 2 rate, under add/remove.
    Source: Asi, Duchi (2020), arXiv:2005.10630; McSherry, Talwar (2007); proof in docs/theory/mechanisms/inverse.md.

    >>> mechanism = InverseMedian.calibrated(epsilon=2, bounds=(0, 3))
    >>> for value, chance in mechanism.pmf([1, 1, 3]).items():
    ...     print(value, f"{chance.upper:.2f}")
    0 0.04
    1 0.76
    2 0.10
    3 0.10
    >>> noisy = mechanism.release([1, 1, 3]).value
    """

    kind: ClassVar[str] = "inverse_median"
    relation: ClassVar[Relation] = AddRemove

    def _lengths(self, fewer: NDArray[np.int64], upto: NDArray[np.int64], count: int) -> NDArray[np.int64]:
        """Return max(0, 2 c + 1 - n, n - 2 a) with c records below t, and a up to t."""
        return np.maximum(np.maximum(2 * fewer + 1 - count, count - 2 * upto), 0)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one record more, which moves the median across the domain.

        Of the interval of losses this pair has less.
        """
        return WorstCase(
            mechanism=cls.calibrated(epsilon=4, bounds=(0, 5)),
            exact=(0, 5, 5),
            neighbour=(0, 5),
            attains=False,
        )
