"""Private tests of a distance to instability."""

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import Mechanism
from deniable.noise.bits import Bits
from deniable.numbers.balls import ball, certified
from deniable.numbers.rationals import Real, decimal_above, positive_rational, probability, shown, whole_number
from deniable.privacy import Relation, Sensitivity

if TYPE_CHECKING:
    from flint import arb

_DIGITS = 12
_MIN_PROBABILITY = Fraction(1, 10**300)  # below it a probability counts as 0


@dataclass(frozen=True, kw_only=True)
class DistanceTest(Mechanism):
    """Base of mechanisms that answer if a secret distance plus noise is large enough.

    Args:
        test: the noise of the distance.
        threshold: an integer >= 0.
    """

    test: Laplace
    threshold: Annotated[int, partial(whole_number, lower=0)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.test, Laplace):
            raise InvalidParameterError(f"test must be Laplace noise, got {shown(self.test)}")

    def no_answer(self, *, distance: int) -> float:
        """Return the probability of no answer at this distance, in float64.

        For a public guess of the distance, before anything is spent.

        By the symmetry of the noise, P(X <= m) = 1 - P(X > m) = P(X > -m - 1), m = threshold - distance.
        """
        margin = self.threshold - whole_number("distance", distance, lower=0)
        return float(1 - tail(self.test.scale, margin) if margin >= 0 else tail(self.test.scale, -margin - 1))

    def _passes(self, distance: int, runs: int, bits: Bits) -> NDArray[np.bool_]:
        noisy = self.test.release(np.full(runs, min(max(distance, 0), 2**62), dtype=np.int64), bits=bits)
        return np.asarray(noisy.value > self.threshold, dtype=np.bool_)


def above(scale: Fraction, margin: int) -> "arb":
    """Return P(X > margin), for margin >= -1, at the working precision.

    It is q^(margin + 1) / (1 + q) with q = e^(-1 / scale).
    """
    return ball(-(margin + 1) / scale).exp() / (1 + ball(-1 / scale).exp())


def tail(scale: Fraction, margin: int) -> Fraction:
    """Return a decimal at or just above P(X > margin), for margin >= -1."""
    enclosure = certified(lambda: above(scale, margin))
    return min(max(decimal_above(Fraction(enclosure.upper), _DIGITS), _MIN_PROBABILITY), Fraction(1))


def least_margin(scale: Fraction, delta: Real) -> int:
    """Return the smallest margin >= 0 with tail(scale, margin) <= delta."""
    target = probability("delta", delta)
    if target == 0:
        raise InvalidParameterError("delta must be > 0, got 0. A test by noise fails with some probability.")
    high = 1
    while tail(scale, high) > target:
        high *= 2
    low = -1
    while high - low > 1:
        middle = (high + low) // 2
        low, high = (low, middle) if tail(scale, middle) <= target else (middle, high)
    return high


def of_steps(steps: object, relation: Relation) -> Sensitivity:
    """Return the sensitivity of one integer that moves by at most this much."""
    size = positive_rational("steps", steps)
    return Sensitivity(l1=size, l2_squared=size**2, linf=size, relation=relation, coordinates=1)
