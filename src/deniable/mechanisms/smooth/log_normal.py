"""Smooth sensitivity with concentrated privacy: Laplace noise of log-normal scale."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import SmoothNoise, shift_below
from deniable.noise import rounded
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, decimal_below, positive_rational, shown
from deniable.privacy import ConcentratedLoss, PrivacyLoss

if TYPE_CHECKING:
    from flint import arb

_MOST_DILATION = Fraction(828, 1000)  # below 2 (sqrt 2 - 1)
_MOST_MOVED = Fraction(2412, 1000)  # below 1 + sqrt 2
_RHOS = (Fraction(1, 2**40), Fraction(2**40))


@dataclass(frozen=True, kw_only=True)
class SmoothLogNormal(SmoothNoise):
    """Add noise X exp(spread Y) of scale S / shift, X Laplace and Y normal.

    S is a beta-smooth bound of the sensitivity.

    Args:
        rho: of the guarantee.
        spread: of the logarithm of the scale.
        beta: of the smooth bound.
        bounds: public (lower, upper) of the statistic, whole numbers of lattice steps.

    Guarantee: rho-zCDP with 2 rho = (beta / spread)^2 + (shift e^(3 spread^2 / 2))^2, where beta <= 0.828 spread^2 and
        shift e^(3 spread^2 / 2) <= 2.412; elsewhere sqrt(2 rho) = beta / spread + shift e^(3 spread^2 / 2).
    Source: Bun, Steinke (2019), arXiv:1906.02830; proof in docs/theory/mechanisms/smooth.md.

    >>> noise = SmoothLogNormal.calibrated(rho="1/2", bounds=(0, 1000))
    >>> round(noise.standard_deviation(5), 1)  # where the smooth bound is 5
    10.0
    """

    kind: ClassVar[str] = "smooth_log_normal"

    rho: Annotated[Fraction, positive_rational]
    spread: Annotated[Fraction, positive_rational]

    @classmethod
    def calibrated(cls, *, rho: Real, bounds: tuple[int, int], beta: object = None) -> "SmoothLogNormal":
        """Return the noise with the least variance for rho.

        beta is a tenth of sqrt(2 rho) unless it is given.
        """
        target = positive_rational("rho", rho)
        if not _RHOS[0] <= target <= _RHOS[1]:
            raise InvalidParameterError(f"rho must be in [2^-40, 2^40], got {shown(target)}")
        epsilon = float(2 * target) ** 0.5
        smooth = decimal_below(Fraction(epsilon / 10), 6) if beta is None else positive_rational("beta", beta)
        if smooth > 2**40:
            raise InvalidParameterError(f"beta must be at most 2^40, got {shown(smooth)}")
        noises = [
            cls(rho=target, spread=decimal_below(Fraction(spread), 6), beta=smooth, bounds=bounds)
            for spread in spreads(float(smooth), epsilon)
        ]
        return min(noises, key=lambda noise: math.exp(2 * float(noise.spread) ** 2) / float(noise.shift) ** 2)

    @cached_property
    def shift(self) -> Fraction:
        dilation = self.beta / self.spread
        moved = 2 * self.rho - dilation**2
        apart = self.beta <= _MOST_DILATION * self.spread**2 and 0 < moved <= _MOST_MOVED**2

        def formula() -> "arb":
            scaled_shift = ball(moved).sqrt() if apart else ball(2 * self.rho).sqrt() - ball(dilation)
            return (-ball(3 * self.spread**2 / 2)).exp() * scaled_shift

        return shift_below(formula)

    def _law(self) -> rounded.LaplaceLogNormal:
        return rounded.LaplaceLogNormal(self.spread)

    def _loss(self) -> PrivacyLoss:
        return ConcentratedLoss(self.rho)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a statistic that moves by its sensitivity, 6.

        It is a shift of the noise alone, which is not the whole of the loss.
        """
        return cls._moving(cls.calibrated(rho=4, bounds=(-20, 26)))


def spreads(beta: float, epsilon: float) -> list[float]:
    """Return spreads with the least variance, for epsilon = sqrt(2 rho).

    One for either condition.

    The root of 5 q^3 - share (5 q^2 + 1), share = beta / epsilon, where losses are added. Where their squares are, the
    root of 5 q^4 - share^2 (5 q^2 + 1), or the least spread of the condition if that is larger.
    """
    share = beta / epsilon
    roots = np.roots([5.0, -5.0 * share, 0.0, -share])
    added = float(roots[np.abs(roots.imag) < 1e-9].real.max())
    squared = math.sqrt(max(share**2 / 2 + math.sqrt(share**4 / 4 + share**2 / 5), beta / float(_MOST_DILATION)))
    squared += 1e-5 * squared  # which is rounded down
    return [added, squared] if share < squared and epsilon <= _MOST_MOVED else [added]
