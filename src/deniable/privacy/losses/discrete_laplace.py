"""Discrete Laplace noise added to integers."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import Interval, round_up
from deniable.numbers.rationals import Real, positive_rational
from deniable.privacy.losses.integer_noise import IntegerNoiseStatement, extreme_changes, sum_of
from deniable.privacy.pld.laws import DiscreteLaplaceLaw
from deniable.privacy.sensitivity import Sensitivity


@dataclass(frozen=True, init=False, repr=False)
class DiscreteLaplaceStatement(IntegerNoiseStatement):
    """Loss of discrete Laplace noise on every coordinate of a vector of integers.

    The noise is P(k) ~ exp(-|k| / scale), independent.

    Args:
        scale: of the noise, in lattice steps.
        sensitivity: of the vector, in lattice steps.

    Guarantee: (l1 / scale)-DP, and the curve of the most unequal change that l1, linf and the number of coordinates
        admit: exact unless l2 forbids that change.
    Source: Ghosh, Roughgarden, Sundararajan (2009), arXiv:0811.2841; curve and vector case in
        docs/theory/privacy/profile.md.

    >>> from deniable.privacy import AddRemove, DiscreteLaplaceLoss, of_count
    >>> loss = DiscreteLaplaceLoss(4, of_count(rows=2, groups=1, relation=AddRemove))
    >>> print(loss.epsilon(0).upper)
    0.5
    """

    kind: ClassVar[str] = "discrete_laplace"
    scale: Annotated[Fraction, positive_rational]
    sensitivity: Sensitivity

    def __init__(self, scale: Real, sensitivity: Sensitivity) -> None:
        read_fields(self, scale=scale, sensitivity=checked_sensitivity(sensitivity))

    def _with(self, sensitivity: Sensitivity) -> "DiscreteLaplaceStatement":
        """Return the loss of this noise at another sensitivity."""
        return DiscreteLaplaceStatement(self.scale, sensitivity)

    def _law(self, shift: int) -> DiscreteLaplaceLaw:
        return DiscreteLaplaceLaw(float(self.scale), shift)

    def _divergence(self, shift: int, order: Fraction) -> Interval:
        return shifted_divergence(self.scale, shift, order)

    def closed_delta(self, epsilon: Fraction) -> Interval:
        """Return delta of one coordinate with the whole l1 change.

        And, from below, with the largest change of one coordinate.
        """
        worst = extreme_changes(self.sensitivity).worst
        upper = shift_delta(self.scale, sum_of(worst), epsilon)
        if sum(count for _, count in worst) <= 1:
            return upper
        return Interval(shift_delta(self.scale, worst[0][0], epsilon).lower, upper.upper)

    @property
    def failing_epsilon(self) -> Fraction:
        """Epsilon l1 / scale."""
        return self.sensitivity.integral().l1 / self.scale


def shift_delta(scale: Fraction, shift: int, epsilon: Fraction) -> Interval:
    """Return delta of one noisy integer moved by `shift` >= 0.

    With q = exp(-1/scale), the best event is {y >= m}, m the least integer above (epsilon scale + shift) / 2, and
    delta = 1 - q^(shift - m + 1)/(1 + q) - e^epsilon q^m/(1 + q) while epsilon < shift / scale.
    """
    if epsilon * scale >= shift:
        return Interval(0.0, 0.0)
    m = math.floor((epsilon * scale + shift) / 2) + 1

    def formula() -> Arb:
        below = ball(-(shift - m + 1) / scale).exp()
        above = ball(epsilon - m / scale).exp()
        return 1 - (below + above) / (1 + ball(-1 / scale).exp())

    return certified(formula)


def shifted_divergence(scale: Fraction, shift: int, order: Fraction) -> Interval:
    """Return the divergence of one noisy integer moved by `shift`.

    It is a geometric sum over its shift + 1 losses.
    """
    if shift == 0:
        return Interval(0.0, 0.0)

    def formula() -> Arb:
        q = ball(-1 / scale).exp()
        inner = (1 - q) / (1 + q)
        far = ball(shift / scale)
        if order == 1:
            n = shift - 1
            r = 1 / q
            weighted = r * (1 - (n + 1) * r**n + n * r ** (n + 1)) / (1 - r) ** 2
            plain = (r ** (n + 1) - r) / (r - 1)
            middle = inner * (-far).exp() * (2 * weighted - shift * plain) / ball(scale)
            return far * -(-far).expm1() / (1 + q) + middle
        a = ball(order)
        r = ball((2 * order - 1) / scale).exp()
        ends = (((a - 1) * far).exp() + (-a * far).exp()) / (1 + q)
        middle = inner * (-a * far).exp() * (r**shift - r) / (r - 1)
        return (ends + middle).log() / (a - 1)

    return certified(formula, within=Interval(0.0, round_up(shift / scale)))


def checked_sensitivity(value: object) -> Sensitivity:
    """Return a Sensitivity, or raise an error that says where to get one."""
    if not isinstance(value, Sensitivity):
        raise InvalidParameterError(
            f"sensitivity must be a Sensitivity, got {value!r}. Make one with of_count or of_clipped_sum."
        )
    return value
