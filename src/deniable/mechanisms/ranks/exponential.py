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
        rate: how fast chances fall with the distance, per rank.
        points: among which it chooses; a number for points of equal weight.
        quantile: in [0, 1]; read to a denominator of 10^6.
        shift: a public number of ranks; 1/2 - quantile, interpolated, is where numpy's `quantile` lies.
        interpolated: whether ranks are counted in parts between two records.

    Guarantee: epsilon-DP with epsilon = 2 rate max(q, 1 - q) a record under add/remove, and 2 rate under replace; all
        losses lie in one interval of that length. Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011), "Privacy-preserving statistical estimation with optimal convergence rates".

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = ExponentialQuantile.calibrated(record, epsilon=1, quantile="1/2", points=1000)
    >>> round(mechanism.expected_error(500, truth=Fraction(250)), 1)  # in ranks
    1.5
    >>> code = mechanism.release([310, 420, 290, 505]).value
    """

    kind: ClassVar[str] = "exponential_quantile"

    quantile: Annotated[Fraction, read_quantile]
    shift: Annotated[Fraction, exact_rational] = Fraction(0)

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return 1 under replace, and max(q, 1 - q) under add/remove.

        Under add/remove the target moves too.
        """
        return Fraction(1) if relation is Relation.REPLACE else max(self.quantile, 1 - self.quantile)

    def target(self, count: int) -> Fraction:
        return self.quantile * count + self.shift

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows half of the interval of losses.

        One of five records goes, and three points, of which the last was best, are equally good.
        """
        return WorstCase(
            mechanism=cls(rate=Fraction(6), quantile=Fraction(1, 2), points=Points(3)),
            exact=(0, 0, 2, 2, 2),
            neighbour=(0, 0, 2, 2),
            attains=False,
        )
