"""One quantile by the exponential mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.ranks.base import OneQuantile, read_quantile
from deniable.mechanisms.ranks.points import Points
from deniable.numbers.rationals import exact_rational
from deniable.privacy import Relation


@dataclass(frozen=True, kw_only=True)
class ExponentialQuantile(OneQuantile):
    """Choose a point with probability proportional to its weight times exp(-rate D).

    D is the distance in ranks from quantile n + shift among n records (`OneQuantile`). No point is listed, however many
    there are.

    Args:
        quantile: in [0, 1]; read to a denominator of 10^6.
        shift: a public number of ranks; 1/2 - quantile, interpolated, is where numpy's `quantile` lies.

    Guarantee: epsilon-DP with epsilon = 2 rate max(q, 1 - q) a record under add/remove, and 2 rate under replace; all
        losses lie in one interval of that length. Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates".
    """

    kind: ClassVar[str] = "exponential_quantile"

    quantile: Annotated[Fraction, read_quantile]
    shift: Annotated[Fraction, exact_rational] = Fraction(0)

    def reach(self, relation: Relation) -> Fraction:
        """1 under replace; under add/remove max(q, 1 - q), because the target moves too."""
        return Fraction(1) if relation is Relation.REPLACE else max(self.quantile, 1 - self.quantile)

    def target(self, count: int) -> Fraction:
        return self.quantile * count + self.shift

    @classmethod
    def worst_case(cls) -> WorstCase:
        """One of five records goes, and three points, of which the last was best, are equally good: the half of the
        interval of losses."""
        return WorstCase(
            mechanism=cls(rate=Fraction(6), quantile=Fraction(1, 2), points=Points(3)),
            exact=(0, 0, 2, 2, 2),
            neighbour=(0, 0, 2, 2),
            attains=False,
        )
