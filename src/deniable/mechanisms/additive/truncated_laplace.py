"""Discrete Laplace noise that never exceeds a bound."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise, checked_scale, require_range
from deniable.mechanisms.base import WorstCase, require_listed
from deniable.mechanisms.integers import integers
from deniable.noise import truncated_laplace
from deniable.noise.bits import Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability, shown
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.privacy.calibration import laplace_scale
from deniable.privacy.constructors import DiscreteTruncatedLaplaceLoss

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class TruncatedLaplace(AdditiveNoise):
    """Add noise with P(k) ~ exp(-|k| / scale) on |k| <= bound to every integer.

    Args:
        scale: of the noise, in lattice steps; > 0.
        bound: no answer is further off, in lattice steps; from 1.

    Guarantee: (epsilon, delta)-DP with epsilon = l1 / scale and delta the chance of noise that gives the unit away; the
        whole curve is in DiscreteTruncatedLaplaceLoss.
    Source: Geng, Ding, Guo, Kumar (2020), arXiv:1810.00877; the integers and vectors in docs/theory/privacy/losses.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> TruncatedLaplace.calibrated(count, epsilon=1, delta="1e-6").bound
    14
    """

    kind: ClassVar[str] = "truncated_laplace"

    scale: Annotated[Fraction, checked_scale]
    bound: Annotated[int, positive_integer]

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("bound", Fraction(self.bound), lower=Fraction(1), upper=Fraction(truncated_laplace.LARGEST_BOUND))

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real, delta: Real) -> "TruncatedLaplace":
        """Return noise of scale l1 / epsilon with the least bound for (epsilon, delta).

        Raises: InvalidParameterError if delta is 0, for which no bound will do.
        """
        scale = checked_scale("scale", laplace_scale(sensitivity, epsilon))
        limit = positive_rational("epsilon", epsilon)
        failed = probability("delta", delta)
        if failed == 0:
            raise InvalidParameterError(
                f"delta must be > 0 for bounded noise, got {shown(delta)}. Use Laplace for delta = 0."
            )

        def private(bound: int) -> bool:
            return DiscreteTruncatedLaplaceLoss(scale, bound, sensitivity).proves(limit, failed)

        low, high = int(sensitivity.integral().l1) - 1, int(sensitivity.integral().l1)
        while not private(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if private(middle) else (middle, high)
        return cls(scale=scale, bound=high)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return DiscreteTruncatedLaplaceLoss(self.scale, self.bound, sensitivity)

    def _noise(self, shape: tuple[int, ...], bits: Bits) -> ExactIntegers:
        return truncated_laplace.sample(scale=self.scale, bound=self.bound, size=shape, bits=bits)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        """Return the probability of every answer for one secret integer."""
        require_listed(2 * self.bound + 1)
        (secret,) = integers("exact", exact).reshape(-1).tolist()
        return {secret + k: self._mass(abs(k)) for k in range(-self.bound, self.bound + 1)}

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a count with noise of scale 1 up to 9: half-lines attain the curve."""
        return WorstCase(mechanism=cls(scale=Fraction(1), bound=9), exact=(1,), neighbour=(0,))

    def _mass(self, k: int) -> "arb":
        ratio = ball(-1 / self.scale)
        whole = 1 + ratio.exp() - 2 * ((self.bound + 1) * ratio).exp()
        return -ratio.expm1() * (k * ratio).exp() / whole if k <= self.bound else ball(Fraction(0))

    def _above(self, k: int) -> "arb":
        ratio = ball(-1 / self.scale)
        left = self.bound - k
        whole = 1 + ratio.exp() - 2 * ((self.bound + 1) * ratio).exp()
        return -((k + 1) * ratio).exp() * (left * ratio).expm1() / whole if left > 0 else ball(Fraction(0))

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return truncated_laplace.quantile(self.scale, self.bound, p)

    def standard_deviation(self) -> float:
        return truncated_laplace.standard_deviation(self.scale, self.bound)
