"""Noisy moments of clipped rows, with intervals that hold whatever came before."""

import math
from dataclasses import dataclass

import numpy as np

from deniable.mechanisms.vectors.matrix_noise import MatrixNoise
from deniable.numbers.arrays import Floats
from deniable.release.columns import Bounds

_FOR_MEANS = 0.02, 0.04, 0.07, 0.1, 0.15, 0.2  # of the chance that an interval misses, for each of two means


@dataclass(frozen=True, eq=False)
class NoisyMoments:
    """Noisy sums over rows w, seen through a public centre and transform and clipped.

    Args:
        squares: the noisy sum of w w^T.
        sums: the noisy sum of w; None if the means are known to be 0, and the number of rows is public then.
        rows: the noisy number of rows, or the public one.
        noise: in one entry of squares, before it is averaged with its transpose, as a law on the lattice.
        step: that of the lattice on which w lies.
        constant: what stands before w, in steps; 0 if nothing does.
        size_is_public: whether `rows` is exact.
        size: the number of rows, as far as it was known before.
        squared_radius: at which w is clipped.
        back: from w to the coordinates of the answer.
        variance: that w is taken to have in any direction at most, for what clipping and rounding take.
    """

    squares: Floats
    sums: Floats | None
    rows: float
    noise: MatrixNoise
    step: float
    constant: int
    size_is_public: bool
    size: float
    squared_radius: float
    back: Floats
    variance: float

    def intervals(self, level: float) -> Bounds:
        """Return intervals for every entry of the covariance matrix.

        What they hold is in docs/theory/statistics/vectors.md.
        """
        chance = 1 - level
        gram = self.back @ self.back.T
        norms = np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))
        part = min(_FOR_MEANS, key=lambda part: self._expected(part, chance))
        lower, upper = self._second_moments(gram, (1 - 2 * part) * chance)
        lowest, greatest = self._products_of_means(gram, part * chance)
        taken = self.variance * float(lost(len(gram), self.squared_radius / self.variance))
        sizes = np.abs(self.back).sum(axis=1)
        rounded = 2 * self.step * math.sqrt(self.variance) * np.outer(sizes, sizes)
        return Bounds(
            lower - greatest - rounded + taken * (gram - norms) / 2,
            upper - lowest + rounded + taken * (gram + norms) / 2,
        )

    def _expected(self, part: float, chance: float) -> float:
        """Return about half of an interval of a variance 1.

        If each of two means has this part of the chance.

        It is a function of what was known before the noise was drawn, so that the part may be chosen by it.
        """
        square = math.hypot(self.noise.deviation * self.step**2, self._deviation_of_rows)
        return self._half(square, (1 - 2 * part) * chance) + self._half(self._deviation_of_sums, part * chance) ** 2

    def _half(self, deviation: float, chance: float) -> float:
        """Return about half of an interval for a small quotient.

        Its dividend has noise of this deviation.
        """
        deviations_covered = self.noise.of_sum(chance)
        rest = self.size**2 - (deviations_covered * self._deviation_of_rows) ** 2
        return deviations_covered * deviation / math.sqrt(rest) if rest > 0 else math.inf

    @property
    def _deviation_of_rows(self) -> float:
        return 0.0 if self.size_is_public else self.noise.deviation / self.constant**2

    @property
    def _deviation_of_sums(self) -> float:
        return 0.0 if self.sums is None else self.noise.deviation * self.step / (math.sqrt(2) * self.constant)

    def _second_moments(self, gram: Floats, chance: float) -> tuple[Floats, Floats]:
        """Intervals for the second moments of the clipped rows about the centre."""
        spread = np.sqrt((np.outer(gram.diagonal(), gram.diagonal()) + gram**2) / 2)
        moments = self.back @ self.squares @ self.back.T
        return self._quotients(moments, self.noise.deviation * self.step**2 * spread, chance)

    def _products_of_means(self, gram: Floats, chance: float) -> tuple[Floats, Floats]:
        """Between which the product of the means of two columns lies, about the centre."""
        if self.sums is None:
            return np.zeros(gram.shape), np.zeros(gram.shape)
        ends = self._quotients(self.back @ self.sums, self._deviation_of_sums * np.sqrt(gram.diagonal()), chance)
        products = np.stack([np.outer(first, second) for first in ends for second in ends])
        lower, upper = products.min(axis=0), products.max(axis=0)
        np.fill_diagonal(lower, np.maximum(lower.diagonal(), 0.0))  # these are squares
        return lower, upper

    def _quotients(self, dividends: Floats, deviations: Floats, chance: float) -> tuple[Floats, Floats]:
        """Return intervals for quotients by the number of rows (Fieller).

        The dividends have noise of these deviations.
        """
        deviations_covered = self.noise.of_sum(chance)
        spread = deviations_covered * deviations
        miscount = deviations_covered * self._deviation_of_rows
        if self.rows <= miscount:
            return np.full(dividends.shape, -math.inf), np.full(dividends.shape, math.inf)
        divisor = self.rows**2 - miscount**2
        width = np.sqrt((self.rows * spread) ** 2 + (miscount * dividends) ** 2 - (miscount * spread) ** 2)
        return (self.rows * dividends - width) / divisor, (self.rows * dividends + width) / divisor


def lost(columns: int, squared: Floats | float) -> Floats:
    """Return the loss of a variance 1 when normal rows are clipped.

    At the squared radius g it is E[(chi^2_d - g)+] / d, which is sf_(d+2)(g) - g sf_d(g) / d.
    """
    from scipy.stats import chi2

    return np.asarray(chi2.sf(squared, columns + 2) - squared * chi2.sf(squared, columns) / columns)
