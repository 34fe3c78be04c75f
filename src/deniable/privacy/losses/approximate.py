"""(epsilon, delta)-differential privacy known by one point of its curve."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.numbers.interval import PROBABILITIES, Interval
from deniable.numbers.rationals import nonnegative_rational, probability
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import randomized_response_law


@dataclass(frozen=True, init=False)
class ApproximateLoss(PrivacyLoss):
    """Any (limit, failed)-DP mechanism, known by nothing else: `ApproximateLoss(epsilon, delta)`.

    Guarantee: delta(x) = failed + (1 - failed) (e^limit - e^x) / (e^limit + 1) for x < limit, else failed. Attained by
        the mechanism that shows the data with probability `failed` and answers by randomised response otherwise.
    Source: Kairouz, Oh, Viswanath (2015), arXiv:1311.0776.
    """

    kind: ClassVar[str] = "approximate"
    limit: Fraction
    failed: Fraction

    def __init__(self, limit: object, failed: object) -> None:
        object.__setattr__(self, "limit", nonnegative_rational("epsilon", limit))
        object.__setattr__(self, "failed", probability("delta", failed))

    def __repr__(self) -> str:
        return f"ApproximateLoss({str(self.limit)!r}, {str(self.failed)!r})"

    def _delta(self, epsilon: Fraction) -> Interval:
        return mixed_with_failure(pure_delta(self.limit, epsilon), self.failed)

    def laws(self) -> Pairs:
        return Pairs.symmetric(randomized_response_law(float(self.limit), failed=float(self.failed)))

    @property
    def failure(self) -> Fraction:
        return self.failed

    @property
    def infinite_mass(self) -> Fraction:
        return self.failed

    @property
    def failing_epsilon(self) -> Fraction:
        return self.limit

    @property
    def failing_rho(self) -> Fraction:
        return self.limit**2 / 2

    @property
    def mu_squared(self) -> None:
        return None


def mixed_with_failure(rest: Interval, failure: Fraction) -> Interval:
    """delta of a mechanism that fails with probability `failure` and has delta in `rest` otherwise."""
    ends = [1 - (1 - failure) * (1 - Fraction(end)) for end in (rest.lower, rest.upper)]
    return Interval(
        max(Interval.around(ends[0]).lower, PROBABILITIES.lower),
        min(Interval.around(ends[1]).upper, PROBABILITIES.upper),
    )
