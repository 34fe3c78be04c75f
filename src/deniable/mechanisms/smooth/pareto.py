"""Smooth sensitivity with pure differential privacy: noise of the Pareto kind.

It is near Laplace noise, with tails no heavier than they must be.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import PureSmoothNoise, shift_below
from deniable.noise import rounded
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, positive_rational


@dataclass(frozen=True, kw_only=True)
class SmoothPareto(PureSmoothNoise):
    """Add noise of scale S / shift with density ~ (1 + |z| / g)^-g.

    g is 1 + epsilon / beta.

    S is a beta-smooth bound of the sensitivity. The tails fall as |z|^-g, as slowly as beta asks for; as beta goes
    to 0 this is Laplace noise of scale S / epsilon. Take it with a small beta where the bound hardly depends on beta.

    Args:
        epsilon: of the guarantee.
        beta: of the smooth bound.
        bounds: public (lower, upper) of the statistic, whole numbers of lattice steps.

    Guarantee: epsilon-DP with shift the lesser of g (e^(epsilon / g) - 1) and e^beta g (e^((epsilon - beta) / g) - 1);
        exact.
    Source: docs/theory/mechanisms/smooth.md; compare the PolyPlace noise of Hladík, Tětek (2025), arXiv:2407.05067.

    >>> noise = SmoothPareto.calibrated(epsilon=1, bounds=(0, 1000))
    >>> round(noise.standard_deviation(5), 1)  # where the smooth bound is 5
    13.9
    """

    kind: ClassVar[str] = "smooth_pareto"

    @classmethod
    def calibrated(cls, *, epsilon: Real, bounds: tuple[int, int], beta: object = None) -> "SmoothPareto":
        """Return the noise for epsilon, with beta = epsilon / 4 unless it is given.

        Its tails fall as |z|^-5 then.
        """
        target = positive_rational("epsilon", epsilon)
        smooth = target / 4 if beta is None else positive_rational("beta", beta)
        return cls(epsilon=target, beta=smooth, bounds=bounds)

    @property
    def tail(self) -> Fraction:
        """Exponent of the tail: P(|noise| > z) falls as z^-tail.

        Moments below it exist.
        """
        return self.epsilon / self.beta

    def _shift_at(self, b: Fraction) -> Fraction:
        g = self.tail + 1
        return shift_below(lambda: ball(b).exp() * ball(g) * ball((self.epsilon - b) / g).expm1())

    def _law(self) -> rounded.Pareto:
        return rounded.Pareto(self.tail)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a statistic that moves by its sensitivity, 6.

        Rounding hides the point at which the loss is attained.
        """
        return cls._moving(cls.calibrated(epsilon=3, bounds=(-20, 26)))
