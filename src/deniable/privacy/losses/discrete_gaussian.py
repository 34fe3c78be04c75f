"""Discrete Gaussian noise added to integers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval, round_down, round_up
from deniable.numbers.rationals import Real, decimal_above, positive_rational
from deniable.numbers.theta import total, upper_tail
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.losses.integer_noise import (
    Change,
    IntegerNoiseStatement,
    extreme_changes,
    squares_of,
    sum_of,
)
from deniable.privacy.notions.concentrated import concentrated_delta
from deniable.privacy.notions.gaussian_dp import DIGITS, gaussian_delta
from deniable.privacy.notions.renyi import Directions, both_ways
from deniable.privacy.pld.law import Pairs
from deniable.privacy.pld.laws import DiscreteGaussianLaw, NormalLaw
from deniable.privacy.sensitivity import Sensitivity

_LARGEST_TABLE = 10**8  # sigma^2 of a law that is tabulated
_LARGEST_SHIFT = 10**6  # of a law that is tabulated


@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussianStatement(IntegerNoiseStatement):
    """Loss of discrete Gaussian noise on every coordinate of a vector of integers.

    The noise is P(k) ~ exp(-k^2 / (2 sigma_squared)), independent.

    Args:
        sigma_squared: about the variance of the noise, in squared lattice steps.
        sensitivity: of the vector, in lattice steps.

    Guarantee: l2^2 / (2 sigma_squared)-zCDP, and mu-GDP with mu a little above l2 / sigma. The curve of one coordinate
        is summed exactly; it is not that of real Gaussian noise and may lie above it. For vectors it is that of the
        most unequal change that l1, linf and the number of coordinates admit: exact unless l2 forbids that change, and
        then at most the conversion from rho and the curve of mu.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010; mu and the vector case in docs/theory/privacy/profile.md.

    >>> from deniable.privacy import AddRemove, DiscreteGaussianLoss, of_count
    >>> loss = DiscreteGaussianLoss(25, of_count(rows=1, groups=1, relation=AddRemove))
    >>> print(f"{loss.epsilon('1e-6').upper:.3f}")
    0.835
    """

    kind: ClassVar[str] = "discrete_gaussian"
    sigma_squared: Annotated[Fraction, positive_rational]
    sensitivity: Sensitivity

    def __init__(self, sigma_squared: Real, sensitivity: Sensitivity) -> None:
        read_fields(self, sigma_squared=sigma_squared, sensitivity=checked_sensitivity(sensitivity))

    def _with(self, sensitivity: Sensitivity) -> "DiscreteGaussianStatement":
        """Return the loss of this noise at another sensitivity."""
        return DiscreteGaussianStatement(self.sigma_squared, sensitivity)

    def _law(self, shift: int) -> DiscreteGaussianLaw | None:
        """Return the law of one moved integer; None above sigma = 10,000.

        There the table would be large and mu says nearly all.
        """
        tabulated = self.sigma_squared <= _LARGEST_TABLE and shift <= _LARGEST_SHIFT
        return shift_law(self.sigma_squared, shift) if tabulated else None

    def _divergence(self, shift: int, order: Fraction) -> Interval:
        return shifted_divergence(self.sigma_squared, shift, order)

    def divergences(self, order: Fraction) -> Directions:
        """Return divergences, at most order l2^2 / (2 sigma^2).

        For vectors too (Canonne, Kamath, Steinke 2020).
        """
        divergence = super().divergences(order)[0]
        upper = min(divergence.upper, round_up(order * self.failing_rho))
        return both_ways(Interval(min(divergence.lower, upper), upper))

    def closed_delta(self, epsilon: Fraction) -> Interval:
        """Return delta, with real Gaussian noise and one coordinate from below.

        The one coordinate has the largest change.
        """
        if self._is_single:
            return shift_delta(self.sigma_squared, sum_of(extreme_changes(self.sensitivity).worst), epsilon)
        attained = extreme_changes(self.sensitivity).attained
        single = shift_delta(self.sigma_squared, attained[0][0], epsilon).lower
        lower = max(single, attained_at_least(self.sigma_squared, attained, epsilon))
        return Interval(lower, max(lower, self.bound(epsilon)))

    def least_delta_of_runs(self, count: int, epsilon: Fraction) -> float:
        """Return a lower bound on delta of `count` runs together.

        Runs with equal changes are one run on `count` times as many coordinates.
        """
        attained = tuple((size, times * count) for size, times in extreme_changes(self.sensitivity).attained)
        together = attained_at_least(self.sigma_squared, attained, epsilon) if attained else 0.0
        return max(super().least_delta_of_runs(count, epsilon), together)

    def bound(self, epsilon: Fraction) -> float:
        """Return an upper bound on delta by closed forms alone.

        By rho, by mu, and by one coordinate with the whole l1 change.
        """
        bounds = [shift_delta(self.sigma_squared, sum_of(extreme_changes(self.sensitivity).worst), epsilon).upper]
        if not self._is_single:
            bounds.append(concentrated_delta(self.failing_rho, epsilon))
            if self.mu_squared is not None:
                bounds.append(gaussian_delta(self.mu_squared, epsilon).upper)
        return min(bounds)

    def _dominating(self, worst: Change) -> Pairs:
        """Return a normal pair where mu knows more: the worst change exceeds l2."""
        mu_squared = self.mu_squared
        if mu_squared is not None and mu_squared * self.sigma_squared < squares_of(worst):
            return Pairs.symmetric(NormalLaw(math.sqrt(mu_squared)))
        return super()._dominating(worst)

    @property
    def failing_epsilon(self) -> Fraction | None:
        """Epsilon 0 where nothing changes; otherwise the loss is unbounded."""
        return None if self.sensitivity.integral().l1 else Fraction(0)

    @property
    def failing_rho(self) -> Fraction:
        """Rho l2^2 / (2 sigma_squared)."""
        return self.sensitivity.integral().l2_squared / (2 * self.sigma_squared)

    @property
    def mu_squared(self) -> Fraction | None:
        """Value of mu^2 of one step times l2^2."""
        moved = self.sensitivity.integral().l2_squared
        step = mu_squared_of_step(self.sigma_squared) if moved else Fraction(0)
        return None if step is None else step * moved


@lru_cache(maxsize=64)
def shift_law(sigma_squared: Fraction, shift: int) -> DiscreteGaussianLaw:
    """Return the law of the loss of one noisy integer moved by `shift` >= 1."""
    whole = certified(lambda: total(sigma_squared), within=NONNEGATIVE)
    return DiscreteGaussianLaw(float(sigma_squared), whole.upper, shift)


@lru_cache(maxsize=4096)
def shift_delta(sigma_squared: Fraction, shift: int, epsilon: Fraction) -> Interval:
    """Return delta of one noisy integer moved by `shift` >= 0.

    With S(m) = P(noise >= m): delta = S(m) - e^epsilon S(m + shift), m the least integer above
    epsilon sigma_squared / shift - shift / 2. Error: a few units in the last place, for any sigma.
    Source: Canonne, Kamath, Steinke (2020), arXiv:2004.00010.
    """
    if shift == 0:
        return Interval(0.0, 0.0)
    m = math.floor(epsilon * sigma_squared / shift - Fraction(shift, 2)) + 1

    def survival(start: int, whole: Arb) -> Arb:
        if start >= 1:
            return upper_tail(sigma_squared, start) / whole
        return 1 - upper_tail(sigma_squared, 1 - start) / whole

    def formula() -> Arb:
        whole = total(sigma_squared)
        return survival(m, whole) - ball(epsilon).exp() * survival(m + shift, whole)

    return certified(formula)


def shifted_divergence(sigma_squared: Fraction, shift: int, order: Fraction) -> Interval:
    """Return the divergence of one noisy integer moved by `shift`.

    It is the value of real noise, order shift^2/(2 sigma^2), less ln(theta(0)/theta(order shift))/(order - 1).
    """
    plain = order * shift**2 / (2 * sigma_squared)
    offset = order * shift % 1
    if offset == 0:
        return Interval.around(plain)

    def formula() -> Arb:
        from flint import acb, arb

        tau = acb(0, 2 * arb.pi() * ball(sigma_squared))
        thetas = [acb(ball(at)).modular_theta(tau) for at in (offset, Fraction(0))]  # type: ignore[call-arg]
        moved, whole = (four[2].real for four in thetas)
        return ball(plain) + (moved / whole).log() / ball(order - 1)

    return certified(formula, within=Interval(0.0, round_up(plain)))


def attained_at_least(sigma_squared: Fraction, change: Change, epsilon: Fraction) -> float:
    """Return a lower bound on delta of independent noise on several coordinates.

    By real Gaussian noise that is nearly an image of it.

    Guarantee: with a share s, t = sigma_squared s/(sigma_squared + s), q = exp(-2 pi^2 t), h = 2 q/(1 - q) and
        k = n ln((1 + h)/(1 - h)) for n coordinates: e^-k times the curve of mu^2 = l2^2/(sigma_squared + s), at
        epsilon + 2 k. The share is chosen in floats, the value is certified.
    Error: below the truth by a few shares of about s/sigma_squared; useless for a sigma below 1.
    Source: docs/theory/privacy/profile.md, Lemma 6.
    """
    count = sum(times for _, times in change)
    variance = float(min(sigma_squared, Fraction(10**30)))
    t = Fraction(math.log(80 * count * max(variance, 1.0)) / (2 * math.pi**2)).limit_denominator(1000)
    if 2 * t > sigma_squared:
        return 0.0
    share = sigma_squared * t / (sigma_squared - t)

    def formula() -> Arb:
        from flint import arb

        q = (-2 * arb.pi() ** 2 * ball(t)).exp()
        ripple = 2 * q / (1 - q)
        return count * ((1 + ripple) / (1 - ripple)).log()

    lost = Fraction(certified(formula, within=NONNEGATIVE).upper)
    real = gaussian_delta(squares_of(change) / (sigma_squared + share), epsilon + 2 * lost)
    return max(round_down(Fraction(real.lower) * (1 - lost)), 0.0)


@lru_cache(maxsize=1024)
def mu_squared_of_step(sigma_squared: Fraction) -> Fraction | None:
    """Return mu^2 of one noisy integer moved by 1, rounded up.

    A move by d then has d^2 mu^2.

    Guarantee: for any share s of sigma_squared, mu = 1/sqrt(sigma_squared - s) + sqrt(2 pi) ln((1 + h)/(1 - h)), where
        h = 2 q/(1 - q) < 1 and q = exp(-2 pi^2 s). The best share is searched in floats, the value is certified.
        None below sigma_squared = 0.1, where this says nothing useful.
    Error: above 1/sigma_squared by a factor of 1.49 at sigma_squared = 1, 1.021 at 30, 1.0009 at 1000, then ever less.
    Source: docs/theory/privacy/profile.md (a real Gaussian, rounded at random, is a discrete one).
    """
    if 10 * sigma_squared < 1:
        return None
    share = Fraction(_best_share(float(min(sigma_squared, Fraction(10**30)))))

    def formula() -> Arb:
        from flint import arb

        q = (-2 * arb.pi() ** 2 * ball(share)).exp()
        ripple = 2 * q / (1 - q)
        step = 1 / ball(sigma_squared - share).sqrt() + (2 * arb.pi()).sqrt() * ((1 + ripple) / (1 - ripple)).log()
        return step**2

    return decimal_above(Fraction(certified(formula, within=NONNEGATIVE).upper), DIGITS)


def _best_share(sigma_squared: float) -> float:
    """Return a share with a small mu, on a grid of 3%."""

    def step(share: float) -> float:
        q = math.exp(-2 * math.pi**2 * share)
        return 1 / math.sqrt(sigma_squared - share) + math.sqrt(2 * math.pi) * (math.log1p(q) - math.log1p(-3 * q))

    shares = [0.06 * 1.03**power for power in range(170)]
    return min((share for share in shares if share < sigma_squared), key=step)
