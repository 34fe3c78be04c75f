"""The best of a truncated negative binomial number of runs, geometric among them."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.wrappers.repeats import Repeated, chain
from deniable.noise.bits import Bits
from deniable.numbers.interval import round_up
from deniable.numbers.rationals import exact_rational, positive_rational, shown
from deniable.privacy import BestOfLoss, PrivacyLoss, Sensitivity

_SMALLEST_STOP = Fraction(1, 10**6)


@dataclass(frozen=True, kw_only=True)
class BestOf(Repeated):
    """Run a mechanism K >= 1 times and release the best, as in hyper-parameter tuning.

    K is geometric for shape = 1: every run is the last with probability `stop`. P(K = k) is proportional to
    (1 - stop)^k (shape)(shape + 1)...(shape + k - 1)/k! in general, logarithmic for shape = 0.

    For Gaussian noise and other unbounded losses a budget is charged with a pair that the curve proves:
    `mechanism.privacy_loss(reach).stated(epsilon=..., delta=...)`.

    Args:
        base: the mechanism.
        stop: in [10^-6, 1).
        shape: in (-1, 1].

    Guarantee: below (2 + shape) epsilon for an epsilon-DP mechanism; the whole curve is in `BestOfLoss`.
    Source: Liu, Talwar (2019), arXiv:1811.07971; Papernot, Steinke (2022), arXiv:2110.03620;
        docs/theory/privacy/tuning.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> tuned = BestOf(base=Laplace(scale=10), stop="1/10")  # 10 runs on average
    >>> f"{tuned.privacy_loss(count).epsilon(0).upper:.4f}"  # below 3 * 0.1
    '0.2636'
    >>> best = tuned.release([120]).value
    """

    kind: ClassVar[str] = "best_of"

    stop: Annotated[Fraction, positive_rational]
    shape: Annotated[Fraction, exact_rational] = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _SMALLEST_STOP <= self.stop < 1:
            raise InvalidParameterError(f"stop must be in [1e-6, 1), got {round_up(self.stop):.3g}")
        if not -1 < self.shape <= 1:
            raise InvalidParameterError(f"shape must be in (-1, 1], got {shown(self.shape)}")

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return BestOfLoss(self.base.privacy_loss(sensitivity), self.stop, self.shape)

    def _runs(self, count: int, bits: Bits) -> NDArray[np.int64]:
        return chain(count, first=1, stop=self.stop, keep=lambda k: (k + self.shape) / (k + 1), bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return the largest of some noisy counts.

        The claim is reached by other mechanisms, with another order of their outcomes.
        """
        mechanism = cls(base=Laplace(scale=Fraction(1)), stop=Fraction(1, 2), shape=Fraction(1, 2))
        return WorstCase(mechanism=mechanism, exact=(0,), neighbour=(1,), attains=False)
