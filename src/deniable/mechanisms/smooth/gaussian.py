"""Smooth sensitivity with approximate differential privacy: Gaussian noise."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import ApproximateSmoothNoise
from deniable.noise import rounded
from deniable.numbers.balls import ball, certified
from deniable.numbers.rationals import decimal_below, positive_rational, probability

if TYPE_CHECKING:
    from flint import arb

_DIGITS = 6  # of the shift


@dataclass(frozen=True, kw_only=True)
class SmoothGaussian(ApproximateSmoothNoise):
    """Add Gaussian noise of standard deviation S / shift, S a beta-smooth bound of the sensitivity.

    For one number take SmoothLaplace, whose noise is smaller; this one has no heavier tails than a normal law.

    Guarantee: (epsilon, delta)-DP with the largest shift for which delta is at least the hockey-stick divergence of
        N(0, e^(2 beta)) from N(shift, 1), and no neighbour with more noise is worse; exact unless delta is so large
        that shift^2 would exceed 2 epsilon, or beta so near epsilon that more noise may be worse.
    Source: Nissim, Raskhodnikova, Smith (2007); the condition in docs/theory/mechanisms/smooth.md.
    """

    kind: ClassVar[str] = "smooth_gaussian"
    guarantee: ClassVar[str] = "(epsilon, delta)-DP, delta = divergence of N(0, e^(2 beta)) from N(shift, 1)"
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
        if shift**2 > 2 * self.epsilon or not self._worse_if_narrower(ball(shift)):
            return False
        found = certified(lambda: self._of_narrower(ball(shift), ball(self.epsilon)))
        return Fraction(found.upper) <= self.delta

    def _worse_if_narrower(self, s: "arb") -> bool:
        """Whether it is certain that a neighbour with less noise is the worst; else the shift counts as too large."""
        growth = ball(self.beta).exp()
        v, w = (s / 2 + ball(self.epsilon - self.beta) / s) / growth, s * growth / (growth * growth - 1)
        far = v > 0 and w >= 1 and v * (-v * v / 2).exp() >= w * (-w * w / 2).exp()
        return bool(v >= 1 or far)

    def _of_narrower(self, s: "arb", e: "arb") -> "arb":
        """Of N(0, e^(2 beta)) and N(s, 1), in units of the first: their ratio exceeds e^epsilon outside an interval."""
        growth = ball(self.beta).exp()
        root = (s * s + 2 * (growth * growth - 1) * (e + ball(self.beta))).sqrt()
        left, right = ((growth * s + sign * root) / (growth * growth - 1) for sign in (-1, 1))
        others = _upper_tail(s - growth * left) + _upper_tail(growth * right - s)
        return _upper_tail(-left) + _upper_tail(right) - e.exp() * others

    def _law(self) -> rounded.Normal:
        return rounded.Normal()

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A statistic that moves by its sensitivity, 6: a shift of the noise alone, which is not the whole of it."""
        return cls._moving(cls.calibrated(epsilon=4, delta="0.05", lower=-20, upper=26))


def _upper_tail(z: "arb") -> "arb":
    """P(N(0, 1) > z)."""
    return (z / ball(Fraction(2)).sqrt()).erfc() / 2
