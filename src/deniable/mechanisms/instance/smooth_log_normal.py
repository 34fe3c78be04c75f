"""Smooth sensitivity with concentrated differential privacy: Laplace noise of a log-normal scale."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.instance.smooth import SmoothNoise, shift_below
from deniable.noise import rounded
from deniable.privacy import ConcentratedLoss
from deniable.privacy.exact import decimal_below, positive_rational, shown
from deniable.privacy.profile import ball

_RHOS = (Fraction(1, 2**40), Fraction(2**40))


@dataclass(frozen=True, kw_only=True)
class SmoothLogNormal(SmoothNoise):
    """Add noise X exp(spread Y), X Laplace and Y normal, of scale S / shift, S a beta-smooth bound of the sensitivity.

    Guarantee: rho-zCDP with sqrt(2 rho) = beta / spread + shift e^(3 spread^2 / 2).
    Source: Bun, Steinke (2019), arXiv:1906.02830; proof in docs/theory/smooth_sensitivity.md.
    """

    kind: ClassVar[str] = "smooth_log_normal"
    guarantee: ClassVar[str] = "rho-zCDP, sqrt(2 rho) = beta / spread + shift e^(3 spread^2 / 2)"
    source: ClassVar[str] = "Bun, Steinke (2019)"

    rho: Fraction
    spread: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", positive_rational("rho", self.rho))
        object.__setattr__(self, "spread", positive_rational("spread", self.spread))
        super().__post_init__()

    @classmethod
    def calibrated(cls, *, rho: object, lower: int, upper: int, beta: object = None) -> "SmoothLogNormal":
        """The spread with the least variance for rho; beta is a tenth of sqrt(2 rho) unless it is given."""
        target = positive_rational("rho", rho)
        if not _RHOS[0] <= target <= _RHOS[1]:
            raise InvalidParameterError(f"rho must be in [2^-40, 2^40], got {shown(target)}")
        epsilon = float(2 * target) ** 0.5
        smooth = decimal_below(Fraction(epsilon / 10), 6) if beta is None else positive_rational("beta", beta)
        if smooth > 2**40:
            raise InvalidParameterError(f"beta must be at most 2^40, got {shown(smooth)}")
        spread = decimal_below(Fraction(best_spread(float(smooth) / epsilon)), 6)
        return cls(rho=target, spread=spread, beta=smooth, lower=lower, upper=upper)

    @cached_property
    def shift(self) -> Fraction:
        return shift_below(
            lambda: (-ball(3 * self.spread**2 / 2)).exp() * (ball(2 * self.rho).sqrt() - ball(self.beta / self.spread))
        )

    def _law(self) -> rounded.LaplaceLogNormal:
        return rounded.LaplaceLogNormal(self.spread)

    def _loss(self) -> ConcentratedLoss:
        return ConcentratedLoss(self.rho)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A statistic that moves by its sensitivity, 6: a shift of the noise alone, which is not the whole of it."""
        return cls._moving(cls.calibrated(rho=4, lower=-20, upper=26))


def best_spread(share: float) -> float:
    """The root of 5 q^3 - share (5 q^2 + 1), which minimises the variance; share = beta / sqrt(2 rho)."""
    roots = np.roots([5.0, -5.0 * share, 0.0, -share])
    return float(roots[np.abs(roots.imag) < 1e-9].real.max())
