"""Laplace noise that never exceeds a bound, continuous and discrete."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_above, positive_integer, positive_rational, probability
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.pld.law import UNIT, Atoms, LossLaw, Pairs, Tails
from deniable.privacy.pld.laws import NOTHING
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.statement import Statement

_MAX_ATOMS = 2**12  # of a law whose losses are listed


@dataclass(frozen=True, init=False, repr=False)
class TruncatedLaplaceStatement(Statement):
    """Loss of real Laplace noise cut off at a bound.

    The density is e^(-|z|/b) / (2 b (1 - e^(-t/b))) on |z| <= t.

    Args:
        noise_multiplier: b over the l1 sensitivity.
        bound: t over the l1 sensitivity, at least 1.

    Guarantee: with e = 1/noise_multiplier and T = bound e, delta(x) = (2 - e^-T - 2 e^((x - e)/2) + e^(x - T)) /
        (2 (1 - e^-T)) for x < e, and the probability of an infinite loss, (e^e - 1) / (2 (e^T - 1)), beyond. For
        vectors with independent noise this is the worst case.
    Source: Geng, Ding, Guo, Kumar (2020), arXiv:1810.00877; curve and vectors in docs/theory/privacy/losses.md.
    """

    kind: ClassVar[str] = "truncated_laplace"
    noise_multiplier: Annotated[Fraction, positive_rational]
    bound: Annotated[Fraction, positive_rational]
    mu_squared = None

    def __init__(self, noise_multiplier: Real, bound: Real) -> None:
        read_fields(self, noise_multiplier=noise_multiplier, bound=bound)
        if self.bound < 1:
            raise InvalidParameterError(
                f"bound must be at least 1 sensitivity, got {bound!r}: below it half of all answers reveal the unit"
            )

    @classmethod
    def for_target(cls, epsilon: Real, delta: Real) -> "TruncatedLaplaceStatement":
        """Return the loss with the least bound for (epsilon, delta)-DP, rounded up.

        The noise has the scale sensitivity / epsilon. The bound is ln(1 + (e^epsilon - 1)/(2 delta)) / epsilon
        sensitivities, for delta in (0, 1/2].

        It is ln(1 + (e^epsilon - 1)/(2 delta)) / epsilon sensitivities, for delta in (0, 1/2].
        """
        limit, failed = positive_rational("epsilon", epsilon), probability("delta", delta)
        if not 0 < failed <= Fraction(1, 2):
            raise InvalidParameterError(f"delta must be in (0, 1/2], got {delta!r}")

        bound = certified(lambda: (1 + ball(limit).expm1() / ball(2 * failed)).log() / ball(limit), within=NONNEGATIVE)
        return cls(1 / limit, decimal_above(Fraction(bound.upper), DIGITS))

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta in closed form; beyond the greatest loss, the infinite part."""
        limit = self.failing_epsilon
        if epsilon >= limit:
            return self._infinite

        def formula() -> Arb:
            end = ball(-self.bound * limit)
            above = 2 - end.exp() - 2 * ball((epsilon - limit) / 2).exp() + (ball(epsilon) + end).exp()
            return above / (-2 * end.expm1())

        return certified(formula)

    @property
    def _infinite(self) -> Interval:
        """Probability of an infinite loss."""
        limit = self.failing_epsilon
        return certified(lambda: ball(limit).expm1() / ball(self.bound * limit).expm1() / 2)

    def laws(self) -> Pairs:
        """Return the truncated law."""
        limit = self.failing_epsilon
        infinite = self._infinite.upper
        return Pairs.symmetric(TruncatedLaplaceLaw(float(limit), float((self.bound - 1) * limit), infinite))

    @property
    def failure(self) -> Fraction:
        """Probability of an infinite loss, from above."""
        return Fraction(self._infinite.upper)

    @property
    def infinite_mass(self) -> Fraction:
        """Probability of an infinite loss, from below."""
        return Fraction(self._infinite.lower)

    @property
    def failing_epsilon(self) -> Fraction:
        """Epsilon 1 / noise_multiplier, up to the failure."""
        return 1 / self.noise_multiplier


@dataclass(frozen=True, init=False, repr=False)
class DiscreteTruncatedLaplaceStatement(Statement):
    """Loss of discrete Laplace noise cut off at a bound, on every coordinate.

    The noise is P(k) ~ exp(-|k| / scale) on the integers |k| <= bound, independent.

    Guarantee: with q = exp(-1/scale), a change by d in all and D = 1 + q - 2 q^(bound + 1): the loss is infinite with
        probability (q^(bound + 1 - d) - q^(bound + 1)) / D and at most d / scale otherwise. The curve is that of one
        coordinate with the l1 change: exact when one coordinate may take all of it, an upper bound otherwise.
    Source: docs/theory/privacy/losses.md.
    """

    kind: ClassVar[str] = "discrete_truncated_laplace"
    scale: Annotated[Fraction, positive_rational]
    bound: Annotated[int, positive_integer]
    sensitivity: Sensitivity
    mu_squared = None

    def __init__(self, scale: Real, bound: Real, sensitivity: Sensitivity) -> None:
        read_fields(self, scale=scale, bound=bound, sensitivity=checked_sensitivity(sensitivity))
        if self.bound < self._shift:
            raise InvalidParameterError(
                f"bound must be at least the l1 sensitivity {self._shift}, got {bound!r}: below it half of all answers "
                "reveal the unit"
            )

    @property
    def _shift(self) -> int:
        """Change of all coordinates together, l1."""
        return int(self.sensitivity.integral().l1)

    @property
    def _single(self) -> int:
        """Largest change of one coordinate, linf."""
        return int(self.sensitivity.integral().linf)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of one coordinate with the l1 change, and with linf below."""
        upper = self._shift_delta(self._shift, epsilon)
        if self._single == self._shift:
            return upper
        return Interval(self._shift_delta(self._single, epsilon).lower, upper.upper)

    def _shift_delta(self, shift: int, epsilon: Fraction) -> Interval:
        """Return delta of one noisy integer moved by `shift`.

        The best event is {y <= m}.
        """
        if shift == 0:
            return Interval(0.0, 0.0)
        if epsilon * self.scale >= shift:
            return self._infinite(shift)
        m = math.ceil((shift - epsilon * self.scale) / 2) - 1

        def formula() -> Arb:
            beyond, single, ours, theirs = (ball(-k / self.scale).exp() for k in (self.bound + 1, 1, m + 1, shift - m))
            whole = 1 + single - 2 * beyond
            return 1 - (ours - beyond) / whole - ball(epsilon).exp() * (theirs - beyond) / whole

        return certified(formula)

    def _infinite(self, shift: int) -> Interval:
        """Return the probability of an infinite loss after a move by `shift`."""

        def formula() -> Arb:
            beyond = ball(-(self.bound + 1) / self.scale).exp()
            whole = 1 + ball(-1 / self.scale).exp() - 2 * beyond
            return beyond * ball(shift / self.scale).expm1() / whole

        return certified(formula)

    def laws(self) -> Pairs:
        """Return the law of the l1 change, and that of linf below."""
        if self._shift == 0:
            return Pairs.symmetric(NOTHING)
        upper = self._law(self._shift)
        return Pairs.symmetric(upper) if self._single == self._shift else Pairs.symmetric(upper, self._lower())

    def _lower(self) -> LossLaw:
        return self._law(self._single) if self._single else NOTHING

    def _law(self, shift: int) -> "DiscreteTruncatedLaplaceLaw":
        return DiscreteTruncatedLaplaceLaw(float(self.scale), self.bound, shift, self._infinite(shift).upper)

    @property
    def failure(self) -> Fraction:
        """Probability of an infinite loss after the l1 change, from above."""
        return Fraction(self._infinite(self._shift).upper)

    @property
    def infinite_mass(self) -> Fraction:
        """Probability of an infinite loss after the largest single change, from below."""
        return Fraction(self._infinite(self._single).lower)

    @property
    def failing_epsilon(self) -> Fraction:
        """Epsilon l1 / scale, up to the failure."""
        return self._shift / self.scale


class _MirroredLaw(LossLaw):
    """Law with one loss in both directions: L under P is distributed as -L under Q."""

    def below(self, losses: Floats) -> Tails:
        """Return lower tails: -L has under Q the law of L under P."""
        mirrored = self.above(np.nextafter(-losses, -np.inf))  # {L <= l} is {-L >= -l}
        return Tails(mirrored.q, mirrored.p, mirrored.error)

    def slack(self, magnitude: float) -> float:
        """Return 16 roundings of the magnitude or of the greatest loss."""
        return 16 * UNIT * max(magnitude, self.highest)


class TruncatedLaplaceLaw(_MirroredLaw):
    """Law of real noise cut off at a bound, moved by `limit` scales.

    It is cut off `limit + room` scales from its centre; there are two atoms at the ends.
    """

    def __init__(self, limit: float, room: float, infinite: float) -> None:
        self.limit, self.room, self.lowest, self.highest = limit, room, -limit, limit
        self.infinite = self.vanishing = infinite
        self._twice = -2 * math.expm1(-(limit + room))

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the loss, which is bounded by `limit` or infinite."""
        inside = np.clip(losses, -self.limit, self.limit)
        left = (self.limit - inside) / 2
        p = -(np.expm1(-left) + math.expm1(-self.room)) / self._twice
        q = -np.exp(-(inside + self.limit) / 2) * np.expm1(-(self.room + left)) / self._twice
        low, high = losses < -self.limit, losses >= self.limit
        p, q = (np.where(low, 1 - self.infinite, np.where(high, 0.0, value)) for value in (p, q))
        return Tails(p, q, np.full(p.shape, (24 + 4 * (self.limit + self.room)) * UNIT))


class DiscreteTruncatedLaplaceLaw(_MirroredLaw):
    """P(k) ~ exp(-|k| / scale) on |k| <= bound, moved by `shift` from 1 to bound."""

    def __init__(self, scale: float, bound: int, shift: int, infinite: float) -> None:
        self.scale, self.bound, self.shift = scale, bound, shift
        self.highest, self.lowest = shift / scale, -shift / scale
        self.spacing = 2 / scale
        self.infinite = self.vanishing = infinite
        self._whole = -math.expm1(-(bound + 1) / scale) - math.exp(-1 / scale) * math.expm1(-bound / scale)

    def above(self, losses: Floats) -> Tails:
        """Return the tails of the loss: {L > l} is {y <= m} while l is inside.

        m is the greatest integer below (shift - l scale) / 2.
        """
        inside = np.clip(losses, self.lowest - 1, self.highest + 1)
        last = np.clip(np.ceil((self.shift - inside * self.scale) / 2) - 1, 0, self.shift)
        p, q = self._at_most(last)
        low, high = losses < self.lowest, losses >= self.highest
        p, q = (np.where(low, 1 - self.infinite, np.where(high, 0.0, value)) for value in (p, q))
        return Tails(p, q, np.full(p.shape, (32 + 8 * (self.bound + 1) / self.scale) * UNIT))

    def _at_most(self, last: Floats) -> tuple[Floats, Floats]:
        """Return P and Q of y <= last, from 0 to shift, without infinite losses.

        Nothing here cancels.
        """
        rate = 1 / self.scale
        room = math.exp(-rate) * math.expm1(-(self.bound - self.shift) * rate)
        p = -(np.expm1(-(last + 1) * rate) + room) / self._whole
        away = self.shift - last
        q = -np.exp(-away * rate) * np.expm1(-(self.bound + 1 - away) * rate) / self._whole
        return p, q

    def atoms(self) -> Atoms | None:
        """Return the shift + 1 finite losses, where they are few."""
        if self.shift > _MAX_ATOMS:
            return None
        last = np.arange(self.shift, -1, -1, dtype=np.float64)  # losses increase
        rate = 1 / self.scale
        p = -np.exp(-last * rate) * math.expm1(-rate) / self._whole
        p[0] = -math.exp(-self.shift * rate) * math.expm1(-(self.bound + 1 - self.shift) * rate) / self._whole
        p[-1] = self._at_most(np.zeros(1))[0][0]
        losses = (self.shift - 2 * last) * rate
        return Atoms(losses, p, p[::-1], (32 + 8 * (self.bound + 1) / self.scale) * UNIT)
