"""A mechanism on a Poisson sample of the units."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.wrappers.base import SampledWrapper
from deniable.noise import bernoulli
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_rational, shown
from deniable.privacy import PrivacyLoss, Sensitivity


@dataclass(frozen=True, kw_only=True)
class PoissonSampled(SampledWrapper):
    """Run a mechanism on the sum over a sample that each unit joins independently.

    The sample is secret, and so is its size: never divide by it, and never release it.

    Args:
        base: a mechanism that takes sums.
        columns: how many numbers each row has; None where rows come as an array, whose shape says it.
        rate: the probability with which a unit joins, in (0, 1).

    Guarantee: ln(1 + rate (e^epsilon - 1)) for an epsilon-DP mechanism, under add/remove; the whole curve is in
        `PoissonSampledStatement`.
    Source: Zhu, Dong, Wang (2022), arXiv:2106.08567; docs/theory/privacy/sampling.md.

    >>> from deniable.privacy import AddRemove, of_count
    >>> count = of_count(rows=1, groups=1, relation=AddRemove)
    >>> sampled = PoissonSampled(base=Laplace(scale=10), rate="1/100")
    >>> f"{sampled.privacy_loss(count).epsilon(0).upper:.5f}"
    '0.00105'
    >>> noisy = sampled.release(np.ones(1000, dtype=np.int64)).value  # one number per unit
    """

    kind: ClassVar[str] = "poisson_sampled"

    rate: Annotated[Fraction, positive_rational]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rate >= 1:
            raise InvalidParameterError(
                f"rate must be in (0, 1), got {shown(self.rate)}. Without a sample, use it bare."
            )

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss of the mechanism on a Poisson sample.

        Raises: UnprovedError unless the sensitivity is that under add/remove.
        """
        return self.base.privacy_loss(sensitivity).poisson_sampled(rate=self.rate)

    def _samples(self, units: int, runs: int, bits: Bits) -> NDArray[np.bool_]:
        return bernoulli.sample(p=self.rate, size=(runs, units), bits=bits)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a unit that is in the table or not."""
        mechanism = cls(base=Laplace(scale=Fraction(1, 2)), rate=Fraction(2, 5))
        return WorstCase(mechanism=mechanism, exact=(1,), neighbour=())
