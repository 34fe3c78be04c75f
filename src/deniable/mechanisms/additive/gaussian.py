"""Discrete Gaussian noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.mechanisms.additive.base import AdditiveNoise, require_range
from deniable.mechanisms.base import WorstCase
from deniable.noise import gaussian
from deniable.noise.bits import Bits
from deniable.numbers import theta
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy import DiscreteGaussianLoss, PrivacyLoss, Sensitivity
from deniable.privacy.calibration import gaussian_sigma_squared

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class Gaussian(AdditiveNoise):
    """Add noise with P(k) ~ exp(-k^2 / (2 sigma_squared)) to every integer.

    Args:
        sigma_squared: of the noise, in squared lattice steps; > 0.

    Guarantee: rho-zCDP with rho = l2 sensitivity^2 / (2 sigma_squared); the whole curve is in DiscreteGaussianLoss.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010.

    >>> from deniable.privacy import AddRemove, of_count
    >>> counts = of_count(rows=1, groups=100, relation=AddRemove)  # a person has up to 100 keys
    >>> mechanism = Gaussian.calibrated(counts, rho="1/2")
    >>> mechanism.standard_deviation()
    10.0
    >>> noisy = mechanism.release([120, 45, 3]).value
    """

    kind: ClassVar[str] = "gaussian"

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        value = positive_rational("sigma_squared", self.sigma_squared)
        require_range(
            "sigma_squared", value, lower=gaussian.SMALLEST_SIGMA_SQUARED, upper=gaussian.LARGEST_SIGMA_SQUARED
        )
        read_fields(self, sigma_squared=value)

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        rho: Real | None = None,
        mu_squared: Real | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
    ) -> "Gaussian":
        """Return the least noise for a target rho, mu^2, or (epsilon, delta)."""
        return cls(
            sigma_squared=gaussian_sigma_squared(
                sensitivity, rho=rho, mu_squared=mu_squared, epsilon=epsilon, delta=delta
            )
        )

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return DiscreteGaussianLoss(self.sigma_squared, sensitivity)

    def _noise(self, shape: tuple[int, ...], bits: Bits) -> ExactIntegers:
        return gaussian.sample(sigma_squared=self.sigma_squared, size=shape, bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a count with sigma = 1: the events {output >= m} attain the curve."""
        return WorstCase(mechanism=cls(sigma_squared=Fraction(1)), exact=(1,), neighbour=(0,))

    def _mass(self, k: int) -> "arb":
        return ball(-k * k / (2 * self.sigma_squared)).exp() / theta.total(self.sigma_squared)

    def _above(self, k: int) -> "arb":
        return theta.upper_tail(self.sigma_squared, k + 1) / theta.total(self.sigma_squared)

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return gaussian.quantile(self.sigma_squared, p)

    def standard_deviation(self) -> float:
        return gaussian.standard_deviation(self.sigma_squared)
