"""Loss known by its rho: zero-concentrated differential privacy."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.numbers.interval import INFINITE, Interval, round_down, round_up
from deniable.numbers.rationals import Real, nonnegative_rational, probability
from deniable.privacy.losses.approximate import mixed_with_failure
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.notions.concentrated import concentrated_delta
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.notions.renyi import Directions, both_ways, bounded_divergence
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class ConcentratedStatement(Statement):
    """Loss of any rho-zCDP mechanism, known by nothing else.

    Args:
        rho: at least 0.
        shift: the divergence of each order is at most shift + rho order: (shift, rho)-zCDP.
        delta: all of it holds but for a part of this probability: delta-approximate zCDP.

    Guarantee: delta at most the conversion of Canonne, Kamath, Steinke at epsilon - shift, mixed with the failure, and
        at least that of the Gaussian mechanism with mu^2 = 2 rho, which is one of them.
    Source: Bun, Steinke (2016), arXiv:1605.02065; Canonne, Kamath, Steinke (2020), arXiv:2004.00010.

    >>> from deniable.privacy import ConcentratedLoss
    >>> print(f"{ConcentratedLoss(rho='0.5').epsilon('1e-6').upper:.2f}")
    5.22
    """

    kind: ClassVar[str] = "concentrated"
    words: ClassVar[Mapping[str, str]] = {"limit": "rho", "failed": "delta"}
    limit: Fraction
    shift: Annotated[Fraction, nonnegative_rational]
    failed: Fraction
    mu_squared = None

    def __init__(self, rho: Real, shift: Real = 0, delta: Real = 0) -> None:
        read_fields(self, limit=nonnegative_rational("rho", rho), shift=shift, failed=probability("delta", delta))

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta by the conversion above, and Gaussian noise below."""
        lower = gaussian_delta(2 * self.limit, epsilon).lower
        upper = 1.0 if epsilon < self.shift else concentrated_delta(self.limit, epsilon - self.shift)
        if self.failing_epsilon is not None:
            upper = min(upper, pure_delta(self.failing_epsilon, epsilon).upper)
        return mixed_with_failure(Interval(min(lower, upper), upper), self.failed)

    def divergences(self, order: Fraction) -> Directions:
        """Return shift + rho order; attained by Gaussian noise without a shift."""
        if self.failed:
            return both_ways(INFINITE)
        upper = round_up(self.shift + order * self.limit)
        if not self.limit:
            upper = bounded_divergence(self.shift, order).upper
        return both_ways(Interval(min(round_down(order * self.limit), upper), upper))

    def grouped(self, units: int) -> Statement | None:
        return ConcentratedStatement(self.limit * units**2) if self.shift == self.failed == 0 else None

    @property
    def failure(self) -> Fraction:
        return self.failed

    @property
    def infinite_mass(self) -> Fraction:
        return self.failed

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Bound on the loss: with rho = 0 all orders are bounded by the shift."""
        return None if self.limit else self.shift

    @property
    def failing_rho(self) -> Fraction | None:
        """Rho as given; with a shift only where rho is 0."""
        if self.shift == 0:
            return self.limit
        return None if self.limit else self.shift**2 / 2
