"""Smooth sensitivity with approximate differential privacy: Laplace noise."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import SmoothNoise, shift_below
from deniable.noise import rounded
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, decimal_below, positive_rational, probability
from deniable.privacy import ApproximateLoss, PrivacyLoss

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class SmoothLaplace(SmoothNoise):
    """Add Laplace noise of scale S / shift, S a beta-smooth bound of the sensitivity.

    Args:
        epsilon: of the guarantee.
        delta: of the guarantee, > 0.
        beta: of the smooth bound.
        bounds: public (lower, upper) of the statistic, whole numbers of lattice steps.

    Guarantee: (epsilon, delta)-DP with shift the least of epsilon, e^beta (epsilon - beta), and the s for which
        delta = (1 - e^-beta) e^(-(epsilon + beta) / c) cosh(s / c), c = e^beta - 1; exact where that is the least.
    Source: Nissim, Raskhodnikova, Smith (2007); the condition in docs/theory/mechanisms/smooth.md.

    >>> noise = SmoothLaplace.calibrated(epsilon=1, delta="1e-6", bounds=(0, 1000))
    >>> round(noise.standard_deviation(5), 1)  # where the smooth bound is 5
    10.2
    >>> noisy = noise.release([420, 5, 6, 8]).value  # a value, and local sensitivities within 0, 1, 2 changes
    """

    kind: ClassVar[str] = "smooth_laplace"

    epsilon: Annotated[Fraction, positive_rational]
    delta: Annotated[Fraction, probability]

    def __post_init__(self) -> None:
        read_fields(self)
        if self.delta == 0:
            raise InvalidParameterError("delta must be > 0, got 0. For delta = 0 take SmoothStudentT.")
        super().__post_init__()

    def _loss(self) -> PrivacyLoss:
        return ApproximateLoss(self.epsilon, self.delta)

    @classmethod
    def calibrated(cls, *, epsilon: Real, delta: Real, bounds: tuple[int, int]) -> "SmoothLaplace":
        """Return the noise for (epsilon, delta), with beta = epsilon / (2 ln(2 / delta))."""
        target = positive_rational("epsilon", epsilon)
        failed = probability("delta", positive_rational("delta", delta))
        beta = decimal_below(target / Fraction(2 * math.log(2 / float(failed))), 6)
        return cls(epsilon=target, delta=failed, beta=beta, bounds=bounds)

    @cached_property
    def shift(self) -> Fraction:
        epsilon, beta, delta = self.epsilon, self.beta, self.delta

        def logarithm() -> "arb":
            return ball(delta).log() + ball(epsilon + beta) / ball(beta).expm1() - (-ball(-beta).expm1()).log()

        if shift_below(logarithm) == 0:
            return Fraction(0)
        tail = shift_below(lambda: ball(beta).expm1() * logarithm().exp().acosh())
        return min(epsilon, shift_below(lambda: ball(beta).exp() * ball(epsilon - beta)), tail)

    def _law(self) -> rounded.StandardLaplace:
        return rounded.StandardLaplace()

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a statistic that moves by its sensitivity, 6.

        It is a shift of the noise alone, which is not the whole of the loss.
        """
        return cls._moving(cls.calibrated(epsilon=3, delta="1e-3", bounds=(-20, 26)))
