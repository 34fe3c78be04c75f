"""Zero-concentrated differential privacy: a loss known by its rho."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from deniable.privacy.concentrated import concentrated_delta
from deniable.privacy.exact import nonnegative_rational
from deniable.privacy.gaussian_dp import gaussian_delta
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss


@dataclass(frozen=True, init=False)
class ConcentratedLoss(PrivacyLoss):
    """Any rho-zCDP mechanism, known by nothing else: `ConcentratedLoss(rho)`.

    Guarantee: delta at most the conversion of Canonne, Kamath, Steinke, and at least that of the Gaussian mechanism
        with mu^2 = 2 rho, which is one of them.
    Source: Bun, Steinke (2016), arXiv:1605.02065; Canonne, Kamath, Steinke (2020), arXiv:2004.00010.
    """

    kind: ClassVar[str] = "concentrated"
    limit: Fraction

    def __init__(self, limit: object) -> None:
        object.__setattr__(self, "limit", nonnegative_rational("rho", limit))

    def __repr__(self) -> str:
        return f"ConcentratedLoss({str(self.limit)!r})"

    def _delta(self, epsilon: Fraction) -> Interval:
        return Interval(gaussian_delta(2 * self.limit, epsilon).lower, concentrated_delta(self.limit, epsilon))

    @property
    def pure_epsilon(self) -> Fraction | None:
        return None if self.limit else Fraction(0)

    @property
    def rho(self) -> Fraction:
        return self.limit

    @property
    def mu_squared(self) -> None:
        return None
