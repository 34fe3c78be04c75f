"""A quantile of what pairs of records have, by the exponential mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.ranks.exponential import ExponentialQuantile
from deniable.mechanisms.ranks.points import Points
from deniable.numbers.rationals import positive_integer
from deniable.privacy import Relation


@dataclass(frozen=True, kw_only=True)
class MatchedQuantile(ExponentialQuantile):
    """Choose a point by its rank among numbers that pairs of records have.

    The exact input is one code for each pair of several random matchings of the records; pairs may be left out by what
    they are. Two matchings are a ring, in which one more record exchanges one pair and adds one; a single matching, the
    last of an odd number, exchanges one or adds one.

    Args:
        rate: how fast chances fall with the distance, per rank.
        points: among which it chooses; a number for points of equal weight.
        quantile: in [0, 1]; read to a denominator of 10^6.
        shift: a public number of ranks.
        matchings: how many times the records are paired.
        interpolated: whether ranks are counted in parts between two pairs.

    Guarantee: that of `ExponentialQuantile`, with max(q, 1 - q) replaced by 1 + max(q, 1 - q) for every ring and 1 for
        a single matching, and with 1 for every matching under replace. Proof: docs/theory/statistics/regression.md.
    Source: Alabi, McMillan, Sarathy, Smith, Vadhan (2020), arXiv:2007.05157, for the median of slopes.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = MatchedQuantile.calibrated(record, epsilon=1, quantile="1/2", points=1000, matchings=2)
    >>> float(mechanism.rank_sensitivity(AddRemove))  # of one record more, in ranks
    1.5
    """

    kind: ClassVar[str] = "matched_quantile"

    matchings: Annotated[int, positive_integer]

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one record moves the distance of any point.

        A pair that is exchanged moves it by at most 1, and one that is added by at most max(q, 1 - q). Under replace a
        record exchanges all its pairs.
        """
        if relation is Relation.REPLACE:
            return Fraction(self.matchings)
        rings, single = divmod(self.matchings, 2)
        return rings * (1 + super().rank_sensitivity(relation)) + single

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows half of the interval of losses.

        One more record in a ring: of three pairs one moves to the last point, where another one comes.
        """
        return WorstCase(
            mechanism=cls(rate=Fraction(2), quantile=Fraction(1, 2), matchings=2, points=Points(3)),
            exact=(0, 0, 0),
            neighbour=(0, 0, 2, 2),
            attains=False,
        )
