"""Continuous Laplace noise, for accounting of mechanisms of other libraries.

Releases here use the discrete law.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy.notions.renyi import Directions, both_ways
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import LaplaceLaw
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class LaplaceStatement(Statement):
    """Loss of real Laplace noise, in any dimension.

    Args:
        noise_multiplier: the scale of the noise over the l1 sensitivity; a ratio without a unit.

    Guarantee: with e = 1 / noise_multiplier, delta(x) = 1 - exp((x - e) / 2) for x < e, else 0; e-DP. For vectors this
        is the worst case, attained when one coordinate takes all of the change.
    Source: Balle, Barthe, Gaboardi (2018), arXiv:1807.01647; the vector case in docs/theory/privacy/profile.md.

    >>> from deniable.privacy import LaplaceLoss
    >>> print(LaplaceLoss(noise_multiplier=4).epsilon(0).upper)
    0.25
    """

    kind: ClassVar[str] = "laplace"
    noise_multiplier: Annotated[Fraction, positive_rational]
    divergences_are_closed = True

    def __init__(self, noise_multiplier: Real) -> None:
        read_fields(self, noise_multiplier=noise_multiplier)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta in closed form."""
        gap = self.failing_epsilon - epsilon
        if gap <= 0:
            return Interval(0.0, 0.0)
        return certified(lambda: -ball(-gap / 2).expm1())

    def laws(self) -> Pairs:
        """Return the Laplace law."""
        return Pairs.symmetric(LaplaceLaw(float(self.failing_epsilon)))

    def divergences(self, order: Fraction) -> Directions:
        """Return the Rényi divergence in closed form (Mironov 2017).

        It is ln(a/(2a - 1) e^((a-1) e) + (a - 1)/(2a - 1) e^(-a e))/(a - 1); at order 1 e + e^-e - 1.
        """

        def formula() -> Arb:
            a, e = ball(order), ball(self.failing_epsilon)
            if order == 1:
                return e + (-e).expm1()
            return (a / (2 * a - 1) * ((a - 1) * e).exp() + (a - 1) / (2 * a - 1) * (-a * e).exp()).log() / (a - 1)

        return both_ways(certified(formula, within=NONNEGATIVE))

    def grouped(self, units: int) -> Statement:
        """Return the loss with the noise multiplier over the size."""
        return LaplaceStatement(self.noise_multiplier / units)

    @property
    def laplace_epsilon(self) -> Fraction:
        return self.failing_epsilon

    @property
    def failing_epsilon(self) -> Fraction:
        """Epsilon 1 / noise_multiplier."""
        return 1 / self.noise_multiplier
