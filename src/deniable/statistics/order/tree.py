"""Many quantiles by recursion: the middle one first, then those below it among the rows below it, and so on.

Equal rows are told apart by random digits behind the grid, so that a share of the rows of one value can go to either
side. Of all parts of one level, a row lies in one, so a level costs what one quantile does.

Guarantee: with a bounded range epsilon for every level, that of the whole is their composition. Under add/remove a part
has rate = epsilon / (2 rows reach); under replace, where the old and the new row may lie in different parts, half of
that below the first level. Proof: docs/theory/mechanisms/ranks.md.
Source: Kaplan, Schnapp, Stemmer (2022), arXiv:2110.05429, for the recursion.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from deniable.noise.bits import Bits
from deniable.privacy import ExponentialMechanismLoss, PrivacyLoss, Relation
from deniable.privacy.around.restricted import Restricted
from deniable.rows import Floats
from deniable.statistics.order.choice import EQUAL, choose, reach, window
from deniable.statistics.order.measure import Codes, Measure
from deniable.statistics.order.method import Method
from deniable.statistics.order.quantile import rank_error, selections
from deniable.statistics.order.ranks import Ranks
from deniable.statistics.order.rows import Rows

_FINEST = 10**4  # denominators of shares within a part
_WORD = 64
_BLOCK = 1 << 15  # codes that fit the cache
_LARGEST_BITS = 60  # of a code; weights are below eight times as many


@dataclass(frozen=True, kw_only=True)
class Recursion(Method):
    """Quantiles one after the other."""

    name: ClassVar[str] = "recursion"

    @cached_property
    def losses(self) -> list[PrivacyLoss]:
        """One for each level."""
        return [Restricted(ExponentialMechanismLoss(self._epsilon), self.relation)] * levels(len(self.shares))

    def rank_errors(self, size: int) -> Floats:
        return rank_errors(self._tree, self._rates, size)

    def draw(self, ordered: Rows, size: int, *, measure: Measure, bits: Bits) -> tuple[Codes, NDArray[np.int64]]:
        return recursive(ordered, size, self._tree, self._rates, measure=measure, bits=bits)

    @cached_property
    def _epsilon(self) -> Fraction:
        """The bounded range of one level."""
        return selections(self.price, (1,) * levels(len(self.shares)))[0]

    @cached_property
    def _tree(self) -> "list[Node]":
        return nodes(self.shares)

    @cached_property
    def _rates(self) -> list[Fraction]:
        return [rate(node, self._epsilon, rows=self.rows, relation=self.relation) for node in self._tree]


@dataclass(frozen=True, kw_only=True)
class Node:
    """One quantile of the tree.

    Args:
        place: which quantile, from 0.
        level: 0 for the first one.
        share: which quantile it is of the rows of its part.
        below, above: the quantiles between which the part lies; -1 and the number of quantiles stand for the bounds.
    """

    place: int
    level: int
    share: Fraction
    below: int
    above: int


def nodes(shares: Sequence[Fraction]) -> list[Node]:
    """The tree of these quantiles, which must increase strictly; parts come after those that they are cut from."""
    return list(_nodes([*shares, Fraction(1), Fraction(0)], 0, len(shares), 0, len(shares)))


def levels(count: int) -> int:
    """The number of levels of a tree of so many quantiles."""
    return count.bit_length()


def rate(node: Node, epsilon: Fraction, *, rows: int, relation: Relation) -> Fraction:
    """What a part may use for its level to have bounded range epsilon."""
    if node.level == 0:
        return epsilon / (2 * rows * reach(node.share, relation))
    sides = 2 if relation is Relation.REPLACE else 1
    return epsilon / (2 * rows * sides * reach(node.share, Relation.ADD_REMOVE))


def scattered(codes: Codes, size: int, *, bits: Bits) -> tuple[Codes, int]:
    """Codes in order with random digits behind them, in order again, and how many digits there are; in place."""
    digits = add_digits(codes, size, bits=bits)
    if digits:
        codes.sort(kind="stable")  # quick where hardly any rows are equal
    return codes, digits


def add_digits(codes: Codes, size: int, *, bits: Bits) -> int:
    """Put random digits behind codes, in place, and tell how many."""
    digits = max(0, _LARGEST_BITS - size.bit_length())
    for start in range(0, codes.size if digits else 0, _BLOCK):
        block = codes[start : start + _BLOCK]
        block <<= digits
        block |= (bits.words(block.size) >> np.uint64(_WORD - digits)).view(np.int64)
    return digits


def recursive(
    ordered: Rows, size: int, tree: Sequence[Node], rates: Sequence[Fraction], *, measure: Measure = EQUAL, bits: Bits
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The code of every quantile, and how many rows are below it, which is secret.

    Args:
        ordered: rows with codes of [0, size).
        measure: the weights of all codes.
    """
    count = len(tree)
    found = np.array([0] * count + [size - 1, 0], dtype=np.int64)  # the last two stand for the bounds
    ranks = np.array([0] * count + [ordered.size, 0], dtype=np.int64)
    for node, speed in zip(tree, rates, strict=True):
        first, last = int(ranks[node.below]), int(ranks[node.above])
        codes = int(found[node.below]), int(found[node.above])
        target = node.share * (last - first)
        part = _part(ordered, first, last, window(target, rate=speed, size=codes[1] - codes[0] + 1))
        code = choose(part, target=target, rate=speed, codes=codes, measure=measure, bits=bits)
        found[node.place] = code
        ranks[node.place] = first + part.below(code)
    return found[:count], ranks[:count]


def rank_errors(tree: Sequence[Node], rates: Sequence[Fraction], size: int) -> Floats:
    """The root mean squared error of every quantile in ranks, for about `size` rows of different values.

    A part inherits the errors of its ends in proportion, and adds its own.
    """
    count = len(tree)
    spread = np.zeros((count + 2, count))  # (quantiles and bounds, independent errors)
    position = np.zeros(count + 2)
    position[count] = 1.0
    for node, speed in zip(tree, rates, strict=True):
        share = float(node.share)
        low, high = position[node.below], position[node.above]
        position[node.place] = low + share * (high - low)
        rows = round(size * (high - low))
        spread[node.place] = (1 - share) * spread[node.below] + share * spread[node.above]
        spread[node.place, node.place] = rank_error(speed, share * rows, rows, truth=share * rows)
    errors: Floats = np.sqrt((spread[:count] ** 2).sum(axis=1))
    return errors


def _nodes(shares: Sequence[Fraction], first: int, last: int, level: int, end: int) -> Iterator[Node]:
    """The nodes for the quantiles of [first, last); shares[end] is 1 and shares[-1] is 0."""
    if first >= last:
        return
    place = (first + last) // 2
    low, high = shares[first - 1], shares[last]
    within = ((shares[place] - low) / (high - low)).limit_denominator(_FINEST)
    yield Node(place=place, level=level, share=within, below=first - 1, above=last)
    yield from _nodes(shares, first, place, level + 1, end)
    yield from _nodes(shares, place + 1, last, level + 1, end)


def _part(ordered: Rows, first: int, last: int, span: tuple[int, int]) -> Ranks:
    """The rows of ranks [first, last), of which those in a window of ranks from `first` on are looked at."""
    total = last - first
    low, high = (min(max(end, 0), total) for end in (span[0], span[1] + 1))

    def below(code: int) -> int:
        return min(max(int(ordered.below(np.array([code]))[0]) - first, 0), total)

    return Ranks(ordered.between(first + low, first + high), low, total, below)
