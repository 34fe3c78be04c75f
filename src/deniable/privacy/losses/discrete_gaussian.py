"""Discrete Gaussian noise added to integers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from deniable.privacy.currencies.concentrated import concentrated_delta
from deniable.privacy.currencies.gaussian_dp import DIGITS, gaussian_delta
from deniable.privacy.exact import decimal_above, positive_rational
from deniable.privacy.interval import Interval
from deniable.privacy.loss import PrivacyLoss
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import DiscreteGaussianLaw, NormalLaw, randomized_response_law
from deniable.privacy.profile import ball, certified
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.theta import total, upper_tail

if TYPE_CHECKING:
    from flint import arb

_LARGEST_TABLE = 10**8  # sigma^2 of a law that is tabulated
_LARGEST_SHIFT = 10**6


@dataclass(frozen=True, init=False)
class DiscreteGaussianLoss(PrivacyLoss):
    """Independent noise P(k) ~ exp(-k^2 / (2 sigma_squared)) on every coordinate of a vector of integers.

    Guarantee: l2^2 / (2 sigma_squared)-zCDP, and mu-GDP with mu a little above l2 / sigma. The curve of one coordinate
        is summed exactly; it is not that of real Gaussian noise and may lie above it. For vectors delta is at most each
        of: the conversion from rho, the curve of mu, the curve of one coordinate that takes the whole l1 change; it is
        at least that of one coordinate with the linf change.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010; mu and the vector case in docs/theory/profile.md.
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
        bounds = [upper.upper, concentrated_delta(self.rho, epsilon)]
        if self.mu_squared is not None:
            bounds.append(gaussian_delta(self.mu_squared, epsilon).upper)
        return Interval(lower.lower, min(bounds))

    def laws(self) -> Pairs | None:
        """None above sigma = 10,000, where the table would be large and mu says nearly all."""
        reach = self.sensitivity.integral()
        if reach.l1 == 0:
            return Pairs.symmetric(randomized_response_law(0.0))
        if self.sigma_squared > _LARGEST_TABLE or reach.l1 > _LARGEST_SHIFT:
            return None
        lower = shift_law(self.sigma_squared, int(reach.linf))
        if reach.linf == reach.l1:
            return Pairs.symmetric(lower)
        mu_squared = self.mu_squared
        if mu_squared is not None and mu_squared < reach.l1**2 / self.sigma_squared:
            return Pairs.symmetric(NormalLaw(math.sqrt(mu_squared)), lower)
        return Pairs.symmetric(shift_law(self.sigma_squared, int(reach.l1)), lower)

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
        moved = self.sensitivity.integral().l2_squared
        step = mu_squared_of_step(self.sigma_squared) if moved else Fraction(0)
        return None if step is None else step * moved


@lru_cache(maxsize=64)
def shift_law(sigma_squared: Fraction, shift: int) -> DiscreteGaussianLaw:
    """The law of the loss between one noisy integer and the same moved by `shift` >= 1."""
    whole = certified(lambda: total(sigma_squared), within=Interval(0.0, math.inf))
    return DiscreteGaussianLaw(float(sigma_squared), whole.upper, shift)


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


@lru_cache(maxsize=1024)
def mu_squared_of_step(sigma_squared: Fraction) -> Fraction | None:
    """A rational mu^2 for which one noisy integer and the same moved by 1 are mu-GDP; a move by d then has d^2 mu^2.

    Guarantee: for any share s of sigma_squared, mu = 1/sqrt(sigma_squared - s) + sqrt(2 pi) ln((1 + h)/(1 - h)), where
        h = 2 q/(1 - q) < 1 and q = exp(-2 pi^2 s). The best share is searched in floats, the value is certified.
        None below sigma_squared = 0.1, where this says nothing useful.
    Error: above 1/sigma_squared by a factor of 1.49 at sigma_squared = 1, 1.021 at 30, 1.0009 at 1000, then ever less.
    Source: docs/theory/profile.md (a real Gaussian, rounded at random, is a discrete one).
    """
    if 10 * sigma_squared < 1:
        return None
    share = Fraction(_best_share(float(min(sigma_squared, Fraction(10**30)))))

    def formula() -> "arb":
        from flint import arb

        q = (-2 * arb.pi() ** 2 * ball(share)).exp()
        ripple = 2 * q / (1 - q)
        step = 1 / ball(sigma_squared - share).sqrt() + (2 * arb.pi()).sqrt() * ((1 + ripple) / (1 - ripple)).log()
        return step**2

    return decimal_above(Fraction(certified(formula, within=Interval(0.0, math.inf)).upper), DIGITS)


def _best_share(sigma_squared: float) -> float:
    """A share with a small mu, on a grid of 3%."""

    def step(share: float) -> float:
        q = math.exp(-2 * math.pi**2 * share)
        return 1 / math.sqrt(sigma_squared - share) + math.sqrt(2 * math.pi) * (math.log1p(q) - math.log1p(-3 * q))

    shares = [0.06 * 1.03**power for power in range(170)]
    return min((share for share in shares if share < sigma_squared), key=step)
