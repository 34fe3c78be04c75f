"""Mean of the central records, of a private number, with smooth noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import changes_to_least_bound, rounded_up, weights
from deniable.mechanisms.smooth.student_t import SmoothStudentT
from deniable.mechanisms.smooth.trimmed_mean import TrimmedStatistic
from deniable.privacy import AddRemove, Relation


@dataclass(frozen=True, kw_only=True)
class SmoothCentralMean(TrimmedStatistic):
    """Mean without the `trimmed` smallest and largest records, of a private number.

    Noise is in proportion to its smooth sensitivity. Of 2 trimmed records or fewer it is the middle of the bounds.
    Records are clamped to the bounds of the noise. Where their number is public, `SmoothTrimmedMean` is the same under
    replace.

    Args:
        noise: a `SmoothNoise` such as `SmoothStudentT`, with the bounds of the records.
        trimmed: how many records are left out at either end.

    Guarantee: that of the noise, under add/remove.
    Source: after Bun, Steinke (2019), arXiv:1906.02830, for replace; lemma 7 of docs/theory/mechanisms/smooth.md.

    >>> noise = SmoothStudentT.calibrated(epsilon=1, bounds=(0, 1000))
    >>> mechanism = SmoothCentralMean(noise=noise, trimmed=10)
    >>> value, bound = mechanism.measured(range(400, 500))  # both are secret
    >>> float(value)
    449.5
    >>> noisy = mechanism.release(range(400, 500)).value
    """

    kind: ClassVar[str] = "smooth_central_mean"
    relation: ClassVar[Relation] = AddRemove

    def measured(self, exact: ArrayLike) -> tuple[Fraction, Fraction]:
        """Return the central mean and its smooth bound, both secret."""
        lower, upper = self.noise.lower, self.noise.upper
        records = self._records(exact)
        kept = records.size - 2 * self.trimmed
        if kept < 1:
            return Fraction(lower + upper, 2), rounded_up(float(upper - lower))
        bound = self._bound(np.concatenate([[lower], records, [upper]]), kept)
        return self._mean(records), rounded_up(bound)

    def _bound(self, padded: NDArray[np.int64], kept: int) -> float:
        """Return the smooth bound of the central mean.

        It is the larger one of range e^(-beta (kept - 1)) and max of (x_(e) - x_(s)) / (e - s + 1) e^(-beta (j - 1)),
        over s <= trimmed + 1 and e >= n - trimmed with e - s + 1 = kept + j; without a discount for j = 0.
        """
        spread = int(padded[-1] - padded[0])
        far = min(changes_to_least_bound(self.noise.beta, spread), 2 * self.trimmed + 2)
        last, first = self.trimmed + 1, padded.size - 2 - self.trimmed
        left = padded[max(last - far, 0) : last + 1][::-1].astype(np.float64)
        right = padded[first : first + far + 1].astype(np.float64)
        j = np.arange(left.size + right.size - 1)
        share = weights(self.noise.beta, j.size)[np.maximum(j - 1, 0)] / (kept + j)
        gone = weights(self.noise.beta, 2, step=kept - 1)[1] * spread
        best = max(float(gone), float(right[0] - left[0]) / kept)
        for above in range(right.size):  # as far as a window of the whole range could be wider
            if spread * share[above] <= best:
                break
            best = max(best, float(((right[above] - left) * share[above : above + left.size]).max()))
        return best

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return one record more, which moves the mean of the middle by 6.

        As far as the bound of four records says.
        """
        return WorstCase(
            mechanism=cls(noise=SmoothStudentT.calibrated(epsilon=3, bounds=(0, 12)), trimmed=1),
            exact=(0, 0, 12, 12),
            neighbour=(0, 0, 12),
            attains=False,
        )
