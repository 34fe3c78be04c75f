"""A random record: one of the table, as it is."""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.teaching.base import Teaching, failing, numbered, owned
from deniable.noise import bernoulli, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import ExactIntegers
from deniable.numbers.rationals import positive_integer, positive_rational, shown
from deniable.privacy import PrivacyLoss, Replace, Sensitivity, of_count
from deniable.rows import replaced


@dataclass(frozen=True, kw_only=True)
class RandomRecord(Teaching):
    """Publish one uniformly random record out of `population` as it is, with probability `chance`; for teaching only.

    The number of records is public, so the guarantee is one under replace.

    Guarantee: (0, chance/population)-DP for units of one record, k times that for units of k; exact.
    Source: Dwork, Roth (2014), section 2.3.
    """

    kind: ClassVar[str] = "random_record"

    population: Annotated[int, positive_integer]
    chance: Annotated[Fraction, positive_rational] = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chance > 1:
            raise InvalidParameterError(f"chance must be in (0, 1], got {shown(self.chance)}")

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        """Raises: UnprovedError under add/remove, where the number of records is not public."""
        if sensitivity.relation is not Replace:
            raise UnprovedError(
                "a random record is (0, delta)-DP under replace alone: under add/remove a table of one record shows "
                "it. State the sensitivity for Replace."
            )
        share = Fraction(min(owned(sensitivity), self.population), self.population)
        return failing(self.chance * share, sensitivity)

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[ExactIntegers]:
        """One record as it is, or none."""
        records = self._checked(replaced("exact", exact, by=0))
        place = uniform.sample(np.array([self.population]), bits=bits)
        shown = bool(bernoulli.sample(p=self.chance, bits=bits))
        places = place[: int(shown)].astype(np.intp)
        return Released(records[places], safe=False)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, Fraction]:
        records = Counter(self._checked(replaced("exact", exact, by=0)).tolist())
        found: dict[Hashable, Fraction] = {
            (record,): self.chance * n / self.population for record, n in records.items()
        }
        return found if self.chance == 1 else {(): 1 - self.chance, **found}

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[Any]:
        """1 + the record, wherever it stood, as a number; 0 when nothing is published."""
        records = self._checked(np.array(exact, dtype=np.int64))
        codes = np.array([numbered((int(record),))[0] for record in records])
        places = uniform.sample(np.full(runs, self.population), bits=bits)
        return codes[places] * bernoulli.sample(p=self.chance, size=runs, bits=bits)

    def _checked(self, records: NDArray[Any]) -> NDArray[Any]:
        if records.size != self.population:
            raise InvalidParameterError(
                f"population={self.population} is public, and this is another number of records. Give all of them."
            )
        return records

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Ten records, of which one is 1 or 0."""
        reach = of_count(rows=1, groups=1, relation=Replace, cells=1)
        mechanism = cls(population=10, chance=Fraction(2, 5))
        return WorstCase(mechanism=mechanism, sensitivity=reach, exact=(1,) + 9 * (0,), neighbour=10 * (0,))
