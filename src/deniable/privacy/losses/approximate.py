"""Loss known by one point of its curve: (epsilon, delta)-differential privacy."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.numbers.interval import INFINITE, PROBABILITIES, Interval
from deniable.numbers.rationals import Real, nonnegative_rational, probability
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.notions.renyi import Directions, both_ways, bounded_divergence
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import randomized_response_law
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class ApproximateStatement(Statement):
    """Loss of any (epsilon, delta)-DP mechanism, known by nothing else.

    Args:
        epsilon: at least 0.
        delta: a probability.

    Guarantee: delta(x) = delta + (1 - delta) (e^epsilon - e^x) / (e^epsilon + 1) for x < epsilon, else delta. Attained
        by the mechanism that shows the data with probability `delta` and answers by randomised response otherwise.
    Source: Kairouz, Oh, Viswanath (2015), arXiv:1311.0776.

    >>> from deniable.privacy import ApproximateLoss
    >>> print(ApproximateLoss(epsilon=1, delta="1e-6").epsilon("1e-6").upper)
    1.0
    """

    kind: ClassVar[str] = "approximate"
    words: ClassVar[Mapping[str, str]] = {"limit": "epsilon", "failed": "delta"}
    limit: Fraction
    failed: Fraction
    mu_squared = None

    def __init__(self, epsilon: Real, delta: Real) -> None:
        read_fields(self, limit=nonnegative_rational("epsilon", epsilon), failed=probability("delta", delta))

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of randomised response, mixed with the failure."""
        return mixed_with_failure(pure_delta(self.limit, epsilon), self.failed)

    def laws(self) -> Pairs:
        """Return the law of randomised response that fails."""
        return Pairs.symmetric(randomized_response_law(float(self.limit), failed=float(self.failed)))

    def divergences(self, order: Fraction) -> Directions:
        """Return the divergences of randomised response; infinite with a failure."""
        return both_ways(INFINITE if self.failed else bounded_divergence(self.limit, order))

    @property
    def response(self) -> tuple[Fraction, Fraction]:
        return self.limit, self.failed

    @property
    def failure(self) -> Fraction:
        return self.failed

    @property
    def infinite_mass(self) -> Fraction:
        return self.failed

    @property
    def failing_epsilon(self) -> Fraction:
        return self.limit


def mixed_with_failure(rest: Interval, failure: Fraction) -> Interval:
    """Return delta of a mechanism that fails with probability `failure`.

    Otherwise its delta lies in `rest`.
    """
    ends = [1 - (1 - failure) * (1 - Fraction(end)) for end in (rest.lower, rest.upper)]
    return Interval(
        max(Interval.around(ends[0]).lower, PROBABILITIES.lower),
        min(Interval.around(ends[1]).upper, PROBABILITIES.upper),
    )
