"""The discrete staircase law.

P(k) ~ exp(-rate level(k)), where level(k) = floor((|k| + step - centre) / step).

The top step holds the 2 centre - 1 integers |k| < centre; each lower one `step` integers on either side.
Guarantee: draws have exactly this law: a coin leaves the top step, a geometric number gives the step, uniform numbers
the place on it.
Source: Geng, Viswanath (2012), arXiv:1212.1186, for the law; docs/theory/mechanisms/additive.md for sums and the best
    centre.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.noise import bernoulli, geometric, laplace, uniform
from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.noise.blocks import Draws
from deniable.numbers import balls
from deniable.numbers.rationals import strict_rational

if TYPE_CHECKING:
    from flint import arb

LARGEST_STEP = 2**60


@dataclass(frozen=True, kw_only=True)
class Stairs:
    """One staircase law.

    Args:
        rate: the logarithm of the ratio of neighbouring steps, exact, in [2^-57, 2^57].
        step: how many integers a lower step is wide, from 1 to 2^60.
        centre: from 1 to step.

    Raises: InvalidParameterError if a parameter is not exact or outside its range.
    """

    rate: Fraction
    step: int
    centre: int

    def __post_init__(self) -> None:
        rate = strict_rational("rate", self.rate, lower=1 / laplace.LARGEST_SCALE, upper=1 / laplace.SMALLEST_SCALE)
        step = _checked("step", self.step, LARGEST_STEP)
        read_fields(self, rate=rate, step=step, centre=_checked("centre", self.centre, step))

    def sample(self, *, size: Size = None, bits: Bits = SECURE) -> Draws:
        """Draw independent int64 numbers, or Python ints if one does not fit."""
        shape = shape_of(size)
        count = math.prod(shape)
        lower = bernoulli.sample_enclosed(p=self._below_top, size=count, bits=bits)
        steps: Draws = geometric.sample(scale=1 / self.rate, size=count, bits=bits)
        offset = uniform.below(2 * self.step, size=count, bits=bits)
        top = uniform.below(2 * self.centre - 1, size=count, bits=bits) - (self.centre - 1)
        if steps.dtype == object or int(steps.max(initial=0)) > 2**61 // self.step:
            steps = steps.astype(object)
        distance = steps * self.step + ((offset >> 1) + self.centre)
        return np.where(lower, np.where(offset & 1 == 0, distance, -distance), top).reshape(shape)

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the smallest k with P[X <= k] >= p, in float64.

        For error bars, which are post-processing, and nothing else.

        Error: one step of 1 where p is within rounding of a jump of the law.
        """
        p = np.asarray(p, dtype=np.float64)
        return np.asarray(
            np.where(p <= self._tail(0.0), -np.floor(self._crossing(p)) - 1, np.ceil(self._crossing(1 - p)))
        )

    def standard_deviation(self) -> float:
        """Return the square root of the variance, in float64."""
        width = float(self.step)
        r = float(self.centre)
        s0 = self._below
        s1 = s0 * s0  # the sum of (k - 1) b^k
        s2 = s0 * s0 * (1 + 2 * s0)  # the sum of (k - 1)^2 b^k
        starts = r * s0 + width * s1
        squares = r * r * s0 + 2 * r * width * s1 + width * width * s2
        lower = width * squares + (width - 1) * width * (starts + (2 * width - 1) / 6 * s0)
        top = (r - 1) * r * (2 * r - 1) / 6
        return math.sqrt(2 * (top + lower) / self._total)

    def mean_size(self) -> float:
        """Return E|X| in float64.

        Z/4 + K/Z with Z the total weight and K = (step / (2 sinh(rate / 2)))^2 - 1/4.
        """
        return self._total / 4 + (self._spread**2 - 0.25) / self._total

    @classmethod
    def best(cls, *, rate: Fraction, step: int) -> "Stairs":
        """Return the centre with the least E|X|: about step / (1 + e^(rate / 2))."""
        narrow = cls(rate=rate, step=step, centre=1)
        ideal = (math.sqrt(max(4 * narrow._spread**2 - 1, 0.0)) + 1) / 2 - narrow.step * narrow._below
        candidates = [min(max(math.floor(ideal) + more, 1), narrow.step) for more in (0, 1)]
        return min((cls(rate=rate, step=step, centre=r) for r in candidates), key=cls.mean_size)

    @cached_property
    def _below(self) -> float:
        """b / (1 - b) for b = e^-rate.

        The weight of all lower steps over that of the first without its drop.
        """
        rate = float(self.rate)
        return math.exp(-rate) / -math.expm1(-rate) if rate < 700 else 0.0

    @cached_property
    def _spread(self) -> float:
        """step sqrt(b) / (1 - b): the least E|X| of the real staircase."""
        rate = float(self.rate)
        return self.step * math.exp(-rate / 2) / -math.expm1(-rate) if rate < 1400 else 0.0

    @cached_property
    def _total(self) -> float:
        return 2 * self.centre - 1 + 2 * self.step * self._below

    def _tail(self, t: float) -> float:
        """Return P[X > t] for t < centre."""
        return (self.centre - 1 - t + self.step * self._below) / self._total

    def _crossing(self, tail: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the real t at which the piecewise linear P[X > t] is `tail`."""
        rate, width = float(self.rate), float(self.step)
        weight = tail * self._total
        edge = width * (1 + self._below)  # width / (1 - b)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            steps = np.floor(np.log(edge / weight) / rate)
            below = self.centre - 1 + width * (steps - 1) + edge - weight * np.exp(rate * steps)
        top = self.centre - 1 + width * self._below - weight
        crossing = np.where(weight >= width * self._below, top, below)
        return np.where(tail <= 0, np.inf, crossing)

    def _below_top(self) -> "arb":
        """Return an enclosure of the probability of the lower steps."""
        ratio = (-balls.ball(self.rate)).exp()
        lower = 2 * self.step * ratio
        return lower / ((2 * self.centre - 1) * -(-balls.ball(self.rate)).expm1() + lower)

    def _ball_of_total(self) -> "arb":
        ratio, gap = (-balls.ball(self.rate)).exp(), -(-balls.ball(self.rate)).expm1()
        return 2 * self.centre - 1 + 2 * self.step * ratio / gap

    def mass(self, k: int) -> "arb":
        """Return an enclosure of P[X = k] for k >= 0."""
        steps = 0 if k < self.centre else (k - self.centre) // self.step + 1
        return (-balls.ball(self.rate * steps)).exp() / self._ball_of_total()

    def above(self, t: int) -> "arb":
        """Return an enclosure of the probability beyond k."""
        if t < self.centre:
            return 1 - balls.ball(Fraction(max(0, 2 * t + 1))) / self._ball_of_total()
        steps, offset = divmod(t - self.centre + 1, self.step)
        lower = self.step / -(-balls.ball(self.rate)).expm1() - offset
        return 2 * (-balls.ball(self.rate * (steps + 1))).exp() * lower / self._ball_of_total()


def _checked(name: str, value: object, upper: int) -> int:
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidParameterError(f"{name} must be an int, got {value!r}") from None
    if isinstance(value, bool) or not 1 <= number <= upper:
        raise InvalidParameterError(f"{name} must be in [1, {upper}], got {value!r}")
    return number
