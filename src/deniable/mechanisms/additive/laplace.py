"""Discrete Laplace noise."""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.additive.base import AdditiveNoise, checked_scale
from deniable.mechanisms.base import WorstCase
from deniable.noise import laplace
from deniable.noise.bits import Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real
from deniable.privacy import DiscreteLaplaceLoss, PrivacyLoss, Sensitivity
from deniable.privacy.calibration import laplace_scale

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class Laplace(AdditiveNoise):
    """Add noise with P(k) ~ exp(-|k| / scale) to every integer.

    For counts it is also called the geometric, or two-sided geometric, mechanism, with parameter e^(-1/scale).

    Args:
        scale: of the noise, in lattice steps; > 0.

    Guarantee: epsilon-DP with epsilon = l1 sensitivity / scale; the whole curve is in DiscreteLaplaceLoss.
    Source: Dwork, McSherry, Nissim, Smith (2006); Ghosh, Roughgarden, Sundararajan (2009), arXiv:0811.2841.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = Laplace.calibrated(count, epsilon="0.1")
    >>> mechanism.half_width(0.95)  # 95% of all errors are within
    30
    >>> float(mechanism.privacy_loss(count).pure_epsilon)
    0.1
    >>> noisy = mechanism.release([120, 45]).value
    """

    kind: ClassVar[str] = "laplace"

    scale: Annotated[Fraction, checked_scale]

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real) -> "Laplace":
        """Return the least noise that is epsilon-DP for this sensitivity."""
        return cls(scale=laplace_scale(sensitivity, epsilon))

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return DiscreteLaplaceLoss(self.scale, sensitivity)

    def _noise(self, shape: tuple[int, ...], bits: Bits) -> ExactIntegers:
        return laplace.sample(scale=self.scale, size=shape, bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a count at epsilon = 1, whose far half-lines have the ratio e."""
        return WorstCase(mechanism=cls(scale=Fraction(1)), exact=(1,), neighbour=(0,))

    def _mass(self, k: int) -> "arb":
        ratio = ball(-1 / self.scale)
        return -ratio.expm1() / (1 + ratio.exp()) * (k * ratio).exp()

    def _above(self, k: int) -> "arb":
        ratio = ball(-1 / self.scale)
        return ((k + 1) * ratio).exp() / (1 + ratio.exp())

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return laplace.quantile(self.scale, p)

    def standard_deviation(self) -> float:
        return laplace.standard_deviation(self.scale)
