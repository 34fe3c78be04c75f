"""Smooth sensitivity with pure differential privacy: noise with the tails of Student's t."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.instance.smooth import SmoothNoise, shift_below
from deniable.noise import rounded
from deniable.privacy import PureLoss, Replace, of_count
from deniable.privacy.exact import positive_rational, shown
from deniable.privacy.profile import ball


@dataclass(frozen=True, kw_only=True)
class SmoothStudentT(SmoothNoise):
    """Add Student's t noise of scale S / shift, S a beta-smooth bound of the sensitivity; degrees = 1 is Cauchy noise.

    Guarantee: epsilon-DP with epsilon = degrees beta + shift (degrees + 1) / (2 sqrt(degrees)).
    Source: Nissim, Raskhodnikova, Smith (2007); Bun, Steinke (2019), arXiv:1906.02830; constants sharpened in
        docs/theory/smooth_sensitivity.md.
    """

    kind: ClassVar[str] = "smooth_student_t"
    guarantee: ClassVar[str] = "epsilon-DP, epsilon = degrees beta + shift (degrees + 1) / (2 sqrt(degrees))"
    source: ClassVar[str] = "Nissim, Raskhodnikova, Smith (2007); Bun, Steinke (2019)"

    epsilon: Fraction
    degrees: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", positive_rational("epsilon", self.epsilon))
        object.__setattr__(self, "degrees", positive_rational("degrees", self.degrees))
        if not 1 <= self.degrees <= 100:
            raise InvalidParameterError(f"degrees must be in [1, 100], got {shown(self.degrees)}")
        super().__post_init__()

    @classmethod
    def calibrated(cls, *, epsilon: object, lower: int, upper: int, degrees: object = 1) -> "SmoothStudentT":
        """The noise for epsilon, with the usual beta = epsilon / (2 (degrees + 2)): epsilon / 6 for Cauchy noise."""
        target, tails = positive_rational("epsilon", epsilon), positive_rational("degrees", degrees)
        return cls(epsilon=target, degrees=tails, beta=target / (2 * (tails + 2)), lower=lower, upper=upper)

    @cached_property
    def shift(self) -> Fraction:
        left = self.epsilon - self.degrees * self.beta
        return shift_below(lambda: ball(left) * 2 * ball(self.degrees).sqrt() / ball(self.degrees + 1))

    def _law(self) -> rounded.StudentT:
        return rounded.StudentT(self.degrees)

    def _loss(self) -> PureLoss:
        return PureLoss(self.epsilon)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A statistic that moves by its sensitivity, 6. No pair attains the bound for shift and beta at one place."""
        return WorstCase(
            mechanism=cls.calibrated(epsilon=3, lower=-20, upper=26),
            sensitivity=of_count(rows=1, groups=1, cells=1, relation=Replace),
            exact=(6, 6),
            neighbour=(0, 6),
            attains=False,
        )
