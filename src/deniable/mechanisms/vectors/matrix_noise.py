"""Bounds on sums of the entries of a matrix with independent noise in every entry.

Proofs: docs/theory/statistics/vectors.md, "Intervals". Chances are bounds, for the discrete laws that are drawn.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from deniable.mechanisms import Gaussian
from deniable.mechanisms.additive.base import AdditiveNoise

_MIN_DEVIATION = 1e-6  # steps


@dataclass(frozen=True)
class MatrixNoise:
    """Noise of one law in every entry of a square matrix, averaged with its transpose.

    Args:
        mechanism: Laplace or Gaussian noise.
        columns: of the matrix.
    """

    mechanism: AdditiveNoise
    columns: int

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise in one entry, before it is averaged."""
        return deviation_of(self.mechanism)

    def of_sum(self, chance: float) -> float:
        """Bound a linear combination of noisy entries, in standard deviations.

        It is exceeded with at most this chance. Discrete noise is within one step of a continuous one. The weights of a
        combination of m entries add up to at most sqrt(m) times their norm, and deviations of the two laws differ by
        less than a step.
        """
        continuous = _gaussian(chance) if isinstance(self.mechanism, Gaussian) else _laplace(chance)
        return continuous + (self.columns + continuous) / self.deviation


def deviation_of(mechanism: AdditiveNoise) -> float:
    """Return the standard deviation of the noise in steps, at least 10^-6 of a step.

    It can be divided by.
    """
    return max(mechanism.standard_deviation(), _MIN_DEVIATION)


def _gaussian(chance: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(chance / 2))


@lru_cache(maxsize=64)
def _laplace(chance: float) -> float:
    """Bound any combination of Laplace variables, from one to infinitely many.

    It is Gaussian with a random variance V = sum p_i E_i, where p_i >= 0 sum to 1 and E_i are standard exponential.
    With f(v) the chance that a Gaussian of variance v exceeds t, and g >= f convex, E f(V) <= E g(V) <= E g(E_1).
    f is convex up to t^2 / 3 and concave beyond, so g follows its tangent from there.
    """
    from scipy.integrate import quad
    from scipy.optimize import brentq
    from scipy.special import erfc

    root = math.sqrt(3.0)
    beyond = math.erfc(root / math.sqrt(2))
    slope = 3 * root * math.exp(-1.5) / math.sqrt(2 * math.pi)

    def excess(t: float) -> float:
        turn = t * t / 3
        below = quad(lambda v: erfc(t / math.sqrt(2 * v)) * math.exp(-v), 0.0, turn, epsabs=0, epsrel=1e-9)[0]
        return float(below + math.exp(-turn) * (beyond + slope / t**2)) - chance

    return float(brentq(excess, 0.1, 10 - 2 * math.log(chance), xtol=1e-9))
