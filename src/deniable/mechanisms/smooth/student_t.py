"""Smooth sensitivity with pure differential privacy: noise with Student's tails."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.smooth.base import PureSmoothNoise, shift_below
from deniable.noise import rounded
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real, decimal_below, positive_rational, shown

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class SmoothStudentT(PureSmoothNoise):
    """Add Student's t noise of scale S / shift; degrees = 1 is Cauchy noise.

    S is a beta-smooth bound of the sensitivity.

    Args:
        epsilon: of the guarantee.
        degrees: of freedom, in [1, 100].
        beta: of the smooth bound.
        bounds: public (lower, upper) of the statistic, whole numbers of lattice steps.

    Guarantee: epsilon-DP with shift^2 = 2 degrees e^b (cosh((2 epsilon - (degrees - 1) b) / (degrees + 1)) - cosh b),
        the lesser one of b = 0 and b = beta; exact. For Cauchy noise and a small epsilon that is epsilon^2 - beta^2.
    Source: Nissim, Raskhodnikova, Smith (2007); Bun, Steinke (2019), arXiv:1906.02830; the constants in
        docs/theory/mechanisms/smooth.md.

    >>> noise = SmoothStudentT.calibrated(epsilon=1, degrees=3, bounds=(0, 1000))
    >>> round(noise.standard_deviation(5), 1)  # where the smooth bound is 5
    14.2
    """

    kind: ClassVar[str] = "smooth_student_t"

    degrees: Fraction

    def __post_init__(self) -> None:
        read_fields(self, degrees=_checked(self.degrees))
        super().__post_init__()

    @classmethod
    def calibrated(cls, *, epsilon: Real, bounds: tuple[int, int], degrees: object = 1) -> "SmoothStudentT":
        """Return the noise for epsilon, least where the smooth bound is ~ 1 / beta.

        That is so for well-spread records.

        beta = x epsilon with 4 degrees x^2 + 3 (degrees - 1) x = 2: 0.707 epsilon for Cauchy noise.
        """
        target = positive_rational("epsilon", epsilon)
        tails = _checked(degrees)
        middle = 3 * float(tails - 1)
        share = decimal_below(Fraction((math.sqrt(middle**2 + 32 * float(tails)) - middle) / (8 * float(tails))), 3)
        return cls(epsilon=target, degrees=tails, beta=target * share, bounds=bounds)

    def _shift_at(self, b: Fraction) -> Fraction:
        exponent = (2 * self.epsilon - (self.degrees - 1) * b) / (self.degrees + 1)
        if exponent <= b:
            return Fraction(0)

        def square() -> "arb":
            return ball(2 * self.degrees) * ball(b).exp() * (ball(exponent).cosh() - ball(b).cosh())

        return shift_below(lambda: square().sqrt())

    def _law(self) -> rounded.StudentT:
        return rounded.StudentT(self.degrees)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a statistic that moves by its sensitivity, 6.

        A neighbour with another bound may lose more.
        """
        return cls._moving(cls.calibrated(epsilon=3, bounds=(-20, 26)))


def _checked(degrees: object) -> Fraction:
    """Return degrees of freedom, exact."""
    value = positive_rational("degrees", degrees)
    if not 1 <= value <= 100:
        raise InvalidParameterError(f"degrees must be in [1, 100], got {shown(value)}")
    return value
