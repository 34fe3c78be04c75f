"""Objective perturbation: the exact minimiser of a loss with a random linear term.

Proof: docs/theory/learning/erm.md, "Objective perturbation".
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.numbers.arrays import Floats
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import positive_rational
from deniable.privacy.losses.dominated import curve_of
from deniable.privacy.notions.renyi import Directions, both_ways
from deniable.privacy.pld.law import UNIT, LossLaw, Pairs, Tails
from deniable.privacy.pld.laws import NOTHING
from deniable.privacy.relation import Relation
from deniable.privacy.statement import Statement


@dataclass(frozen=True, kw_only=True, repr=False)
class ObjectivePerturbationStatement(Statement):
    """Loss of the exact minimiser of a regularised sum with a Gaussian linear term.

    It minimises sum of l(<w, x_i>) + strength/2 |w|^2 + <b, w> over a convex set, b Gaussian.

    Args:
        noise_multiplier: standard deviation of a coordinate of b over the largest norm of a gradient of one loss.
        curvature: the largest second derivative of one loss over `strength`.

    Guarantee: under add/remove the privacy loss is at most e + s^2/2 + s |N|, with N standard normal,
        s = 1 / noise_multiplier and e = ln(1 + curvature); so the Rényi divergence of order a is at most
        e + a s^2/2 + ln(2 Phi((a - 1) s)) / (a - 1).
    Source: Redberg, Koskela, Wang (2023), arXiv:2401.00583, with ln(1 + c) in place of -ln(1 - c).
    """

    kind: ClassVar[str] = "objective_perturbation"
    noise_multiplier: Annotated[Fraction, positive_rational]
    curvature: Annotated[Fraction, positive_rational]

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def relations(self) -> frozenset[Relation]:
        return frozenset({Relation.ADD_REMOVE})

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of the half-normal law, from above."""
        return Interval(0.0, curve_of(self._law, epsilon).upper)

    def laws(self) -> Pairs:
        """Return the half-normal law; nothing is known from below."""
        return Pairs.symmetric(self._law, NOTHING)

    @property
    def divergences_are_closed(self) -> bool:
        return True

    def divergences(self, order: Fraction) -> Directions:
        """Return the divergence of the bound on the loss.

        It is e + order s^2/2 + ln(2 Phi((order - 1) s)) / (order - 1). At order 1 the last term is its limit, the mean
        s sqrt(2/pi) of s |N|.

        At order 1 the last term is its limit, the mean s sqrt(2/pi) of s |N|.
        """
        s = 1 / self.noise_multiplier

        def formula() -> Arb:
            from flint import arb

            certain = (1 + ball(self.curvature)).log() + ball(order * s**2 / 2)
            if order == 1:
                return certain + ball(s) * (2 / arb.pi()).sqrt()
            return certain + (1 + (ball((order - 1) * s) / arb(2).sqrt()).erf()).log() / ball(order - 1)

        return both_ways(Interval(0.0, certified(formula, within=NONNEGATIVE).upper))

    @property
    def _law(self) -> "HalfNormalLaw":
        return HalfNormalLaw(float(1 / self.noise_multiplier), math.log1p(float(self.curvature)))


class HalfNormalLaw(LossLaw):
    """Law of a loss L = shift + s^2/2 + s |N| under P.

    Q has the density exp(-L) to it, and the rest of Q has L = -inf.
    """

    def __init__(self, s: float, shift: float) -> None:
        self._s, self._shift = s, shift
        self.lowest = shift + s * s / 2
        self.vanishing = -math.expm1(self._log_q(np.zeros(1))[0])

    def above(self, losses: Floats) -> Tails:
        """Return half-normal tails of the loss."""
        from scipy.special import log_ndtr

        t = self._standardised(losses)
        error = (64 + 16 * (t + self._s) ** 2) * UNIT  # of logarithms of tails
        return Tails(np.exp(math.log(2) + log_ndtr(-t)), np.exp(self._log_q(t)), error)

    def below(self, losses: Floats) -> Tails:
        """Return half-normal distribution functions of the loss."""
        from scipy.special import erf

        t = self._standardised(losses)
        lowest = self._log_q(np.zeros(1))
        error = self.above(losses).error / np.clip(t, 1e-9, 1.0)  # of a difference of logarithms, which is about t
        return Tails(erf(t / math.sqrt(2)), -np.exp(lowest) * np.expm1(self._log_q(t) - lowest), error)

    def slack(self, magnitude: float) -> float:
        """Return the slack: losses near the least one are not told apart.

        There, differences lose digits.
        """
        return 1e-9 * self._s + 64 * UNIT * (magnitude + self.lowest)

    def _standardised(self, losses: Floats) -> Floats:
        """Return |N| at each loss."""
        return np.clip((losses - self.lowest) / self._s, 0.0, 1e3)

    def _log_q(self, t: Floats) -> Floats:
        """Return ln Q(L > l), l the loss where |N| = t."""
        from scipy.special import log_ndtr

        return np.asarray(math.log(2) - self._shift + log_ndtr(-t - self._s))
