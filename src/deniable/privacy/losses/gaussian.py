"""Continuous Gaussian noise, for accounting of mechanisms of other libraries.

Releases here use the discrete law.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.notions.renyi import Directions, both_ways
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class GaussianStatement(Statement):
    """Loss of real Gaussian noise, in any dimension.

    Args:
        noise_multiplier: the standard deviation of the noise over the l2 sensitivity; a ratio without a unit.

    Guarantee: mu-GDP with mu = 1 / noise_multiplier, exactly; mu^2/2-zCDP.
    Source: Balle, Wang (2018), arXiv:1805.06530; Dong, Roth, Su (2019), arXiv:1905.02383; Bun, Steinke (2016),
        arXiv:1605.02065.

    >>> from deniable.privacy import GaussianLoss
    >>> print(f"{GaussianLoss(noise_multiplier=1).epsilon('1e-6').upper:.2f}")
    4.89
    """

    kind: ClassVar[str] = "gaussian"
    noise_multiplier: Annotated[Fraction, positive_rational]

    def __init__(self, noise_multiplier: Real) -> None:
        read_fields(self, noise_multiplier=noise_multiplier)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by GDP, exactly."""
        return gaussian_delta(self.mu_squared, epsilon)

    def laws(self) -> Pairs:
        """Return the normal law."""
        return Pairs.symmetric(NormalLaw(math.sqrt(self.mu_squared)))

    def divergences(self, order: Fraction) -> Directions:
        """Return order mu^2 / 2, exactly."""
        return both_ways(Interval.around(order * self.mu_squared / 2))

    def grouped(self, units: int) -> Statement:
        """Return the loss with the noise multiplier over the size."""
        return GaussianStatement(self.noise_multiplier / units)

    @property
    def normal_mu_squared(self) -> Fraction:
        return self.mu_squared

    @property
    def mu_squared(self) -> Fraction:
        """Value of mu^2: 1 / noise_multiplier^2, exactly."""
        return 1 / self.noise_multiplier**2
