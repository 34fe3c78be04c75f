"""Central limit theorem of Gaussian DP: an approximation, never a bound.

Its epsilon may lie below the truth: by 2 to 3 % for ordinary training runs, and its delta may be too small by orders of
magnitude. No function that asks for a bound takes an `Approximation`, and it has no ends to publish.

Its epsilon may lie below the truth: by 2 to 3 % for ordinary training runs, and its delta may be too small by orders of
magnitude. No function that asks for a bound takes an `Approximation`, and it has no ends to publish.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import (
    Real,
    exact_rational,
    nonnegative_rational,
    positive_integer,
    positive_rational,
    probability,
)
from deniable.numbers.roots import inverse
from deniable.privacy.notions.gaussian_dp import gaussian_delta


@dataclass(frozen=True)
class Approximation:
    """Number near the truth, on an unknown side of it; it proves nothing.

    Args:
        approximately: the number.
        of: the quantity: mu, epsilon or delta.
        source: the theorem.
    """

    approximately: float
    of: str
    source: str

    def __float__(self) -> float:
        raise InvalidParameterError(
            f"the {self.of} by {self.source} is an approximation and proves nothing; read `approximately` for a plot, "
            "and the certified interval of the loss for a guarantee"
        )

    def __str__(self) -> str:
        return f"about {self.approximately:.4g} ({self.source}; not a bound)"


_SOURCE = "central limit theorem of Gaussian DP"


def sampled_gaussian_mu(noise_multiplier: Real, *, rate: Real, count: int) -> Approximation:
    """Return the mu towards which many sampled Gaussian steps tend.

    It is rate sqrt(count (e^(1/noise_multiplier^2) - 1)).

    Args:
        noise_multiplier: standard deviation of the noise over the sensitivity, at least 0.05.
        rate: the sampling probability, in (0, 1].
        count: the number of steps.

    Source: Bu, Dong, Long, Su (2020), arXiv:1911.11607; Dong, Roth, Su (2019), arXiv:1905.02383.
    """
    noise = positive_rational("noise_multiplier", noise_multiplier)
    steps = positive_integer("count", count)
    share = exact_rational("rate", rate)
    if not 0 < share <= 1:
        raise InvalidParameterError(f"rate must be in (0, 1], got {rate!r}")
    if noise < Fraction(1, 20):
        raise InvalidParameterError(
            f"noise_multiplier must be >= 0.05 for this approximation, got {noise_multiplier!r}"
        )
    return Approximation(float(share) * math.sqrt(steps * math.expm1(1 / float(noise) ** 2)), "mu", _SOURCE)


def approximate_delta(mu: Approximation, epsilon: Real) -> Approximation:
    """Return the delta at epsilon that this mu would have."""
    delta = gaussian_delta(Fraction(_mu(mu)) ** 2, nonnegative_rational("epsilon", epsilon))
    return Approximation(delta.upper, "delta", mu.source)


def approximate_epsilon(mu: Approximation, delta: Real) -> Approximation:
    """Return the epsilon at delta > 0 that this mu would have."""
    square = Fraction(_mu(mu)) ** 2
    share = probability("delta", delta)
    if share == 0:
        raise InvalidParameterError("delta must be > 0: Gaussian noise has no greatest loss")
    return Approximation(inverse(lambda x: gaussian_delta(square, x), share, limit=None).upper, "epsilon", mu.source)


def _mu(mu: Approximation) -> float:
    """Return the number of an approximation of mu, after a check that it is one."""
    if not isinstance(mu, Approximation) or mu.of != "mu":
        raise InvalidParameterError(f"mu must be the Approximation that sampled_gaussian_mu returns, got {mu!r}")
    return mu.approximately
