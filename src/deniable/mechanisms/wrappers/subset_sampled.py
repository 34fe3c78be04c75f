"""A mechanism on a random set of units of a fixed size."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.additive import Laplace
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.wrappers.base import SampledWrapper
from deniable.noise.bits import Bits
from deniable.numbers.rationals import positive_integer, shown
from deniable.privacy import PrivacyLoss, Replace, Sensitivity, of_count


@dataclass(frozen=True, kw_only=True)
class SubsetSampled(SampledWrapper):
    """Run a mechanism on the sum over a random set of units of a fixed size.

    The number of units is public, so everything is stated under replace.

    Args:
        base: a mechanism that takes sums.
        columns: how many numbers each row has; None where rows come as an array, whose shape says it.
        size: how many units are in the set.
        population: the public number of units.

    Guarantee: ln(1 + size/population (e^epsilon - 1)) for an epsilon-DP mechanism, under replace; the whole curve is in
        `SubsetSampledLoss`.
    Source: Balle, Barthe, Gaboardi (2018), arXiv:1807.01647; docs/theory/privacy/sampling.md.

    >>> value = of_count(rows=1, groups=1, relation=Replace, cells=1)
    >>> sampled = SubsetSampled(base=Laplace(scale=10), size=10, population=1000)
    >>> f"{sampled.privacy_loss(value).epsilon(0).upper:.5f}"
    '0.00105'
    """

    kind: ClassVar[str] = "subset_sampled"

    size: Annotated[int, positive_integer]
    population: Annotated[int, positive_integer]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size >= self.population:
            raise InvalidParameterError(f"size must be below population={self.population}, got {shown(self.size)}")

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Return the loss of the mechanism on a sample of fixed size.

        Raises: UnprovedError unless the sensitivity is that under replace.
        """
        loss = self.base.privacy_loss(sensitivity)
        return loss.sampled_without_replacement(size=self.size, population=self.population)

    def _samples(self, units: int, runs: int, bits: Bits) -> NDArray[np.bool_]:
        """Return the units with the least of independent random words.

        Where two words are equal, all are drawn again. Given that they differ, words are in any order with the same
        probability.
        """
        if units != self.population:
            raise InvalidParameterError(
                f"population={self.population} is public, and this is another number of units. Give all of them."
            )
        chosen = np.zeros((runs, units), dtype=np.bool_)
        open_ = np.arange(runs)
        while open_.size:
            words = bits.words(open_.size * units).reshape(-1, units)
            order = np.argsort(words, axis=1)
            ordered = np.take_along_axis(words, order, axis=1)
            apart = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
            chosen[open_[apart, None], order[apart, : self.size]] = True
            open_ = open_[~apart]
        return chosen

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return five units, of which one is counted or not."""
        sensitivity = of_count(rows=1, groups=1, relation=Replace, cells=1)
        mechanism = cls(base=Laplace(scale=Fraction(1, 2)), size=2, population=5)
        return WorstCase(mechanism=mechanism, sensitivity=sensitivity, exact=(1, 0, 0, 0, 0), neighbour=(0, 0, 0, 0, 0))
