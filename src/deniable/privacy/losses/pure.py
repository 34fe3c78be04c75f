"""Pure differential privacy: any mechanism with a bounded loss."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.privacy.exact import nonnegative_rational
from deniable.privacy.gaussian_dp import mu_squared_of_pure
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.profile import ball, certified


@dataclass(frozen=True, init=False)
class PureLoss(PrivacyLoss):
    """Any mechanism whose privacy loss is at most `limit`, known by nothing else: `PureLoss(epsilon)`.

    Guarantee: delta(x) = (e^limit - e^x) / (e^limit + 1) for x < limit, attained by randomised response, else 0;
        limit^2/2-zCDP; mu-GDP with mu = 2 Phi^-1(e^limit / (1 + e^limit)).
    Source: Kairouz, Oh, Viswanath (2015), arXiv:1311.0776; Bun, Steinke (2016), arXiv:1605.02065; proofs in
        docs/theory/profile.md.
    """

    kind: ClassVar[str] = "pure"
    limit: Fraction

    def __init__(self, limit: object) -> None:
        object.__setattr__(self, "limit", nonnegative_rational("epsilon", limit))

    def __repr__(self) -> str:
        return f"PureLoss({str(self.limit)!r})"

    def _delta(self, epsilon: Fraction) -> Interval:
        return pure_delta(self.limit, epsilon)

    @property
    def pure_epsilon(self) -> Fraction:
        return self.limit

    @property
    def rho(self) -> Fraction:
        return self.limit**2 / 2

    @property
    def mu_squared(self) -> Fraction:
        return mu_squared_of_pure(self.limit)


def pure_delta(limit: Fraction, epsilon: Fraction) -> Interval:
    """delta at `epsilon` of randomised response with epsilon `limit`, the worst of all `limit`-DP mechanisms."""
    if epsilon >= limit:
        return Interval(0.0, 0.0)
    return certified(lambda: -ball(epsilon - limit).expm1() / (1 + ball(-limit).exp()))
