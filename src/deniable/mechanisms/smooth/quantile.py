"""Quantiles with noise in proportion to their smooth sensitivity."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from numpy.typing import ArrayLike

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.records import checked_quantile, rank_of
from deniable.mechanisms.smooth.base import SmoothStatistic
from deniable.mechanisms.smooth.student_t import SmoothStudentT
from deniable.mechanisms.smooth.windows import smooth_width
from deniable.privacy import Replace, of_count


@dataclass(frozen=True, kw_only=True)
class SmoothQuantile(SmoothStatistic):
    """Quantile of records, with noise in proportion to its smooth sensitivity.

    The value is the record of rank ceil(quantile n): for quantile = 1/2 the median, and of an even number the lower
    one; for 0 the least record. Records are clamped to the bounds of the noise.

    Args:
        noise: a `SmoothNoise` such as `SmoothStudentT`, with the bounds of the records.
        quantile: in [0, 1].

    Guarantee: that of the noise, under replace.
    Source: Nissim, Raskhodnikova, Smith (2007); lemma 3 of docs/theory/mechanisms/smooth.md.

    >>> mechanism = SmoothQuantile(noise=SmoothStudentT.calibrated(epsilon=1, bounds=(0, 1000)), quantile="9/10")
    >>> value, bound = mechanism.measured(range(400, 500))  # both are secret
    >>> int(value)
    489
    >>> noisy = mechanism.release(range(400, 500)).value
    """

    kind: ClassVar[str] = "smooth_quantile"

    quantile: Annotated[Fraction, checked_quantile]

    def measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the quantile and its smooth bound, both secret."""
        lower, upper = self.noise.lower, self.noise.upper
        records = self._records(exact)
        rank = rank_of(self.quantile, records.size)
        bound = smooth_width(records, lower, upper, last=rank, first=rank, beta=self.noise.beta)
        return Fraction(int(records[rank - 1])), bound

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one record that moves the median across the domain.

        The smooth bound, 12, is that of both tables.
        """
        return WorstCase(
            mechanism=cls(noise=SmoothStudentT.calibrated(epsilon=3, bounds=(0, 12)), quantile=Fraction(1, 2)),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(0, 12, 12),
            neighbour=(0, 0, 12),
            attains=False,
        )
