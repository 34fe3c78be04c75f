"""Discrete Gaussian noise added to integers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from deniable.privacy.concentrated import concentrated_delta
from deniable.privacy.exact import positive_rational
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.profile import ball, certified
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.theta import total, upper_tail

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, init=False)
class DiscreteGaussianLoss(PrivacyLoss):
    """Independent noise P(k) ~ exp(-k^2 / (2 sigma_squared)) on every coordinate of a vector of integers.

    Guarantee: l2^2 / (2 sigma_squared)-zCDP. The curve of one coordinate is summed exactly; it is not that of real
        Gaussian noise and may lie above it. For vectors delta is at most the zCDP conversion, and at most that of one
        coordinate that takes the whole l1 change; it is at least that of one coordinate with the linf change.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010; vector case in docs/theory/profile.md.
    """

    kind: ClassVar[str] = "discrete_gaussian"
    sigma_squared: Fraction
    sensitivity: Sensitivity

    def __init__(self, sigma_squared: object, sensitivity: Sensitivity) -> None:
        object.__setattr__(self, "sigma_squared", positive_rational("sigma_squared", sigma_squared))
        object.__setattr__(self, "sensitivity", checked_sensitivity(sensitivity))

    def __repr__(self) -> str:
        return f"DiscreteGaussianLoss(sigma_squared={str(self.sigma_squared)!r}, sensitivity={self.sensitivity!r})"

    def _delta(self, epsilon: Fraction) -> Interval:
        reach = self.sensitivity.integral()
        upper = shift_delta(self.sigma_squared, int(reach.l1), epsilon)
        if reach.linf == reach.l1:
            return upper
        lower = shift_delta(self.sigma_squared, int(reach.linf), epsilon)
        return Interval(lower.lower, min(upper.upper, concentrated_delta(self.rho, epsilon)))

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({self.sensitivity.relation})

    @property
    def pure_epsilon(self) -> Fraction | None:
        return None if self.sensitivity.integral().l1 else Fraction(0)

    @property
    def rho(self) -> Fraction:
        return self.sensitivity.integral().l2_squared / (2 * self.sigma_squared)

    @property
    def mu_squared(self) -> Fraction | None:
        return None if self.sensitivity.integral().l1 else Fraction(0)


@lru_cache(maxsize=4096)
def shift_delta(sigma_squared: Fraction, shift: int, epsilon: Fraction) -> Interval:
    """delta between one noisy integer and the same moved by `shift` >= 0.

    With S(m) = P(noise >= m): delta = S(m) - e^epsilon S(m + shift), m the least integer above
    epsilon sigma_squared / shift - shift / 2. Error: a few units in the last place, for any sigma.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010.
    """
    if shift == 0:
        return Interval(0.0, 0.0)
    m = math.floor(epsilon * sigma_squared / shift - Fraction(shift, 2)) + 1

    def survival(start: int, whole: "arb") -> "arb":
        if start >= 1:
            return upper_tail(sigma_squared, start) / whole
        return 1 - upper_tail(sigma_squared, 1 - start) / whole

    def formula() -> "arb":
        whole = total(sigma_squared)
        return survival(m, whole) - ball(epsilon).exp() * survival(m + shift, whole)

    return certified(formula)
