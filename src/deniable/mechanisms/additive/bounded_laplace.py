"""Discrete Laplace noise whose answers lie in a public range."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.additive.base import checked_scale
from deniable.mechanisms.base import InBounds, Mechanism, Released, WorstCase, require_listed, shares
from deniable.mechanisms.integers import clamped, public_bounds
from deniable.noise import truncated_laplace
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, decimal_above, positive_rational, probability
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.privacy.calibration import laplace_scale
from deniable.privacy.constructors import BoundedLaplaceLoss
from deniable.privacy.losses.bounded_laplace import BoundedLaplaceStatement

if TYPE_CHECKING:
    from flint import arb

LARGEST_END = 2**60
_DIGITS = 9


@dataclass(frozen=True, kw_only=True)
class BoundedLaplace(InBounds, Mechanism):
    """Answer y of a public range with P(y) ~ exp(-|y - x| / scale), instead of x.

    Not the same as Laplace noise that is clamped to the range, which is cheaper and piles up at the ends: here the ends
    are as likely as their neighbours, and the scale must be larger, since the total weight depends on x.

    Args:
        scale: in lattice steps; > 0.
        bounds: the public range (lower, upper), whole numbers; a secret value outside is moved to the nearest end.

    Guarantee: epsilon-DP with epsilon = l1 / scale + ln(ratio of the total weights of two inputs), at the ends of the
        range; the formula is in BoundedLaplaceLoss.
    Source: Holohan, Antonatos, Braghin, Mac Aonghusa (2020), arXiv:1808.10410.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = BoundedLaplace.calibrated(count, epsilon=1, bounds=(0, 10))
    >>> mechanism.half_width(0.95)
    3
    >>> sorted(mechanism.pmf(3)) == list(range(11))
    True
    """

    kind: ClassVar[str] = "bounded_laplace"
    _of_sums: ClassVar[bool] = True

    scale: Annotated[Fraction, checked_scale]
    bounds: Annotated[tuple[int, int], partial(public_bounds, largest=LARGEST_END)]

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real, bounds: tuple[int, int]) -> "BoundedLaplace":
        """Return the mechanism with a scale proved to be epsilon-DP, to nine digits."""
        limit = positive_rational("epsilon", epsilon)
        width = cls(scale=Fraction(1), bounds=bounds).width

        def private(scale: Fraction) -> bool:
            return BoundedLaplaceStatement(scale, width, sensitivity).failing_epsilon <= limit

        below = above = decimal_above(checked_scale("scale", laplace_scale(sensitivity, limit)), _DIGITS)
        while not private(above):
            below, above = above, decimal_above(2 * above, _DIGITS)
        while (middle := decimal_above((above + below) / 2, _DIGITS)) < above:
            below, above = (below, middle) if private(middle) else (middle, above)
        return cls(scale=above, bounds=bounds)

    @property
    def width(self) -> int:
        """upper - lower."""
        return self.upper - self.lower

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return BoundedLaplaceLoss(self.scale, self.width, sensitivity)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """An answer of the range for each secret integer.

        Args:
            exact: secret; integers of any shape.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError if `exact` holds anything but integers.
        """
        secret = clamped("exact", exact, lower=self.lower, upper=self.upper)
        flat = secret.ravel()
        noise = truncated_laplace.sample_within(
            scale=self.scale, left=flat - self.lower, right=self.upper - flat, bits=bits
        )
        return Released(secret + noise.reshape(secret.shape), bits.safe)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        """Probability of every answer for one secret integer."""
        require_listed(self.width + 1)
        (secret,) = clamped("exact", exact, lower=self.lower, upper=self.upper).reshape(-1).tolist()
        return shares({y: ball(-abs(y - secret) / self.scale).exp() for y in range(self.lower, self.upper + 1)})

    def half_width(self, level: object) -> int:
        """Return the smallest t certified to have P[|y - x| <= t] >= level for every x.

        The worst values are an end of the range and its middle: docs/theory/mechanisms/additive.md.
        """
        miss = ball(1 - probability("level", level))
        from flint import ctx

        with ctx.workprec(512):
            low, high = -1, self.width
            while high - low > 1:
                middle = (low + high) // 2
                holds = all(bool(self._beyond(offset, middle) <= miss) for offset in (0, self.width // 2))
                low, high = (low, middle) if holds else (middle, high)
        return high

    def _beyond(self, offset: int, t: int) -> "arb":
        """Enclosure of P[|y - x| > t] for x = lower + place."""

        def power(exponent: int) -> "arb":
            return (-ball(exponent / self.scale)).exp()

        ends = (offset, self.width - offset)
        above = sum((power(t + 1) - power(end + 1) for end in ends if end > t), ball(Fraction(0)))
        return above / (1 + power(1) - power(ends[0] + 1) - power(ends[1] + 1))

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """The sums of the entries of each release."""
        return np.asarray(self.release(np.tile(exact, (runs, 1)), bits=bits).value.sum(axis=1))

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A count in 0, ..., 10 with scale 2, at the end of the range and beside it.

        The pair attains epsilon, not the whole curve, which is bounded by that of all epsilon-DP mechanisms.
        """
        return WorstCase(mechanism=cls(scale=Fraction(2), bounds=(0, 10)), exact=(0,), neighbour=(1,), attains=False)
