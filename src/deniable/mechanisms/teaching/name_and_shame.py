"""Name and shame: each record is published with a small probability."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import Released, WorstCase, require_listed
from deniable.mechanisms.teaching.base import RareExposure, failing, numbered, owned
from deniable.noise import bernoulli
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.rationals import positive_integer
from deniable.privacy import PrivacyLoss, Sensitivity
from deniable.rows import replaced


@dataclass(frozen=True, kw_only=True)
class NameAndShame(RareExposure):
    """Publish each record as it is with probability `delta`, independently; for teaching only.

    It shows why delta must be far below 1/n: of n records at least one is published with probability 1 - (1 - delta)^n.

    Guarantee: (0, delta)-DP for units of one record, (0, 1 - (1 - delta)^k)-DP for units of k; exact.
    Source: Smith (2020), lecture notes.
    """

    kind: ClassVar[str] = "name_and_shame"

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        return failing(1 - (1 - self.delta) ** owned(sensitivity), sensitivity)

    def exposure(self, *, records: int) -> Fraction:
        """Probability that at least one of `records` records is published."""
        return 1 - (1 - self.delta) ** positive_integer("records", records)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """The records that the coins chose, as they are."""
        records = replaced("exact", exact, by=0)
        places = np.flatnonzero(bernoulli.sample(p=self.delta, size=records.size, bits=bits))
        return Released(records[places], safe=False)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, Fraction]:
        records = replaced("exact", exact, by=0).tolist()
        require_listed(2 ** min(len(records), 20))
        found: dict[Hashable, Fraction] = {}
        for coins in product((False, True), repeat=len(records)):
            told, heads = tuple(compress(records, coins)), sum(coins)
            chance = self.delta**heads * (1 - self.delta) ** (len(records) - heads)
            found[told] = found.get(told, Fraction(0)) + chance
        return found

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """The sum of the numbers of the published records; 0 when there is none."""
        numbers = numbered(exact)
        return np.asarray(bernoulli.sample(p=self.delta, size=(runs, numbers.size), bits=bits) @ numbers)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A record that is there or not: it can be published, or never."""
        return WorstCase(mechanism=cls(delta=Fraction(1, 25)), exact=(1,), neighbour=())
