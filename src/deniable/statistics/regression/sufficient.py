"""Linear regression from noisy sums of products."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss
from deniable.release.columns import Bounds
from deniable.statistics.regression.linear import SMALL, Regression, ScaledRows
from deniable.statistics.regression.moments import Basis
from deniable.statistics.regression.solve import Fit, steady


@dataclass(frozen=True, kw_only=True)
class SufficientRegression(Regression):
    """Least squares from one noisy release of all sums of products.

    The sums are sufficient statistics.

    Guarantee: each product of two columns is bounded by the larger end of each of them, scaled to 1; M sums together
        have l1 = M rows and l2^2 = M rows^2 (add/remove), twice that under replace (privacy/sensitivity/vectors.py).
        For up to three features sums of Bernstein polynomials, l1 = rows, hold the same; the better of both is used.
    Interval: for the least-squares coefficients of the clamped rows, by the delta method from the covariance of the
        noise.
    Proof: docs/theory/statistics/regression.md.
    Source: Vu, Slavkovic (2009), for noisy sums of products.
    """

    name: ClassVar[str] = "linear_regression"

    @cached_property
    def _basis(self) -> Basis:
        """Basis in which the sums get less noise."""
        bases = Basis.all(features=self.features, rows=self.rows, relation=self.relation)
        return min(bases, key=lambda basis: self._covariance(basis).trace())

    @cached_property
    def mechanism(self) -> AdditiveNoise:
        """The noise of the sums."""
        return self._noise_in(self._basis)

    def _noise_in(self, basis: Basis) -> AdditiveNoise:
        return self._bounding[1].noise(basis.sensitivity)

    def _covariance(self, basis: Basis) -> Floats:
        """Covariance of the noise of the sums, if they are released in this basis."""
        spread = self._noise_in(basis).standard_deviation() / basis.unit
        return np.asarray(spread**2 * basis.to_sums @ basis.to_sums.T)

    @cached_property
    def _noise(self) -> Floats:
        """Covariance of the noise of the sums.

        That of the number of rows is 0 where it is public.
        """
        covariance = self._covariance(self._basis)
        if self._public_size:
            covariance[0, :] = covariance[:, 0] = 0.0
        return covariance

    def expected_error(self, size: int) -> float:
        rows = max(size, 1)
        sums = np.zeros(len(self._noise))
        first, second = np.triu_indices(self.features + 1)
        sums[: len(first)] = rows * (first == second) * np.where(first == 0, 1.0, 1 / 3)
        fit = self._solved(sums)
        return float(np.sqrt(np.sum(fit.covariance.diagonal() * np.append(1.0, np.full(self.features, 1 / 3)))))

    def _losses(self) -> list[PrivacyLoss]:
        return [self.mechanism.privacy_loss(self._basis.sensitivity)]

    def _solved(self, sums: Floats) -> Fit:
        return steady(sums, self._noise, self.features)

    def _sums(self, exact: NDArray[np.object_], rows: ScaledRows, bits: Bits) -> Floats:
        """The noisy sums."""
        noisy = self.mechanism.release(exact, bits=bits).value.astype(np.float64) / self._basis.unit
        sums = np.asarray(self._basis.to_sums @ noisy)
        if self._public_size:
            sums[0] = len(rows.target)
        return sums

    def _fit(self, rows: ScaledRows, bits: Bits) -> tuple[Floats, Callable[[float], Bounds], tuple[str, ...]]:
        exact = self._basis.exact(rows.features, rows.target)
        return (*self._in_units(rows, self._solved(self._sums(exact, rows, bits))), ())

    def _in_units(self, rows: ScaledRows, fit: Fit) -> tuple[Floats, Callable[[float], Bounds]]:
        """Coefficients and intervals for the columns as they came."""
        largest = np.maximum(np.abs(rows.back).max(axis=1), SMALL)  # whose square may be no float
        back = rows.back / largest[:, np.newaxis]
        coefficients = rows.terms(fit.coefficients)
        errors = largest * np.sqrt((back @ fit.covariance @ back.T).diagonal())
        return coefficients, partial(_ends, self.mechanism, coefficients, errors)


def _ends(mechanism: AdditiveNoise, coefficients: Floats, errors: Floats, level: float) -> Bounds:
    widths = errors * mechanism.half_width(level) / mechanism.standard_deviation()
    return Bounds(coefficients - widths, coefficients + widths)
