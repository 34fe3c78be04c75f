"""Median of a private number of records, with smooth noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import SmoothStatistic, rounded_up, weights
from deniable.mechanisms.smooth.student_t import SmoothStudentT
from deniable.privacy import AddRemove, Relation


@dataclass(frozen=True, kw_only=True)
class SmoothMedian(SmoothStatistic):
    """Median of a private number of records, with noise by its smooth sensitivity.

    The value is the record of rank ceil(n / 2), of no record the lower bound. Records are clamped to the bounds of the
    noise. Where their number is public, `SmoothQuantile` does the same for any quantile under replace.

    Args:
        noise: a `SmoothNoise` such as `SmoothStudentT`, with the bounds of the records.

    Guarantee: that of the noise, under add/remove.
    Source: Nissim, Raskhodnikova, Smith (2007), for replace; lemma 6 of docs/theory/mechanisms/smooth.md.

    >>> mechanism = SmoothMedian(noise=SmoothStudentT.calibrated(epsilon=1, bounds=(0, 1000)))
    >>> value, bound = mechanism.measured(range(400, 501))  # both are secret
    >>> int(value)
    450
    >>> noisy = mechanism.release(range(400, 501)).value
    """

    kind: ClassVar[str] = "smooth_median"
    relation: ClassVar[Relation] = AddRemove

    def measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the median and its smooth bound, both secret."""
        records = self._records(exact)
        padded = np.concatenate([[self.noise.lower], records, [self.noise.upper]])
        return Fraction(int(padded[(records.size + 1) // 2])), self._bound(padded)

    def _bound(self, padded: NDArray[np.int64]) -> Fraction:
        """Return max of (x_(e) - x_(s)) e^(-beta (e - s - 1)) as a smooth bound.

        Over s < e with s + e - n between -1 and 2.
        """
        count = padded.size - 2
        discount = weights(self.noise.beta, count + 1)
        best = 0.0
        for excess in (-1, 0, 1, 2):
            s = np.arange(max(excess - 1, 0), (count + excess + 1) // 2)
            e = count + excess - s
            s, e = s[(s < e) & (e <= count + 1)], e[(s < e) & (e <= count + 1)]
            width = (padded[e] - padded[s]).astype(np.float64) * discount[e - s - 1]
            best = max(best, float(width.max(initial=0.0)))
        return rounded_up(best)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one record more, which moves the median across the domain.

        The smooth bound, 12, is that of both tables.
        """
        return WorstCase(
            mechanism=cls(noise=SmoothStudentT.calibrated(epsilon=3, bounds=(0, 12))),
            exact=(0, 12, 12),
            neighbour=(0, 12),
            attains=False,
        )
