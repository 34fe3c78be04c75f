"""A value near the smallest or the largest record, by the exponential mechanism."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Annotated, ClassVar

from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.ranks.base import OneQuantile
from deniable.mechanisms.ranks.points import Points
from deniable.numbers.rationals import yes_or_no
from deniable.privacy import Relation

_BEYOND = Fraction(23, 10)  # nats, about ln 10: see `depth`


@dataclass(frozen=True, kw_only=True)
class ExponentialExtreme(OneQuantile):
    """Choose a point near the smallest or the largest record, some ranks inside.

    A point has a probability proportional to its weight times exp(-rate D). No private answer shows where the single
    smallest record lies. The target is some ranks above it (`depth`), so that the empty range between the first point
    and the records seldom wins: where that is as wide as the records are, by one answer in twenty.

    Args:
        rate: how fast chances fall with the distance, per rank.
        points: among which it chooses; a number for points of equal weight.
        largest: whether the end is the upper one.
        tight: whether the records are publicly known to reach near the first point, or the last. The target is one rank
            inside then: far nearer where that is true, and anywhere between that point and the records where it is not.
        interpolated: whether ranks are counted in parts between two records.

    Guarantee: epsilon-DP with epsilon = 2 rate a record; all losses lie in one interval of that length, since the
        target grows by 0 to 1 when a record comes. Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011), for the mechanism; the target is ours.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = ExponentialExtreme.calibrated(record, epsilon=1, largest=True, points=1000)
    >>> float(mechanism.target(500))  # the rank aimed at, of 500 records
    484.0
    """

    kind: ClassVar[str] = "exponential_extreme"

    largest: Annotated[bool, yes_or_no]
    tight: Annotated[bool, yes_or_no] = False

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return 1: places and the target both move by 0 to 1 for a record that comes."""
        return Fraction(1)

    def target(self, count: int) -> Fraction:
        deep = depth(count, self.rate, tight=self.tight)
        return count - deep if self.largest else deep

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows half of the interval of losses.

        A fourth record comes, at the last of three points.
        """
        return WorstCase(
            mechanism=cls(rate=Fraction(3), points=Points(3), largest=True, tight=True),
            exact=(0, 0, 0),
            neighbour=(0, 0, 0, 2),
            attains=False,
        )


def depth(total: int, rate: Fraction, *, tight: bool = False) -> Fraction:
    """Return how many ranks inside of the records an extreme is aimed at.

    It is about ln(10 (1 + total * rate)) / rate, or one where bounds are tight, but not beyond the median.

    Where bounds are v times as wide as evenly spread records, chances add up to e^(-rate * depth) (v - 1) beyond the
    records and to 2 / (total * rate) near the aim; so the former win about (v - 1) / 20 times as often as the latter.

    Guarantee: one more record adds 0 to 1. All is exact: see `nats` for the logarithm.
    """
    ranks = 1 if tight else ceil((nats(1 + total * rate) + _BEYOND) / rate)
    return min(Fraction(ranks), Fraction(total, 2))


def nats(x: Fraction) -> Fraction:
    """Return the natural logarithm of x >= 1 to within 0.07 or a hundredth of it.

    It is linear between powers of two, 7/10 for each.

    Guarantee: it never falls, and its slope is at most 7/10.
    """
    octaves = (x.numerator // x.denominator).bit_length() - 1
    return Fraction(7, 10) * (octaves + x / (1 << octaves) - 1)
