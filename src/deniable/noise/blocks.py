"""Exact draws from exp(-rate |k|) and exp(-rate k^2) by one table look-up.

Over all integers.

The area under the curve is covered with 2^16 blocks of equal area: a block is 2^m integers wide and 1/height high. A
word picks a block and an integer in it. Nearly all blocks lie under the curve: the draw is done. A block that the curve
cuts asks one more uniform number v: the draw stands if the point (integer, floor + v) lies under the curve, and is
drawn anew if not. The last blocks hold what is further out.

Guarantee: P(k) is proportional to exp(-energy(k)), exactly, for every integer k. Floats only sort out the clear cases,
with a margin above their proved error; the rest is decided in arbitrary precision (refine.py).
Proof: docs/theory/noise/draws.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from deniable.noise import refine
from deniable.noise.bits import Bits
from deniable.numbers import balls
from deniable.numbers.certified import LARGEST_EXPONENT, exp_of_minus

if TYPE_CHECKING:
    from flint import arb

Draws = NDArray[np.int64] | NDArray[np.object_]
"""int64, or Python ints where one of the draws does not fit."""

MARGIN = 2.0**-36
"""Relative margin of the float filter: above the errors of the energy (700 * 2^-50), of exp and of the products."""

_INDEX_BITS = 16  # a table of 2^16 int64 stays in the second-level cache
_CACHED_WORDS = 1 << 16  # words worked on at a time: 512 KiB stay in the second-level cache
_GROUP = 1 << 19  # draws whose doubtful cases are judged together
_STEADY = 1 << 12  # up to this number of draws all are judged


@dataclass(frozen=True)
class Law:
    """The law proportional to exp(-rate |k|^power) over all integers k."""

    rate: Fraction
    power: Literal[1, 2]

    def energy(self, k: int) -> Fraction:
        """Return -ln of the weight of k."""
        return self.rate * (abs(k) if self.power == 1 else k * k)

    def energies(self, k: Draws) -> NDArray[np.float64]:
        """Return -ln of the weights, with a relative error below 2^-50."""
        x = np.abs(k.astype(np.float64))
        if self.power == 2:
            x *= x
        x *= float(self.rate)
        return x

    @property
    def cell_bits(self) -> int:
        """Spread in cells, as a power of two: it is 2^cell_bits to twice as many wide.

        The number that leaves the fewest blocks cut.
        """
        return 5 if self.power == 1 else 6

    @property
    def spread(self) -> float:
        """The scale, or sigma: a float that only steers the shape of the table."""
        return 1 / float(self.rate) if self.power == 1 else math.sqrt(1 / (2 * float(self.rate)))

    def radius(self, index_bits: int) -> float:
        """Return how many spreads out the tail weighs about one block.

        It steers the shape alone.
        """
        doublings = index_bits * math.log(2)
        return doublings if self.power == 1 else math.sqrt(2 * max(doublings - 1.7, 1.0))

    def beyond(self, start: int) -> "Law":
        """Return the geometric law that covers the weights of |k| >= start.

        Tangent to the energy there.
        """
        return self if self.power == 1 else Law(2 * self.rate * start, 1)


class Blocks:
    """The covering of one law, and the draws from it.

    Args:
        law: what to draw from.
        width: bits of a word that are used; below 64 in tests, which then can try every word.
        index_bits: the table has 2^index_bits blocks.
    """

    def __init__(self, law: Law, *, width: int = 64, index_bits: int = _INDEX_BITS) -> None:
        self.law = law
        self.width = width
        self.index_bits = index_bits
        self.low_bits = min(max(0, math.frexp(law.spread)[1] - 1 - law.cell_bits), width - index_bits)
        half = int(law.radius(index_bits) * law.spread / 2**self.low_bits) + 1
        self._shift, self._low_mask = np.uint64(width - index_bits), np.uint64((1 << self.low_bits) - 1)
        self.edge = half << self.low_bits  # the cells cover [-edge, edge)
        self._cover(np.arange(-half, half, dtype=np.int64))

    def _cover(self, cells: NDArray[np.int64]) -> None:
        """Choose the height and fill the table.

        Whole blocks, cut blocks, never-accepted ones, the tail.
        """
        last = np.int64((1 << self.low_bits) - 1)
        ends = np.stack([cells << self.low_bits, (cells << self.low_bits) + last])
        inner_ends, outer_ends = np.abs(ends).min(axis=0), np.abs(ends).max(axis=0)
        highest = exp_of_minus(self.law.energies(inner_ends)) * (1 + MARGIN)
        lowest = exp_of_minus(self.law.energies(outer_ends)) * (1 - MARGIN)
        lowest[self.law.energies(outer_ends) > LARGEST_EXPONENT] = 0.0
        tail = self._tail_weight()

        total = 1 << self.index_bits
        low, high = 0.0, total / float(highest.sum())
        for _ in range(14):  # bisect: the largest height whose blocks fit
            height = (low + high) / 2
            fits = float(np.ceil(height * highest).sum()) + math.ceil(height * tail) <= total
            low, high = (height, high) if fits else (low, height)
        self.height = low
        tops = np.ceil(low * highest).astype(np.int64)
        whole = np.floor(low * lowest).astype(np.int64)
        cut = tops - whole
        self.tail_blocks = max(1, math.ceil(low * tail))
        self.whole_blocks = int(whole.sum())

        starts = cells << self.low_bits
        rank = np.arange(int(cut.sum())) - np.repeat(np.cumsum(cut) - cut, cut)  # 0, 1, .. within a cell
        self._starts = np.zeros(total, dtype=np.int64)
        self._floors = np.full(total, total, dtype=np.int32)  # spare blocks: nothing is under the curve at this height
        used = self.whole_blocks + rank.size
        self._starts[: self.whole_blocks], self._starts[self.whole_blocks : used] = (
            starts.repeat(whole),
            starts.repeat(cut),
        )
        self._floors[: self.whole_blocks] = -1  # all of it is under the curve
        self._floors[self.whole_blocks : used] = whole.repeat(cut) + rank

    def _tail_weight(self) -> float:
        """Bound the area of the geometric cover of |k| >= edge from above.

        In areas of a block per unit of height.
        """
        mean = 1 + 2 / float(self.law.beyond(self.edge).rate)  # coth(y / 2) <= 1 + 2 / y
        start = exp_of_minus(self.law.energies(np.array([self.edge])))[0]
        return float(start) * mean * (1 + MARGIN) / 2.0**self.low_bits

    def draw(self, count: int, bits: Bits) -> Draws:
        """Draw `count` independent integers."""
        first = np.empty(count, dtype=np.int64)
        again, tail = self._pass(first, bits)
        out: Draws = first
        while again.size or tail.size:
            out, refused = self._place_tail(out, tail, bits)
            again = np.concatenate([again, refused])
            part = np.empty(again.size, dtype=np.int64)
            next_again, next_tail = self._pass(part, bits)
            out[again] = part
            again, tail = again[next_again], again[next_tail]
        return out

    def _pass(self, out: NDArray[np.int64], bits: Bits) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Propose once for every position of `out`.

        Returns the positions to be drawn anew, and those in the tail.
        """
        again, tails = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for start in range(0, out.size, _GROUP):
            part = out[start : start + _GROUP]
            positions, words = self._propose(part, bits)
            refused, tail = self._judge(part[positions], positions, words, bits)
            again.append(refused + start)
            tails.append(tail + start)
        return np.concatenate(again), np.concatenate(tails)

    def _propose(self, out: NDArray[np.int64], bits: Bits) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
        """Fill `out` with the integers of random blocks.

        The positions that must be judged, and their words.

        Few draws are judged all, so that their time does not tell which of them fell on a whole block.
        """
        size = min(_CACHED_WORDS, out.size)
        words, scratch, judged = np.empty(size, np.uint64), np.empty(size, np.uint64), np.empty(size, np.bool_)
        positions, chosen = [np.empty(0, np.intp)], [np.empty(0, np.uint64)]
        whole = 0 if out.size <= _STEADY else self.whole_blocks
        for start in range(0, out.size, _CACHED_WORDS):
            part = out[start : start + _CACHED_WORDS]
            word, other, is_judged = words[: part.size], scratch[: part.size], judged[: part.size]
            bits.fill(word)
            np.right_shift(word, self._shift, out=other)
            np.take(self._starts, other.view(np.int64), out=part, mode="wrap")
            if self.low_bits:
                np.bitwise_and(word, self._low_mask, out=other)
                np.bitwise_or(part, other.view(np.int64), out=part)
            np.greater_equal(word, np.uint64(whole << int(self._shift)), out=is_judged)
            doubtful = np.flatnonzero(is_judged)
            positions.append(doubtful + start)
            chosen.append(word[doubtful])
        words.fill(0)
        scratch.fill(0)
        return np.concatenate(positions), np.concatenate(chosen)

    def _judge(
        self, k: NDArray[np.int64], positions: NDArray[np.intp], words: NDArray[np.uint64], bits: Bits
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the positions whose point is above the curve, and those in the tail."""
        block = (words >> self._shift).astype(np.int64)
        in_tail = block >= self._starts.size - self.tail_blocks
        stands = self._under(k, self._floors[block], self.height, self.law, bits)
        return positions[~(stands | in_tail)], positions[in_tail]

    def _under(self, k: Draws, floors: NDArray[np.int32], height: float, law: Law, bits: Bits) -> NDArray[np.bool_]:
        """Whether floor + v < height exp(-energy(k)), for each k and a fresh uniform v."""
        words = bits.words(k.size)
        curve = exp_of_minus(law.energies(k)) * height
        unit = 2.0**-self.width
        point = words * unit + floors
        stands = (point + unit) * (1 + MARGIN) < curve
        open_ = np.flatnonzero(~stands & (point * (1 - MARGIN) < curve))
        for i in open_:
            bound = _cut(law.energy(int(k[i])), Fraction(height), int(floors[i]))
            stands[i] = refine.below(refine.Prefix(int(words[i]), self.width), bound, bits, self.width)
        return stands

    def _place_tail(self, out: Draws, positions: NDArray[np.intp], bits: Bits) -> tuple[Draws, NDArray[np.intp]]:
        """Draw |k| >= edge for the positions in a tail block.

        The geometric cover, then a rejection down to the law.
        """
        if not positions.size:
            return out, positions
        further = self._beyond.draw(positions.size, bits)
        stands = self._tail_stands(bits.words(positions.size), bits)
        if self.law.power == 2:
            stands &= self._under(further, np.zeros(positions.size, dtype=np.int32), 1.0, self.law, bits)
        room = 2**63 - 1 - self.edge
        if further.dtype == object or bool((np.abs(further) > room).any()):
            out, further = out.astype(object), further.astype(object)
        out[positions[stands]] = np.where(further >= 0, further + self.edge, further - self.edge)[stands]
        return out, positions[~stands]

    def _tail_stands(self, words: NDArray[np.uint64], bits: Bits) -> NDArray[np.bool_]:
        """Whether a proposal in the tail blocks stands.

        Their area, and that of the cover, differ by a constant.
        """
        threshold = self._tail_threshold
        stands = words < np.uint64(threshold)
        for i in np.flatnonzero(words == np.uint64(threshold)):
            prefix = refine.Prefix(int(words[i]), self.width)
            stands[i] = refine.below(prefix, self._tail_share, bits, self.width)
        return stands

    @cached_property
    def _beyond(self) -> "Blocks":
        law = self.law.beyond(self.edge)
        if law == self.law:
            return self
        return Blocks(law, width=self.width, index_bits=self.index_bits)

    @cached_property
    def _tail_threshold(self) -> int:
        return balls.certified_floor(lambda: self._tail_share() * 2**self.width)

    def _tail_share(self) -> "arb":
        """Return the area of the cover of the tail over that of the tail blocks; below 1."""
        ratio = (-balls.ball(self.law.beyond(self.edge).rate)).exp()
        cover = (-balls.ball(self.law.energy(self.edge))).exp() * (1 + ratio) / (1 - ratio)
        return cover * balls.ball(Fraction(self.height) / (self.tail_blocks << self.low_bits))


def _cut(energy: Fraction, height: Fraction, floor: int) -> Callable[[], "arb"]:
    """Return enclosures of height e^-energy - floor."""
    return lambda: balls.ball(height) * (-balls.ball(energy)).exp() - floor


@lru_cache(maxsize=32)
def blocks_of(law: Law) -> Blocks:
    """Return the covering of a law; the last 32 are kept."""
    return Blocks(law)
