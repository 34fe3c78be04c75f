"""All or nothing: the whole table is published with a small probability."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.teaching.base import RareExposure, failing, numbered
from deniable.noise import bernoulli
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.privacy import PrivacyLoss, Replace, Sensitivity, of_count
from deniable.rows import replaced


@dataclass(frozen=True, kw_only=True)
class AllOrNothing(RareExposure):
    """Publish all records with probability `delta`, else nothing; for teaching only.

    Guarantee: (0, delta)-DP for units and groups of any size; exact.
    Source: Vadhan (2017), section 1.6.
    """

    kind: ClassVar[str] = "all_or_nothing"

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return failing(self.delta, sensitivity)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """All records as they are, or none."""
        records = replaced("exact", exact, by=0)
        places = np.arange(records.size if bernoulli.sample(p=self.delta, bits=bits) else 0)
        return Released(records[places], safe=False)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, Fraction]:
        records = tuple(replaced("exact", exact, by=0).tolist())
        return {(): 1 - self.delta, records: self.delta} if records else {(): Fraction(1)}

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """A number that says the whole table; 0 when nothing is published."""
        whole = 1 + int(numbered(exact).sum())  # an empty table is not nothing
        return bernoulli.sample(p=self.delta, size=runs, bits=bits) * np.int64(whole)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Two tables that differ in one record."""
        reach = of_count(rows=1, groups=1, relation=Replace, cells=1)
        return WorstCase(mechanism=cls(delta=Fraction(1, 25)), sensitivity=reach, exact=(1, 2), neighbour=(0, 2))
