"""Discrete Laplace noise, conditioned on an answer in a public range."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.numbers.balls import Arb, ball, certified
from deniable.numbers.interval import NONNEGATIVE, Interval
from deniable.numbers.rationals import Real, decimal_above, positive_integer, positive_rational
from deniable.privacy.losses.discrete_laplace import checked_sensitivity
from deniable.privacy.losses.pure import pure_delta
from deniable.privacy.notions.gaussian_dp import DIGITS
from deniable.privacy.pld.law import FiniteLaw, Pairs
from deniable.privacy.pld.laws import NOTHING, randomized_response_law
from deniable.privacy.sensitivity import Sensitivity
from deniable.privacy.statement import Statement


@dataclass(frozen=True, init=False, repr=False)
class BoundedLaplaceStatement(Statement):
    """Loss of Laplace noise conditioned on a public range, on every coordinate.

    Answers P(y) ~ exp(-|y - x| / scale) on a range of width + 1 integers that holds x.

    Guarantee: with q = e^(-1/scale) and N(d) = 1 + q - q^(d + 1) - q^(width - d + 1), a change by d in one coordinate
        costs at most g(d) = d / scale + ln(N(d) / N(0)), which is attained between an end of the range and d inside.
        g is concave, so the worst vector spreads its l1 change over as many coordinates as it may change.
        The curve lies between that of two such pairs and that of all epsilon-DP mechanisms.
    Source: Holohan, Antonatos, Braghin, Mac Aonghusa (2020), arXiv:1808.10410, for real numbers; integers and vectors
        in docs/theory/mechanisms/additive.md.
    """

    kind: ClassVar[str] = "bounded_laplace"
    scale: Annotated[Fraction, positive_rational]
    width: Annotated[int, positive_integer]
    sensitivity: Sensitivity

    def __init__(self, scale: Real, width: Real, sensitivity: Sensitivity) -> None:
        read_fields(self, scale=scale, width=width, sensitivity=checked_sensitivity(sensitivity))

    @property
    def _shift(self) -> int:
        """Largest change of one coordinate; the range leaves room for no larger one."""
        return min(int(self.sensitivity.integral().linf), self.width)

    def curve(self, epsilon: Fraction) -> Interval:
        """Return delta between two attained pairs and all epsilon-DP mechanisms."""
        upper = pure_delta(self.failing_epsilon, epsilon).upper
        if self._shift == 0:
            return Interval(0.0, 0.0)
        lower = max(self._pair_delta(start, log_ratio, epsilon) for start, log_ratio in self._starts)
        return Interval(min(lower, upper), upper)

    @cached_property
    def _starts(self) -> list[tuple[int, Fraction]]:
        """Inputs at an end of the range and about its middle, with ln N(x + shift)/N(x)."""
        return [(start, self._log_ratio(start)) for start in (0, (self.width - self._shift) // 2)]

    def _log_ratio(self, start: int) -> Fraction:
        """Return about ln N(start + shift)/N(start)."""
        ratio = certified(lambda: self._total(start + self._shift) / self._total(start), within=NONNEGATIVE)
        return Fraction(math.log(ratio.lower))

    def _pair_delta(self, start: int, log_ratio: Fraction, epsilon: Fraction) -> float:
        """Return a lower bound on delta of `start` against `_shift` further.

        It is P(y <= m) - e^epsilon Q(y <= m), m about the best.
        """
        end = start + self._shift
        best = (self._shift - (epsilon - log_ratio) * self.scale) / 2
        last = min(max(start + math.ceil(best) - 1, start), end - 1)

        def formula() -> Arb:
            ours = 1 + self._power(1) - self._power(start + 1) - self._power(last - start + 1)
            theirs = self._power(end - last) - self._power(end + 1)
            return ours / self._total(start) - ball(epsilon).exp() * theirs / self._total(end)

        return certified(formula).lower

    def _power(self, exponent: int) -> Arb:
        """Return q^exponent."""
        return ball(-exponent / self.scale).exp()

    def _total(self, value: int) -> Arb:
        """Return (1 - q) times the sum of q^|y - value| over the range from 0."""
        return 1 + self._power(1) - self._power(value + 1) - self._power(self.width - value + 1)

    def _cost(self, shift: int) -> Arb:
        """Return g, the largest loss of one coordinate that changes by `shift`."""
        return ball(shift / self.scale) + (self._total(shift) / self._total(0)).log()

    @cached_property
    def failing_epsilon(self) -> Fraction:
        """Sum of g over the coordinates, the l1 change spread evenly."""
        norms = self.sensitivity.integral()
        l1 = int(norms.l1)
        changed = l1 if norms.coordinates is None else min(l1, norms.coordinates)
        if changed == 0:
            return Fraction(0)
        each, more = divmod(min(l1, changed * self._shift), changed)

        def formula() -> Arb:
            return more * self._cost(each + 1) + (changed - more) * self._cost(each)

        return decimal_above(Fraction(certified(formula, within=NONNEGATIVE).upper), DIGITS)

    def laws(self) -> Pairs:
        """Return randomised response above, and two attained pairs below."""
        if self._shift == 0:
            return Pairs.symmetric(NOTHING)
        law = self._attained_law()
        upper = randomized_response_law(float(self.failing_epsilon))
        return Pairs((upper, upper), law)

    def _attained_law(self) -> tuple[FiniteLaw, FiniteLaw]:
        """Return laws of the event that the answer is an end of the range.

        The inputs are at that end, and `_shift` inside.
        """

        def at_end(value: int) -> Arb:
            return (self._power(value) - self._power(value + 1)) / self._total(value)

        from flint import ctx

        with ctx.workprec(512):
            p, q = at_end(0), at_end(self._shift)
            high, low = float((p / q).log()), float(((1 - p) / (1 - q)).log())
            above = np.array([float(1 - p), float(p)])
            below = np.array([float(1 - q), float(q)])
        there = FiniteLaw(np.array([low, high]), above, below, spacing=high - low)
        back = FiniteLaw(np.array([-high, -low]), below[::-1], above[::-1], spacing=high - low)
        return there, back
