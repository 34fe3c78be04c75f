"""Many quantiles by recursion."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import WorstCase
from deniable.mechanisms.ranks.base import SeveralQuantiles
from deniable.mechanisms.ranks.errors import rank_error
from deniable.mechanisms.ranks.points import Codes, Points
from deniable.mechanisms.ranks.records import SortedRecords
from deniable.mechanisms.ranks.sampler import PointSampler, window
from deniable.mechanisms.records import records_of
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, shown
from deniable.privacy import PrivacyLoss, Relation, Sensitivity, compose

_FINEST = 10**4  # denominators of quantiles within a part


@dataclass(frozen=True, kw_only=True)
class RecursiveQuantiles(SeveralQuantiles):
    """Choose the middle quantile first, then those on either side, recursively.

    Each is drawn by the exponential mechanism on the ranks of its part, the points and records between the two
    quantiles that were drawn around it. Of all parts of one level, a record lies in one, so a level costs what one
    quantile does.

    Args:
        rate: of the first quantile.
        points: among which it chooses; a number for points of equal weight.
        quantiles: different ones of [0, 1], in order.
        later: the rate of a quantile q of a later part is later / max(q, 1 - q).

    Guarantee: the composition of the levels, in each of which all losses lie in one interval: of length
        2 rate max(q, 1 - q) in the first, q its quantile, and 2 later in the others. Under replace, where the old and
        the new record may lie in different parts, 2 rate and 4 later. Proof: docs/theory/mechanisms/ranks.md.
    Source: Kaplan, Schnapp, Stemmer (2022), arXiv:2110.05429, for the recursion.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> deciles = [Fraction(tenth, 10) for tenth in range(1, 10)]
    >>> RecursiveQuantiles.rounds(len(deciles))  # levels, each of which costs what one quantile does
    4
    >>> mechanism = RecursiveQuantiles.calibrated(record, epsilon="1/4", quantiles=deciles, points=1000)
    """

    kind: ClassVar[str] = "recursive_quantiles"
    name: ClassVar[str] = "recursion"

    later: Fraction

    def __post_init__(self) -> None:
        super().__post_init__()
        later = positive_rational("later", self.later)
        if not Fraction(1, 2**100) <= later <= 2**100:
            raise InvalidParameterError(f"later must be in [2^-100, 2^100], got {shown(self.later)}")
        read_fields(self, later=later)

    @classmethod
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: Real, **parameters: Any) -> Self:
        """Return the mechanism in which each of `rounds` levels has this epsilon."""
        unit = cls(rate=Fraction(1), later=Fraction(1), **parameters)
        level = positive_rational("epsilon", epsilon)
        return replace(unit, rate=level / unit._range(sensitivity), later=level / unit._later_range(sensitivity))

    @classmethod
    def rounds(cls, count: int) -> int:
        """Return the number of levels for `count` quantiles."""
        return count.bit_length()

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        epsilons = [self.rate * self._range(sensitivity)]
        epsilons += [self.later * self._later_range(sensitivity)] * (self.rounds(len(self.quantiles)) - 1)
        losses = [self._loss(epsilon).under(sensitivity.relation) for epsilon in epsilons]
        return compose(losses) if len(losses) > 1 else losses[0]

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return how far one record moves the distance of the first quantile."""
        first = self.tree[0].quantile
        return Fraction(1) if relation is Relation.REPLACE else max(first, 1 - first)

    def expected_errors(self, size: int) -> Floats:
        """Return the root mean squared error of every quantile, in ranks.

        A part inherits the errors of its ends in proportion, and adds its own.
        """
        count = len(self.tree)
        spread = np.zeros((count + 2, count))  # (quantiles and bounds, independent errors)
        position = np.zeros(count + 2)
        position[count] = 1.0
        for node in self.tree:
            q = float(node.quantile)
            low, high = position[node.below], position[node.above]
            position[node.index] = low + q * (high - low)
            total = round(size * (high - low))
            spread[node.index] = (1 - q) * spread[node.below] + q * spread[node.above]
            spread[node.index, node.index] = rank_error(self._rate_of(node), q * total, total, truth=q * total)
        return np.asarray(np.sqrt((spread[:count] ** 2).sum(axis=1)), dtype=np.float64)

    @cached_property
    def tree(self) -> "list[Node]":
        """The quantiles in the order in which they are drawn."""
        return list(_nodes([*self.quantiles, Fraction(1), Fraction(0)], 0, len(self.quantiles), 0, len(self.quantiles)))

    def _later_range(self, sensitivity: Sensitivity) -> int:
        """The length of the interval of losses of a later level at later = 1."""
        sides = 2 if sensitivity.relation is Relation.REPLACE else 1
        return 2 * sides * records_of(sensitivity, proved=frozenset(Relation))

    def _rate_of(self, node: "Node") -> Fraction:
        return self.rate if node.level == 0 else self.later / max(node.quantile, 1 - node.quantile)

    def _draw(self, records: SortedRecords, runs: int, bits: Bits) -> Codes:
        count = len(self.tree)
        ends = [0] * count + [self.points.size - 1, 0]  # the last two stand for the bounds
        codes = np.tile(np.array(ends, dtype=np.int64), (runs, 1))
        for node in self.tree:
            rate = self._rate_of(node)
            spans, groups = np.unique(codes[:, [node.below, node.above]], axis=0, return_inverse=True)
            for number, span in enumerate(spans):
                same = np.flatnonzero(groups.ravel() == number)
                low, high = (int(end) for end in span)
                first, last = (int(rank) for rank in records.below(span))
                first, last = first if node.below >= 0 else 0, last if node.above < count else records.size
                target = node.quantile * (last - first)
                looked_at = window(target, rate=rate, size=high - low + 1)
                part = records.window(looked_at, first=first, last=last)
                sampler = PointSampler(part, target=target, rate=rate, points=self.points, span=(low, high))
                codes[same, node.index] = sampler.draws(same.size, bits)
        return codes[:, :count]

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows over half of the interval of losses.

        One of three records goes, the one at the last of three points.
        """
        return WorstCase(
            mechanism=cls(
                rate=Fraction(8), later=Fraction(4), quantiles=(Fraction(1, 3), Fraction(2, 3)), points=Points(3)
            ),
            exact=(0, 1, 2),
            neighbour=(0, 1),
            attains=False,
        )


@dataclass(frozen=True, kw_only=True)
class Node:
    """One quantile of the tree.

    Args:
        index: which quantile, from 0.
        level: 0 for the first one.
        quantile: which one it is of the records of its part.
        below, above: the quantiles between which the part lies; -1 and the number of quantiles stand for the bounds.
    """

    index: int
    level: int
    quantile: Fraction
    below: int
    above: int


def _nodes(quantiles: Sequence[Fraction], first: int, last: int, level: int, end: int) -> Iterator[Node]:
    """Return the nodes for the quantiles of [first, last).

    quantiles[end] is 1 and quantiles[-1] is 0.
    """
    if first >= last:
        return
    index = (first + last) // 2
    low, high = quantiles[first - 1], quantiles[last]
    within = ((quantiles[index] - low) / (high - low)).limit_denominator(_FINEST)
    yield Node(index=index, level=level, quantile=within, below=first - 1, above=last)
    yield from _nodes(quantiles, first, index, level + 1, end)
    yield from _nodes(quantiles, index + 1, last, level + 1, end)
