"""The snapping mechanism, for comparison."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.additive.base import require_range
from deniable.mechanisms.base import Mechanism, Released, WorstCase
from deniable.mechanisms.integers import clamped
from deniable.noise import geometric
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.balls import ball, certified
from deniable.numbers.rationals import Real, positive_integer, positive_rational, probability
from deniable.privacy import Interval, LaplaceLoss, PrivacyLoss, PureLoss, Sensitivity
from deniable.privacy.calibration import laplace_scale

LARGEST_BOUND = 2**58


@dataclass(frozen=True, kw_only=True)
class Snapping(Mechanism):
    """Clamp, add real Laplace noise, round to a power of two, and clamp again.

    Use Laplace: its noise has the same guarantee without bound and rounding. The original defends noise that is drawn
    in floating point; here the same function of an ideal real draw is computed in whole numbers, exactly. Values are
    clamped to [-bound, bound] and rounded to multiples of a power of two >= scale. What else differs from the original
    stands in docs/theory/mechanisms/additive.md.

    Args:
        scale: of the noise, in lattice steps, from 2^-56 to 2^56.
        bound: in lattice steps, from 1 to 2^58.

    Guarantee: epsilon-DP with epsilon = l1 / scale, by post-processing of real Laplace noise; nothing is added for
        floating point.
    Source: Mironov (2012), "On significance of the least significant bits for differential privacy".

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = Snapping.calibrated(count, epsilon="0.1", bound=1000)
    >>> mechanism.grid  # releases are multiples of it
    16
    >>> mechanism.half_width(0.95)
    37
    """

    kind: ClassVar[str] = "snapping"
    _of_sums: ClassVar[bool] = True

    scale: Annotated[Fraction, positive_rational]
    bound: Annotated[int, positive_integer]

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("scale", self.scale, lower=Fraction(1, 2**56), upper=Fraction(2**56))
        require_range("bound", Fraction(self.bound), lower=Fraction(1), upper=Fraction(LARGEST_BOUND))

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real, bound: int) -> "Snapping":
        """Return the least noise that is epsilon-DP for this sensitivity."""
        return cls(scale=laplace_scale(sensitivity, epsilon), bound=bound)

    @property
    def grid(self) -> int:
        """The least power of two >= scale; releases are multiples of it, or an end."""
        return 1 << (-(-self.scale.numerator // self.scale.denominator) - 1).bit_length()

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        moved = sensitivity.integral().l1
        loss = LaplaceLoss(self.scale / moved) if moved else PureLoss(0)
        return loss.under(sensitivity.relation)

    def half_width(self, level: object) -> int:
        """Return a t with P[|y - x| <= t] >= level for every secret x within the bound.

        It is at most `grid` + 1 too large. Rounding moves the noisy number by grid/2 at most, and to clamp it brings it
        no further from x. Real Laplace noise exceeds scale ln(1 / (1 - level)) with probability 1 - level.
        """
        miss = 1 - probability("level", level)
        noise = certified(lambda: -ball(miss).log() * ball(self.scale), within=Interval(0.0, math.inf)).upper
        return min(math.floor(Fraction(noise) + Fraction(self.grid, 2)), 2 * self.bound)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """Return a multiple of `grid`, or an end, for each secret integer.

        Args:
            exact: secret; integers of any shape.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError if `exact` holds anything but integers.
        """
        secret = clamped("exact", exact, lower=-self.bound, upper=self.bound)
        grid = self.grid
        enough = 4 * (self.bound + grid)  # noise of this size leads to an end, however much more it is
        noise = geometric.floored_laplace(scale=2 * self.scale, size=secret.shape, bits=bits)
        doubled = clamped("noise", noise, lower=-enough, upper=enough)
        rounded = (2 * secret + doubled + grid) // (2 * grid) * grid
        return Released(np.asarray(np.clip(rounded, -self.bound, self.bound)), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """Return the sums of the entries of each release."""
        return np.asarray(self.release(np.tile(exact, (runs, 1)), bits=bits).value.sum(axis=1))

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A count with scale 3/2, seen in steps of 2 up to 40.

        Events beyond both values attain epsilon; the whole curve of real noise is not seen through the rounding.
        """
        return WorstCase(mechanism=cls(scale=Fraction(3, 2), bound=40), exact=(1,), neighbour=(0,), attains=False)
