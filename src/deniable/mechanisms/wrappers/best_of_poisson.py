"""The best of a Poisson number of runs."""

import math
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
from deniable.numbers.rationals import positive_rational
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.privacy.constructors import BestOfPoissonLoss

_LARGEST_MEAN = 10**6


@dataclass(frozen=True, kw_only=True)
class BestOfPoisson(Repeated):
    """Run a mechanism a Poisson number of times, and release the best of its answers.

    The number of runs is surer than a geometric one of the same mean. The loss grows with the mean, so this is for
    mechanisms that are hard to tell apart, such as runs with a small delta(0).

    Args:
        base: the mechanism.
        mean: of the number of runs, in (0, 10^6].

    Guarantee: epsilon + mean delta(0) for an epsilon-DP mechanism; the whole curve is in `BestOfPoissonLoss`.
    Source: Papernot, Steinke (2022), arXiv:2110.03620; docs/theory/privacy/tuning.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> tuned = BestOfPoisson(base=Laplace(scale=10), mean=10)
    >>> f"{tuned.privacy_loss(count).epsilon(0).upper:.4f}"
    '0.5996'
    """

    kind: ClassVar[str] = "best_of_poisson"

    mean: Annotated[Fraction, positive_rational]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.mean > _LARGEST_MEAN:
            raise InvalidParameterError(f"mean must be in (0, 1e6], got {round_up(self.mean):.3g}")

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return BestOfPoissonLoss(self.base.privacy_loss(sensitivity), self.mean)

    def _runs(self, count: int, bits: Bits) -> NDArray[np.int64]:
        """Return sums of Poisson numbers of mean at most 1/2."""
        terms = math.ceil(2 * self.mean)
        each = self.mean / terms
        numbers = chain(count * terms, first=0, stop=Fraction(1, 2), keep=lambda k: 2 * each / (k + 1), bits=bits)
        return np.asarray(numbers.reshape(count, terms).sum(axis=1))

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return the largest of some noisy counts.

        The claim is an upper bound: the event that raises the number of good runs is not the one that shows in each.
        """
        mechanism = cls(base=Laplace(scale=Fraction(1)), mean=Fraction(3, 2))
        return WorstCase(mechanism=mechanism, exact=(0,), neighbour=(1,), attains=False)
