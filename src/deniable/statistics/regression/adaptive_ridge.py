"""Linear regression with a ridge that is as small as the data allow."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import log, sqrt
from typing import ClassVar

import numpy as np

from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.privacy.relation import AddRemove
from deniable.privacy.sensitivity import of_clamped_unit_sum
from deniable.release.columns import Bounds
from deniable.statistics.regression.linear import ScaledRows
from deniable.statistics.regression.moments import Basis
from deniable.statistics.regression.smallest_eigenvalue import smallest_eigenvalue
from deniable.statistics.regression.solve import Fit, ridge
from deniable.statistics.regression.sufficient import SufficientRegression

_SHARE = Fraction(1, 6)  # of the price, for the smallest eigenvalue
_FAILURE = 0.05  # so often noise is larger than what the ridge allows for


@dataclass(frozen=True, kw_only=True)
class AdaptiveRidge(SufficientRegression):
    """AdaSSP: noisy sums of products, with a ridge just above their noise.

    The smallest eigenvalue of the matrix is released first. The ridge is what it lacks to a bound on the norm of the
    noise; none if it is larger, as it is with many rows and features that vary.

    Guarantee: the sums as in `SufficientRegression`, for five sixths of the price; the smallest eigenvalue moves by at
        most (features + 1) rows under either relation (Weyl), and is computed in integers, exactly.
    Interval: for the least-squares coefficients; it allows for the noise, and for a ridge on coefficients about 1.
    Proof: docs/theory/statistics/regression.md, where the constants are derived again.
    Source: Wang (2018), arXiv:1803.02596.
    """

    name: ClassVar[str] = "adaptive_ridge"

    def _noise_in(self, basis: Basis) -> AdditiveNoise:
        return self._noises(basis)[1]

    def _noises(self, basis: Basis) -> tuple[AdditiveNoise, ...]:
        reaches = (self._eigenvalue_sensitivity, basis.sensitivity)
        return self._bounding[1].noises(reaches, (_SHARE, 1 - _SHARE))

    @cached_property
    def _matrix_basis(self) -> Basis:
        return Basis.plain(features=self.features, rows=self.rows, relation=self.relation)

    @cached_property
    def _eigenvalue_sensitivity(self) -> Sensitivity:
        """Sensitivity of the smallest eigenvalue.

        Removing rows lowers it by their squared norms at most, adding rows raises it by as much, never both.
        """
        largest_change = (self.features + 1) * self._matrix_basis.unit * self.rows
        sensitivity = of_clamped_unit_sum(lower=0, upper=largest_change, groups=1, relation=AddRemove, cells=1)
        return Sensitivity(
            l1=sensitivity.l1,
            l2_squared=sensitivity.l2_squared,
            linf=sensitivity.linf,
            relation=self.relation,
            coordinates=1,
        )

    @cached_property
    def eigenvalue_mechanism(self) -> AdditiveNoise:
        """The noise of the smallest eigenvalue."""
        return self._noises(self._basis)[0]

    def _losses(self) -> list[PrivacyLoss]:
        return [*super()._losses(), self.eigenvalue_mechanism.privacy_loss(self._eigenvalue_sensitivity)]

    def _penalty(self, eigenvalue: float) -> float:
        """Return the ridge.

        It is what the noise of the matrix surely does not exceed, less what the noisy eigenvalue surely has.
        """
        unit = self._matrix_basis.unit
        sure = max(0.0, eigenvalue - self.eigenvalue_mechanism.half_width(1 - _FAILURE) / unit)
        return max(0.0, self._norm_of_noise - sure)

    @property
    def _norm_of_noise(self) -> float:
        """Bound that the norm of the noise matrix exceeds with probability at most 0.05.

        For normal noise.
        """
        spread = sqrt(self._noise.diagonal().max())
        return 2 * spread * (sqrt(self.features + 1) + sqrt(log(2 / _FAILURE)))

    def _solved(self, sums: Floats) -> Fit:
        """Fit with the ridge that evenly spread features would get."""
        return ridge(sums, self._noise, self.features, self._penalty(float(sums[: -self.features - 1].max()) / 3))

    def _fit(self, rows: ScaledRows, bits: Bits) -> tuple[Floats, Callable[[float], Bounds], tuple[str, ...]]:
        exact = self._matrix_basis.exact(rows.features, rows.target)
        first, second = np.triu_indices(self.features + 1)
        matrix = np.zeros((self.features + 1, self.features + 1), dtype=object)
        matrix[first, second] = matrix[second, first] = exact[: len(first)]
        noisy = self.eigenvalue_mechanism.release(
            np.array([smallest_eigenvalue(matrix)], dtype=object), bits=bits
        ).value
        penalty = self._penalty(float(noisy[0]) / self._matrix_basis.unit)
        exact = self._basis.exact(rows.features, rows.target)
        fit = ridge(self._sums(exact, rows, bits), self._noise, self.features, penalty)
        return (*self._in_units(rows, fit), (f"the ridge is {penalty:.3g} for columns scaled to [-1, 1]",))
