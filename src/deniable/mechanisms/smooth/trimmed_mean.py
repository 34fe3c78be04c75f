"""Trimmed means with noise in proportion to their smooth sensitivity."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import SmoothStatistic
from deniable.mechanisms.smooth.log_normal import SmoothLogNormal
from deniable.mechanisms.smooth.windows import smooth_width
from deniable.numbers.rationals import whole_number
from deniable.privacy import Replace, of_count


@dataclass(frozen=True, kw_only=True)
class TrimmedStatistic(SmoothStatistic):
    """Base of statistics without the `trimmed` smallest and largest records."""

    trimmed: Annotated[int, partial(whole_number, lower=0)]

    def _mean(self, records: NDArray[np.int64]) -> Fraction:
        """Return the exact mean of the records that are kept, which are sorted."""
        kept = records[self.trimmed : records.size - self.trimmed]
        return Fraction(sum(kept.tolist()), kept.size)


@dataclass(frozen=True, kw_only=True)
class SmoothTrimmedMean(TrimmedStatistic):
    """Mean without the `trimmed` smallest and largest records, with smooth noise.

    Noise is in proportion to its smooth sensitivity. Records are clamped to the bounds of the noise. With n = 2 trimmed
    + 1 records it is the median.

    Args:
        noise: a `SmoothNoise` such as `SmoothLogNormal`, with the bounds of the records.
        trimmed: how many records are left out at either end.

    Guarantee: that of the noise, under replace.
    Source: Bun, Steinke (2019), arXiv:1906.02830; lemma 4 of docs/theory/mechanisms/smooth.md.

    >>> mechanism = SmoothTrimmedMean(noise=SmoothLogNormal.calibrated(rho="1/2", bounds=(0, 1000)), trimmed=10)
    >>> value, bound = mechanism.measured(range(400, 500))  # both are secret
    >>> float(value)
    449.5
    >>> noisy = mechanism.release(range(400, 500)).value
    """

    kind: ClassVar[str] = "smooth_trimmed_mean"

    def measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the trimmed mean and its smooth bound, both secret."""
        lower, upper = self.noise.lower, self.noise.upper
        records = self._records(exact)
        kept = records.size - 2 * self.trimmed
        if kept < 1:
            raise InvalidParameterError(
                f"trimmed={self.trimmed} leaves none of {records.size} records, whose number is public. Trim fewer."
            )
        last, first = self.trimmed + 1, records.size - self.trimmed
        width = smooth_width(records, lower, upper, last=last, first=first, beta=self.noise.beta)
        return self._mean(records), width / kept

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one record that moves the mean of the middle by 6, the smooth bound."""
        return WorstCase(
            mechanism=cls(noise=SmoothLogNormal.calibrated(rho=4, bounds=(0, 12)), trimmed=1),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(0, 0, 12, 12),
            neighbour=(0, 0, 0, 12),
            attains=False,
        )
