"""What one look at clipped rows says about their covariance, with intervals that hold whatever came before."""

import math
from dataclasses import dataclass

import numpy as np

from deniable.release import Bounds
from deniable.statistics.data import Floats
from deniable.statistics.vectors.matrix_noise import MatrixNoise

_FOR_SQUARES = 0.94  # of the chance that an interval misses
_FOR_MEANS = 0.02  # for each of two
_FOR_ROWS = 0.02


@dataclass(frozen=True, eq=False)
class Look:
    """Noisy sums over rows w, seen through a public centre and transform, and clipped there.

    Args:
        squares: the noisy sum of w w^T.
        sums: the noisy sum of w; None if the means are known to be 0, and the number of rows is public then.
        rows: the noisy number of rows, or the public one.
        noise: in one entry of squares, before it is averaged with its transpose, as a law on the lattice.
        step: that of the lattice on which w lies.
        constant: what stands before w, in steps; 0 if nothing does.
        size_is_public: whether `rows` is exact.
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
    squared_radius: float
    back: Floats
    variance: float

    def intervals(self, level: float) -> Bounds:
        """For every entry of the covariance matrix; what they hold is in docs/theory/coinpress.md."""
        chance = 1 - level
        gram = self.back @ self.back.T
        norms = np.sqrt(np.outer(gram.diagonal(), gram.diagonal()))
        fewest, most = self._rows(_FOR_ROWS * chance)
        lower, upper = self._second_moments(gram, _FOR_SQUARES * chance)
        least, greatest = self._products_of_means(gram, fewest, most, _FOR_MEANS * chance)
        taken = self.variance * float(lost(len(gram), self.squared_radius / self.variance))
        sizes = np.abs(self.back).sum(axis=1)
        rounded = 2 * self.step * math.sqrt(self.variance) * np.outer(sizes, sizes)
        return Bounds(
            lower - greatest - rounded + taken * (gram - norms) / 2,
            upper - least + rounded + taken * (gram + norms) / 2,
        )

    @property
    def _deviation_of_rows(self) -> float:
        return 0.0 if self.size_is_public else self.noise.deviation / self.constant**2

    def _rows(self, chance: float) -> tuple[float, float]:
        """Between which numbers of rows; the lower one is at least 1."""
        away = self.noise.of_sum(chance) * self._deviation_of_rows
        return max(1.0, self.rows - away), max(1.0, self.rows + away)

    def _second_moments(self, gram: Floats, chance: float) -> tuple[Floats, Floats]:
        """Of the clipped rows about the centre, each as a quotient of two noisy numbers (Fieller)."""
        found = self.back @ self.squares @ self.back.T
        deviations = np.sqrt((np.outer(gram.diagonal(), gram.diagonal()) + gram**2) / 2)
        reach = self.noise.of_sum(chance)
        squares = reach * self.noise.deviation * self.step**2 * deviations
        miscount = reach * self._deviation_of_rows
        if self.rows <= miscount:
            return np.full(gram.shape, -math.inf), np.full(gram.shape, math.inf)
        divisor = self.rows**2 - miscount**2
        width = np.sqrt((self.rows * squares) ** 2 + (miscount * found) ** 2 - (miscount * squares) ** 2)
        return (self.rows * found - width) / divisor, (self.rows * found + width) / divisor

    def _products_of_means(self, gram: Floats, fewest: float, most: float, chance: float) -> tuple[Floats, Floats]:
        """Between which the product of the means of two columns lies, about the centre."""
        if self.sums is None:
            return np.zeros(gram.shape), np.zeros(gram.shape)
        found = self.back @ self.sums
        one = self.noise.deviation * self.step / (math.sqrt(2) * self.constant)
        away = self.noise.of_sum(chance) * one * np.sqrt(gram.diagonal())
        ends = found - away, found + away
        products = np.stack([np.outer(first, second) for first in ends for second in ends])
        lower, upper = products.min(axis=0), products.max(axis=0)
        return (
            lower / np.where(lower < 0, fewest, most) ** 2,
            upper / np.where(upper < 0, most, fewest) ** 2,
        )


def lost(columns: int, squared: Floats | float) -> Floats:
    """What a variance 1 loses when normal rows are clipped at this squared radius g: E[(chi^2_d - g)+] / d, which is
    sf_(d+2)(g) - g sf_d(g) / d."""
    from scipy.stats import chi2

    return np.asarray(chi2.sf(squared, columns + 2) - squared * chi2.sf(squared, columns) / columns)
