"""Discrete staircase noise added to integers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval
from deniable.numbers.rationals import Real, positive_integer, positive_rational
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.pld.law import FiniteLaw, Pairs
from deniable.privacy.pld.laws import NOTHING, randomized_response_law
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class StaircaseStatement(Statement):
    """Loss of discrete staircase noise on every coordinate of a vector of integers.

    The noise is P(k) ~ exp(-rate floor((|k| + step - centre) / step)), independent.

    Guarantee: a change by s <= step in one coordinate has the losses -rate, 0 and rate, and delta(x) =
        a (1 - e^(x - rate)) for x < rate, with b = e^-rate and a = (min(s, 2 centre - 1)(1 - b) + s b) /
        ((2 centre - 1)(1 - b) + 2 step b), exactly. Other changes cross at most c steps in all, and the mechanism is
        (c rate)-DP: with m coordinates changed, c = m + (l1 - m) // step, and at most m ceil(linf / step).
    Source: Geng, Viswanath (2012), arXiv:1212.1186; curve and vectors in docs/theory/mechanisms/additive.md.
    """

    kind: ClassVar[str] = "staircase"
    rate: Annotated[Fraction, positive_rational]
    step: Annotated[int, positive_integer]
    centre: Annotated[int, positive_integer]
    sensitivity: Sensitivity

    def __init__(self, rate: Real, step: Real, centre: Real, sensitivity: Sensitivity) -> None:
        read_fields(self, rate=rate, step=step, centre=centre, sensitivity=checked_sensitivity(sensitivity))
        if self.centre > self.step:
            raise InvalidParameterError(f"centre must be at most step={self.step}, got {centre!r}")

    @property
    def crossed(self) -> int:
        """Largest number of steps that one unit crosses, over all coordinates."""
        norms = self.sensitivity.integral()
        l1, linf = int(norms.l1), int(norms.linf)
        changed = l1 if norms.coordinates is None else min(l1, norms.coordinates)
        return min(changed + (l1 - changed) // self.step, changed * -(-linf // self.step))

    @property
    def _is_one_step(self) -> bool:
        """Whether a unit changes one coordinate, by no more than a step.

        Elsewhere l1 may be spread over many.
        """
        return self.crossed <= 1

    @property
    def _shift(self) -> int:
        """Largest change of one coordinate by up to one step."""
        return min(int(self.sensitivity.integral().linf), self.step)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta of one step, and of all epsilon-DP mechanisms above."""
        attained = self._one_step_delta(epsilon)
        if self._is_one_step:
            return attained
        return Interval(attained.lower, max(attained.upper, pure_delta(self.failing_epsilon, epsilon).upper))

    def _one_step_delta(self, epsilon: Fraction) -> Interval:
        """Return delta of a change within one step, exactly."""
        if epsilon >= self.rate or self._shift == 0:
            return Interval(0.0, 0.0)
        return certified(lambda: -self._masses()[0] * ball(epsilon - self.rate).expm1())

    def _masses(self) -> tuple[Arb, Arb]:
        """Return P(loss = rate) and P(loss = 0) for a change by `_shift`.

        P(loss = -rate) is b times the first.
        """
        ratio = ball(-self.rate).exp()
        gap = -ball(-self.rate).expm1()
        top = 2 * self.centre - 1
        shift = self._shift
        whole = top * gap + 2 * self.step * ratio
        high = min(shift, top) * gap + shift * ratio
        rest = (max(top - shift, 0) + max(shift - top, 0) * ratio) * gap + 2 * (self.step - shift) * ratio
        return high / whole, rest / whole

    def laws(self) -> Pairs:
        """Return the law of one step, and randomised response above where more is crossed."""
        if self._shift == 0:
            return Pairs.symmetric(NOTHING)
        attained = self._one_step_law()
        if self._is_one_step:
            return Pairs.symmetric(attained)
        return Pairs.symmetric(randomized_response_law(float(self.failing_epsilon)), attained)

    def _one_step_law(self) -> FiniteLaw:
        """Return the law of a change within one step."""
        high = certified(lambda: self._masses()[0]).upper
        rest = certified(lambda: self._masses()[1]).upper
        low = certified(lambda: self._masses()[0] * ball(-self.rate).exp()).upper
        limit = float(self.rate)
        losses, p = np.array([-limit, 0.0, limit]), np.array([low, rest, high])
        if self._shift == self.step == 2 * self.centre - 1:  # then every outcome is on another step
            losses, p = losses[[0, 2]], p[[0, 2]]
        return FiniteLaw(losses, p, p[::-1], spacing=limit * (2 if losses.size == 2 else 1))

    @property
    def failing_epsilon(self) -> Fraction:
        """Rate times the steps crossed."""
        return self.crossed * self.rate
