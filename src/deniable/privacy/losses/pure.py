"""Loss known by its greatest value: pure differential privacy."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from deniable.arguments import read_fields
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, nonnegative_rational
from deniable.privacy.notions.renyi import Directions, both_ways, bounded_divergence
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import randomized_response_law
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class PureStatement(Statement):
    """Loss of any mechanism whose privacy loss is bounded, known by nothing else.

    Args:
        epsilon: the greatest loss, at least 0.

    Guarantee: delta(x) = (e^epsilon - e^x) / (e^epsilon + 1) for x < epsilon, attained by randomised response, else 0;
        epsilon^2/2-zCDP; mu-GDP with mu = 2 Phi^-1(e^epsilon / (1 + e^epsilon)).
    Source: Kairouz, Oh, Viswanath (2015), arXiv:1311.0776; Bun, Steinke (2016), arXiv:1605.02065; proofs in
        docs/theory/privacy/profile.md.

    >>> from deniable.privacy import PureLoss
    >>> print(f"{(PureLoss('0.1') * 100).epsilon('1e-6').upper:.2f}")
    4.77
    """

    kind: ClassVar[str] = "pure"
    words: ClassVar[Mapping[str, str]] = {"limit": "epsilon"}
    limit: Fraction
    divergences_are_closed = True

    def __init__(self, epsilon: Real) -> None:
        read_fields(self, limit=nonnegative_rational("epsilon", epsilon))

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of randomised response at `epsilon`."""
        return pure_delta(self.limit, epsilon)

    def laws(self) -> Pairs:
        """Return the law of randomised response."""
        return Pairs.symmetric(randomized_response_law(float(self.limit)))

    def divergences(self, order: Fraction) -> Directions:
        """Return the divergences of randomised response."""
        return both_ways(bounded_divergence(self.limit, order))

    @property
    def response(self) -> tuple[Fraction, Fraction]:
        return self.limit, Fraction(0)

    @property
    def failing_epsilon(self) -> Fraction:
        """Epsilon as given."""
        return self.limit


def pure_delta(limit: Fraction, epsilon: Fraction) -> Interval:
    """Return delta of randomised response, the worst of all `limit`-DP mechanisms."""
    if epsilon >= limit:
        return Interval(0.0, 0.0)
    return certified(lambda: -ball(epsilon - limit).expm1() / (1 + ball(-limit).exp()))


@lru_cache(maxsize=4096)
def randomized_responses_delta(limit: Fraction, failed: Fraction, count: int, epsilon: Fraction) -> Interval:
    """Return delta of `count` equal (limit, failed)-DP mechanisms, in the worst case.

    With j of n responses of loss +limit, the loss is (2 j - n) limit. The best event is j >= m, m the least integer
    with (2 m - n) limit > epsilon, so delta = I(p) - e^epsilon I(1 - p) with p = 1 / (1 + e^-limit) and I the
    regularised incomplete beta function of parameters (m, n - m + 1), which is a binomial tail. With failures it is
    1 - (1 - failed)^n (1 - delta).
    Source: Kairouz, Oh, Viswanath (2015), arXiv:1311.0776.
    """
    threshold = math.floor((epsilon / limit + count) / 2) + 1 if limit else count + 1

    def formula() -> Arb:
        survival = (1 - ball(failed)) ** count
        if threshold > count:
            return 1 - survival
        p = 1 / (1 + ball(-limit).exp())
        high = p.beta_lower(threshold, count - threshold + 1, 1)
        low = (1 - p).beta_lower(threshold, count - threshold + 1, 1)
        return 1 - survival * (1 - (high - ball(epsilon).exp() * low))

    return certified(formula)
