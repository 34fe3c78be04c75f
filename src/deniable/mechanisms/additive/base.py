"""Mechanisms that add noise to integers."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.law import NoiseLaw
from deniable.mechanisms.base import Mechanism, Released
from deniable.mechanisms.integers import integers, plus
from deniable.noise import laplace
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.balls import ball
from deniable.numbers.interval import round_up
from deniable.numbers.rationals import positive_rational, probability, shown

if TYPE_CHECKING:
    from flint import arb

_PRECISION = 256  # bits in which tails are compared with a level


def additive(name: str, value: object) -> "AdditiveNoise":
    """Read a parameter that is additive noise.

    Raises: InvalidParameterError.
    """
    if not isinstance(value, AdditiveNoise):
        raise InvalidParameterError(f"{name} must be additive, such as Laplace or Gaussian, got {shown(value)}")
    return value


@dataclass(frozen=True, kw_only=True)
class AdditiveNoise(Mechanism):
    """Base of mechanisms that add symmetric noise, independently, to every integer.

    Integers come from the caller: counts are integers, and reals are put on a lattice first (deniable.noise.lattice),
    whose steps are the unit of every parameter here.
    """

    _of_sums: ClassVar[bool] = True

    @abstractmethod
    def _noise(self, shape: tuple[int, ...], bits: Bits) -> ExactIntegers:
        """Draw independent noise."""

    @abstractmethod
    def _mass(self, k: int) -> "arb":
        """Return P[noise = k] for k >= 0, at the working precision."""

    @abstractmethod
    def _above(self, k: int) -> "arb":
        """Return P[noise > k] for k >= 0, at the working precision."""

    @abstractmethod
    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return quantiles of the noise in float64, for error bars only."""

    @abstractmethod
    def standard_deviation(self) -> float:
        """Return the standard deviation of the noise."""

    def law(self, step: Fraction = Fraction(1)) -> NoiseLaw:
        """Return the distribution of the noise, with one lattice step worth `step`."""
        return NoiseLaw(self, step)

    def half_width(self, level: object) -> int:
        """Return the smallest t with P[|noise| <= t] >= level, certified.

        Args:
            level: in [0, 1).
        """
        miss = 1 - probability("level", level)
        from flint import ctx

        with ctx.workprec(_PRECISION):
            allowed = ball(miss / 2)
            low, high = -1, 1
            while not self._above(high) <= allowed:
                low, high = high, 2 * high
            while high - low > 1:  # certified at high, not at low
                middle = (low + high) // 2
                low, high = (low, middle) if self._above(middle) <= allowed else (middle, high)
        return high

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """Return the exact integers plus fresh noise.

        Args:
            exact: secret; integers of any shape, in any integer dtype or as Python ints.
            bits: leave it out, except in tests.

        Returns: int64, or Python ints in an object array where int64 cannot hold them.
        Raises: InvalidParameterError if `exact` holds anything but integers.
        """
        secret = integers("exact", exact)
        return Released(plus(secret, self._noise(secret.shape, bits)), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the sums of the entries of each release.

        Worst cases differ in one entry or in all of them alike.
        """
        return np.asarray(self.release(np.tile(exact, (runs, 1)), bits=bits).value.sum(axis=1))


def checked_scale(name: str, value: object) -> Fraction:
    """Return a scale of discrete Laplace noise that can be drawn."""
    scale = positive_rational(name, value)
    return require_range(name, scale, lower=laplace.SMALLEST_SCALE, upper=laplace.LARGEST_SCALE)


def require_range(name: str, value: Fraction, *, lower: Fraction, upper: Fraction) -> Fraction:
    """Refuse a parameter that the sampler would refuse, before anything is spent."""
    if not lower <= value <= upper:
        raise InvalidParameterError(
            f"{name} must be in [{float(lower):.3g}, {float(upper):.3g}] lattice steps, got {round_up(value):.3g}. "
            "If it is too large, ask for a larger epsilon, narrower bounds or a coarser lattice; else the reverse."
        )
    return value
