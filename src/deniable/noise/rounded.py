"""Exact rounding of continuous noise to the integers.

Round(centre + scale * Z), for laws with heavy tails.

Z is a formula of a few uniform real numbers, each known by 64 bits. The formula is evaluated on boxes (float64 with
outward rounding), and where the box does not decide to which integer the value rounds, words are appended to the same
numbers and the formula is evaluated in ball arithmetic, until it does.

Guarantee: the integer is the rounding of an ideal draw from the continuous law; so what is proved of the real number
    centre + scale * Z holds for the integer, as post-processing.
Proof: docs/theory/mechanisms/smooth.md, "Rounded noise".
Source: Normal: the polar method of Marsaglia, Bray (1964); Student's t: Bailey (1994), "Polar generation of random
    variates with the t-distribution".
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise import refine
from deniable.noise.bits import SECURE, Bits, Size, shape_of
from deniable.noise.boxes import Enclosure
from deniable.numbers import balls

if TYPE_CHECKING:
    from flint import arb

Real: TypeAlias = Any  # a Box or an arb: whatever has + - * / log exp sqrt

SMALLEST_SCALE = Fraction(1, 2**64)
LARGEST_SCALE = Fraction(2**128)
LARGEST_BOUND = 2**62

_CERTAIN = 2.0**52  # below it floats tell integers and halves apart


class Continuous(ABC):
    """A law as a formula of uniform numbers.

    Drawn again where a condition on them fails.
    """

    uniforms: int
    share: float = 1.0  # of the draws that fulfil the conditions, about

    @abstractmethod
    def value(self, u: Sequence[Real]) -> Real:
        """Return the variable, written with + - * / log exp sqrt alone."""

    @abstractmethod
    def standard_deviation(self) -> float:
        """Standard deviation of the variable, in float64; infinite for heavy tails."""

    def condition(self, u: Sequence[Real]) -> Real | None:
        """Return the value that must be positive for the draw to count.

        None if every draw counts.
        """
        return None


@dataclass(frozen=True)
class StandardLaplace(Continuous):
    """Density exp(-|z|) / 2: the difference of two exponential variables."""

    uniforms = 2

    def value(self, u: Sequence[Real]) -> Real:
        return u[0].log() - u[1].log()

    def standard_deviation(self) -> float:
        return math.sqrt(2)


@dataclass(frozen=True)
class Pareto(Continuous):
    """Density proportional to (1 + |z| / (tail + 1))^(-(tail + 1)), of either sign.

    Near Laplace for a large tail.
    """

    tail: Fraction
    uniforms = 2

    def value(self, u: Sequence[Real]) -> Real:
        sided = u[0] * 2 - 1
        power = (u[1].log() * _like(u[1], -1 / self.tail)).exp()  # of the odds to be this far out
        return sided / (sided * sided).sqrt() * (power - 1) * _like(power, self.tail + 1)

    def standard_deviation(self) -> float:
        tail = float(self.tail)
        return (tail + 1) * math.sqrt(2 / ((tail - 1) * (tail - 2))) if tail > 2 else math.inf


class _Polar(Continuous):
    """A formula of a uniform point (x, y) of the unit disc."""

    uniforms = 2
    share = 0.785

    def condition(self, u: Sequence[Real]) -> Real:
        return 1 - _point(u)[1]


@dataclass(frozen=True)
class StandardNormal(_Polar):
    """Mean 0, variance 1."""

    def value(self, u: Sequence[Real]) -> Real:
        x, square = _point(u)
        return x * (square.log() * -2 / square).sqrt()

    def standard_deviation(self) -> float:
        return 1.0


@dataclass(frozen=True)
class StudentT(_Polar):
    """Density proportional to (1 + z^2 / degrees)^(-(degrees + 1) / 2).

    Degrees = 1 is Cauchy.
    """

    degrees: Fraction

    def value(self, u: Sequence[Real]) -> Real:
        x, square = _point(u)
        power = (square.log() * _like(square, -2 / self.degrees)).exp()
        return x * ((power - 1) * _like(square, self.degrees) / square).sqrt()

    def standard_deviation(self) -> float:
        degrees = float(self.degrees)
        return math.sqrt(degrees / (degrees - 2)) if degrees > 2 else math.inf


@dataclass(frozen=True)
class LaplaceLogNormal(_Polar):
    """X exp(spread Y) with X Laplace and Y normal, independent."""

    spread: Fraction
    uniforms = 4

    def value(self, u: Sequence[Real]) -> Real:
        normal = StandardNormal().value(u[:2])
        return StandardLaplace().value(u[2:]) * (normal * _like(normal, self.spread)).exp()

    def standard_deviation(self) -> float:
        return math.sqrt(2) * math.exp(float(self.spread) ** 2)


def sample(
    law: Continuous,
    *,
    centre: Fraction | int,
    scale: Fraction | int,
    lower: int,
    upper: int,
    size: Size = None,
    bits: Bits = SECURE,
) -> NDArray[np.int64]:
    """Draw independent integers round(min(max(centre + scale * Z, lower), upper)).

    Args:
        centre: exact and secret; so is scale, of [2^-64, 2^128].
        lower: public, at least -2^62; upper likewise, at most 2^62.
        size: shape of the result; a 0-d array for None.
        bits: leave it out, except in tests.

    Raises: InvalidParameterError if a parameter is a float or outside; the message shows neither centre nor scale.
    """
    shape = shape_of(size)
    task = _Task(law, _secret(centre), _secret(scale), *_bounds(lower, upper))
    if not SMALLEST_SCALE <= task.scale <= LARGEST_SCALE:
        raise InvalidParameterError("scale must be in [2^-64, 2^128]. Use a coarser or a finer lattice.")
    count = int(np.prod(shape, dtype=np.int64))
    parts: list[NDArray[np.int64]] = []
    while count > 0:
        part = task.draws(int(count / law.share) + 8, bits)[:count]
        parts.append(part)
        count -= part.size
    return np.concatenate(parts).reshape(shape) if parts else np.empty(shape, dtype=np.int64)


@dataclass(frozen=True)
class _Task:
    law: Continuous
    centre: Fraction
    scale: Fraction
    lower: int
    upper: int

    def draws(self, attempts: int, bits: Bits) -> NDArray[np.int64]:
        """Return the results of those of `attempts` draws that count."""
        words = bits.words(attempts * self.law.uniforms).reshape(attempts, self.law.uniforms)
        u = [Enclosure.of_words(column) for column in words.T]
        counts, decided = np.ones(attempts, dtype=bool), np.ones(attempts, dtype=bool)
        condition = self.law.condition(u)
        if condition is not None:
            counts = condition.low > 0
            decided = counts | (condition.high < 0)
        integers, certain = self._rounded(self.law.value(u))
        for i in np.flatnonzero(~decided | (counts & ~certain)):
            exact = self.exactly([refine.Prefix(int(word), 64) for word in words[i]], bits)
            counts[i] = exact is not None
            integers[i] = 0 if exact is None else exact
        return integers[counts]

    def _rounded(self, value: Enclosure) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return to which integers boxes round, and where that is certain."""
        shifted = value * Enclosure.of(self.scale) + Enclosure.of(self.centre + Fraction(1, 2))
        low, high = np.floor(shifted.low), np.floor(shifted.high)
        below, above = shifted.high < min(self.lower, -1), shifted.low > max(self.upper, 1) * (1 + 2.0**-50) + 1
        inside = (low == high) & (np.abs(low) < _CERTAIN)
        integers = np.clip(np.where(inside, low, 0.0).astype(np.int64), self.lower, self.upper)
        integers[below], integers[above] = self.lower, self.upper
        return integers, inside | below | above

    def exactly(self, prefixes: list[refine.Prefix], bits: Bits, width: int = 64) -> int | None:
        """Return the integer for uniform numbers that begin like this.

        None if the draw does not count.
        """
        from flint import ctx

        guard = refine.GUARD_BITS + max(0, self.scale.numerator.bit_length() - self.scale.denominator.bit_length())
        while True:
            with ctx.workprec(prefixes[0].length + guard):
                u = [_ball(prefix) for prefix in prefixes]
                condition = self.law.condition(u)
                if condition is not None and condition < 0:
                    return None
                if condition is None or condition > 0:
                    integer = self._exactly_rounded(self.law.value(u))
                    if integer is not None:
                        return integer
            prefixes = [prefix.extended(bits, width) for prefix in prefixes]

    def _exactly_rounded(self, value: "arb") -> int | None:
        shifted = value * balls.ball(self.scale) + balls.ball(self.centre + Fraction(1, 2))
        if shifted < self.lower:
            return self.lower
        if shifted > self.upper + 1:
            return self.upper
        integer = shifted.floor().unique_fmpz()
        return None if integer is None else min(max(int(integer), self.lower), self.upper)


def _point(u: Sequence[Real]) -> tuple[Real, Real]:
    """Return x and x^2 + y^2 of a point (x, y) of the square [-1, 1]^2."""
    x, y = u[0] * 2 - 1, u[1] * 2 - 1
    return x, x * x + y * y


def _like(real: Real, number: Fraction) -> Real:
    """Return a rational as the same kind of number as `real`."""
    return Enclosure.of(number) if isinstance(real, Enclosure) else balls.ball(number)


def _ball(prefix: refine.Prefix) -> "arb":
    """Return all numbers that begin like this."""
    from flint import arb, fmpz

    return arb(fmpz(2 * prefix.value + 1), 1) / arb(2) ** (prefix.length + 1)


def _secret(value: object) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise InvalidParameterError(f"centre and scale must be ints or Fractions, got a {type(value).__name__}")
    return Fraction(value)


def _bounds(lower: object, upper: object) -> tuple[int, int]:
    for bound in (lower, upper):
        if isinstance(bound, bool) or not isinstance(bound, int) or abs(bound) > LARGEST_BOUND:
            raise InvalidParameterError(f"lower and upper must be integers of [-2^62, 2^62], got {bound!r}")
    assert isinstance(lower, int)
    assert isinstance(upper, int)
    if lower > upper:
        raise InvalidParameterError(f"lower must not be above upper, got lower={lower}, upper={upper}. Swap them.")
    return lower, upper
