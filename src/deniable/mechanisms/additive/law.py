"""Distribution of the noise that a mechanism adds, for statements about errors."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.numbers.balls import certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, exact_rational

if TYPE_CHECKING:
    from deniable.mechanisms.additive.base import AdditiveNoise


@dataclass(frozen=True)
class NoiseLaw:
    """Distribution of the noise of a mechanism, in a unit of the user.

    It is symmetric about 0 and public: it depends on no data. Probabilities are certified.

    Args:
        mechanism: the additive noise.
        step: of the lattice on which the values lie, in the unit of the user.

    >>> from deniable.mechanisms import Laplace
    >>> law = Laplace(scale=2).law()
    >>> f"{law.tail(5):.4f}"                              # the chance of an error above 5
    '[0.0619, 0.0620]'
    >>> law.half_width(0.95)                              # 95% of all errors are within
    6.0
    """

    mechanism: "AdditiveNoise"
    step: Fraction = Fraction(1)

    def pmf(self, x: Real) -> Interval:
        """Return P[noise = x]."""
        steps = exact_rational("x", x) / self.step
        if steps.denominator != 1:
            return Interval(0.0, 0.0)
        return certified(lambda: self.mechanism._mass(abs(int(steps))))

    def cdf(self, x: Real) -> Interval:
        """Return P[noise <= x]."""
        steps = math.floor(exact_rational("x", x) / self.step)
        if steps < 0:  # by symmetry
            return certified(lambda: self.mechanism._above(-steps - 1))
        return certified(lambda: 1 - self.mechanism._above(steps))

    def tail(self, t: Real) -> Interval:
        """Return P[|noise| > t]."""
        steps = math.floor(exact_rational("t", t) / self.step)
        return Interval(1.0, 1.0) if steps < 0 else certified(lambda: 2 * self.mechanism._above(steps))

    def half_width(self, level: float) -> float:
        """Return the smallest h with P[|noise| <= h] >= level, up to one step."""
        return self.mechanism.half_width(level) * float(self.step)

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return quantiles in float64, for error bars only."""
        return self.mechanism.quantile(p) * float(self.step)

    def standard_deviation(self) -> float:
        """Return the standard deviation in float64."""
        return self.mechanism.standard_deviation() * float(self.step)
