"""Smooth sensitivity with approximate differential privacy: Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.instance.smooth import ApproximateSmoothNoise
from deniable.noise import rounded
from deniable.privacy.exact import decimal_below, positive_rational, probability
from deniable.privacy.profile import ball, certified

if TYPE_CHECKING:
    from flint import arb

_DIGITS = 6  # of the shift


@dataclass(frozen=True, kw_only=True)
class SmoothGaussian(ApproximateSmoothNoise):
    """Add Gaussian noise of standard deviation S / shift, S a beta-smooth bound of the sensitivity.

    For one number take SmoothLaplace, whose noise is smaller; this one has no heavier tails than a normal law.

    Guarantee: (epsilon, delta)-DP if delta is at least the hockey-stick divergence of N(0, 1) and N(shift, 1), plus the
        larger one of those of N(0, 1) and N(shift, e^(2 beta)), and of N(0, e^(2 beta)) and N(shift, 1).
    Source: Nissim, Raskhodnikova, Smith (2007); the condition in docs/theory/smooth_sensitivity.md.
    """

    kind: ClassVar[str] = "smooth_gaussian"
    guarantee: ClassVar[str] = (
        "(epsilon, delta)-DP, delta = that of N(0, 1), N(shift, 1) + the larger with e^(2 beta) as either variance"
    )
    source: ClassVar[str] = "Nissim, Raskhodnikova, Smith (2007)"

    @classmethod
    def calibrated(cls, *, epsilon: object, delta: object, lower: int, upper: int) -> "SmoothGaussian":
        """The noise for (epsilon, delta), with the usual beta = epsilon / (4 (1 + ln(2 / delta)))."""
        target, failed = positive_rational("epsilon", epsilon), probability("delta", positive_rational("delta", delta))
        beta = decimal_below(target / Fraction(4 * (1 + math.log(2 / float(failed)))), 6)
        return cls(epsilon=target, delta=failed, beta=beta, lower=lower, upper=upper)

    @cached_property
    def shift(self) -> Fraction:
        """The largest one of six digits, or near it."""
        low, high = Fraction(0), Fraction(1)
        while self._private(high):
            low, high = high, 2 * high
        while not low and high > Fraction(1, 2**41):
            low, high = (high / 2, high) if self._private(high / 2) else (Fraction(0), high / 2)
        while low and high - low > low / 10**_DIGITS:
            middle = (low + high) / 2
            low, high = (middle, high) if self._private(middle) else (low, middle)
        return decimal_below(low, _DIGITS) if low else low

    def _private(self, shift: Fraction) -> bool:
        """Whether the condition is certified for this shift."""

        def formula() -> "arb":
            e, s = ball(self.epsilon), ball(shift)
            same = _upper_tail(e / s - s / 2) - e.exp() * _upper_tail(e / s + s / 2)
            return same + self._of_narrower(s, e).max(self._of_wider(s, e))

        return Fraction(certified(formula).upper) <= self.delta

    def _of_narrower(self, s: "arb", e: "arb") -> "arb":
        """Of N(0, e^(2 beta)) and N(s, 1), in units of the first: their ratio exceeds e^epsilon outside an interval."""
        growth = ball(self.beta).exp()
        root = (s * s + 2 * (growth * growth - 1) * (e + ball(self.beta))).sqrt()
        left, right = ((growth * s + sign * root) / (growth * growth - 1) for sign in (-1, 1))
        others = _upper_tail(s - growth * left) + _upper_tail(growth * right - s)
        return _upper_tail(-left) + _upper_tail(right) - e.exp() * others

    def _of_wider(self, s: "arb", e: "arb") -> "arb":
        """Of N(0, 1) and N(s, e^(2 beta)): their ratio exceeds e^epsilon in an interval, or nowhere."""
        shrink = ball(-2 * self.beta).exp()
        inside = shrink * s * s - 2 * (1 - shrink) * (e - ball(self.beta))
        if inside < 0:
            return ball(Fraction(0))
        if not inside > 0:  # not known at this precision
            return ball(Fraction(1, 2)).union(ball(Fraction(0))).union(ball(Fraction(1)))
        ends = [(-shrink * s + sign * inside.sqrt()) / (1 - shrink) for sign in (-1, 1)]
        first = _upper_tail(ends[0]) - _upper_tail(ends[1])
        scaled = [shrink.sqrt() * (end - s) for end in ends]
        return first - e.exp() * (_upper_tail(scaled[0]) - _upper_tail(scaled[1]))

    def _law(self) -> rounded.Normal:
        return rounded.Normal()

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A statistic that moves by its sensitivity, 6: a shift of the noise alone, which is not the whole of it."""
        return cls._moving(cls.calibrated(epsilon=4, delta="0.05", lower=-20, upper=26))


def _upper_tail(z: "arb") -> "arb":
    """P(N(0, 1) > z)."""
    return (z / ball(Fraction(2)).sqrt()).erfc() / 2
