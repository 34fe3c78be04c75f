"""Discrete staircase noise."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive.base import AdditiveNoise, require_range
from deniable.mechanisms.base import WorstCase
from deniable.noise import laplace, staircase
from deniable.noise.bits import Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.rationals import Real, positive_integer, positive_rational, shown
from deniable.privacy import AddRemove, PrivacyLoss, Sensitivity, of_count
from deniable.privacy.calibration import laplace_scale
from deniable.privacy.constructors import StaircaseLoss
from deniable.privacy.losses.staircase import StaircaseStatement

if TYPE_CHECKING:
    from flint import arb


@dataclass(frozen=True, kw_only=True)
class Staircase(AdditiveNoise):
    """Add noise that falls by e^-rate from one step to the next.

    It is less noise than Laplace where epsilon is large. A step is as wide as the sensitivity, and the answers on it
    are equally likely. With one integer to a step it is Laplace noise of scale 1 / rate. It is worth it for one real
    number on a fine lattice at epsilon above 2 or so: E|noise| is then sensitivity / (2 sinh(epsilon/2)), against
    sensitivity / epsilon. For vectors every coordinate that changes costs a step of its own: use Laplace.

    Args:
        rate: the logarithm of the ratio of neighbouring steps.
        step: how many integers a step is wide.
        centre: the top step holds the integers |k| < centre; from 1 to step.

    Guarantee: epsilon-DP with epsilon = rate for one number with sensitivity <= step; otherwise rate for each step that
        a unit can cross. The whole curve is in StaircaseLoss.
    Source: Geng, Viswanath (2012), arXiv:1212.1186.

    >>> from deniable.mechanisms import Laplace
    >>> from deniable.privacy import AddRemove, of_count
    >>> total = of_count(rows=1000, groups=1, relation=AddRemove)  # a sum that one unit moves by up to 1000 steps
    >>> mechanism = Staircase.calibrated(total, epsilon=4)
    >>> round(mechanism.mean_size()), round(Laplace.calibrated(total, epsilon=4).standard_deviation() / 2**0.5)
    (138, 250)
    """

    kind: ClassVar[str] = "staircase"

    rate: Annotated[Fraction, positive_rational]
    step: Annotated[int, positive_integer]
    centre: Annotated[int, positive_integer]

    def __post_init__(self) -> None:
        super().__post_init__()
        require_range("rate", self.rate, lower=1 / laplace.LARGEST_SCALE, upper=1 / laplace.SMALLEST_SCALE)
        require_range("step", Fraction(self.step), lower=Fraction(1), upper=Fraction(staircase.LARGEST_STEP))
        if self.centre > self.step:
            raise InvalidParameterError(f"centre must be <= step={self.step}, got {shown(self.centre)}")

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real) -> "Staircase":
        """Return the noise of least mean size, in steps as wide as the largest change."""
        laplace_scale(sensitivity, epsilon)  # refuses what needs no noise
        step = int(sensitivity.integral().linf)
        crossed = StaircaseStatement(1, step, 1, sensitivity).crossed
        best = staircase.Stairs.best(rate=positive_rational("epsilon", epsilon) / crossed, step=step)
        return cls(rate=best.rate, step=step, centre=best.centre)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return StaircaseLoss(self.rate, self.step, self.centre, sensitivity)

    @cached_property
    def _stairs(self) -> staircase.Stairs:
        return staircase.Stairs(rate=self.rate, step=self.step, centre=self.centre)

    def _noise(self, shape: tuple[int, ...], bits: Bits) -> ExactIntegers:
        return self._stairs.sample(size=shape, bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a sum that a unit moves by one step of 3, at epsilon = 1.

        Outcomes one step down attain the curve.
        """
        one_sum = of_count(rows=3, groups=1, relation=AddRemove)
        mechanism = cls(rate=Fraction(1), step=3, centre=1)
        return WorstCase(mechanism=mechanism, sensitivity=one_sum, exact=(3,), neighbour=(0,))

    def _mass(self, k: int) -> "arb":
        return self._stairs.mass(k)

    def _above(self, k: int) -> "arb":
        return self._stairs.above(k) / 2

    def quantile(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._stairs.quantile(p)

    def standard_deviation(self) -> float:
        return self._stairs.standard_deviation()

    def mean_size(self) -> float:
        """Return E|noise|, which `calibrated` makes least."""
        return self._stairs.mean_size()
