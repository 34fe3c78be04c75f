"""Report one bit of a number, or a few bits of a histogram, and the same ones from then on (Microsoft)."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.local.codes import Bytes, of_bytes, to_bytes
from deniable.local.deployed.memo import Memoised
from deniable.local.deployed.sketches import GROUP, Grouped, normal_counts
from deniable.local.frequencies import UnaryEncoding
from deniable.local.means import MeanProtocol
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import whole_number
from deniable.release import Key, Release
from deniable.rows import Container, numbers

_PARTS = 2**16  # of a step


@dataclass(frozen=True, kw_only=True)
class OneBitMean(Memoised, MeanProtocol):
    """Report one bit of a number, rounded to a grid and kept for each of its points: the mean of all numbers.

    A client has one number: for a vector take one client and its epsilon for each coordinate, or `MeanProtocol`.

    A client draws an offset below one step once, and a number goes to the upper point where number + offset reaches it:
    without bias, and alike every day. So a change is seen only if it crosses a point where the client's rounding turns;
    one that does is not protected: see `epsilon_between`.

    Args:
        steps: of the grid from lower to upper, which bound every number as in `MeanProtocol`.

    Guarantee: P(1) = 1 / (odds + 1) + (x - lower) / (upper - lower) (odds - 1) / (odds + 1) for the grid point x:
        epsilon for all reports of a number that stays.
    Source: Ding, Kulkarni, Yekhanin (2017), arXiv:1712.01524.

    >>> from deniable.local import OneBitMean
    >>> protocol = OneBitMean(epsilon=1, lower=0, upper=3600, steps=6)
    >>> answer = protocol.estimate(protocol.encode([1200] * 500 + [3000] * 500))
    """

    kind: ClassVar[str] = "onebit"

    steps: int = 1
    share: Fraction | None = field(default=Fraction(0), init=False)
    window: int = field(default=1, init=False)
    columns: int = field(default=1, init=False)
    sampled: int = field(default=1, init=False)

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """Offsets, of four bytes."""
        return to_bytes(uniform.below(_PARTS, size=people, bits=bits), 4)

    def _places(self, values: Container) -> Integers:
        low, high = self.bounds
        inside = np.clip(np.nan_to_num((numbers(values) - low) / (high - low), nan=0.0), 0, 1)
        return np.asarray(np.rint(inside * self.steps * _PARTS), dtype=np.int64)

    def _states(self, places: Integers) -> Bytes:
        turns = -places % _PARTS  # the offsets at which a place goes to the next point
        return to_bytes(np.unique(np.append(turns, 0)), 4)

    def keys(self, places: Integers, settled: Bytes) -> Integers:
        return np.asarray((places + of_bytes(settled)) // _PARTS)

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        return self.draw(keys, bits)

    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        return answers


@dataclass(frozen=True, kw_only=True)
class BitFlip(Grouped, Memoised):
    """Report bits of a few buckets that a client draws once, the same ones for a bucket from then on (dBitFlip).

    The buckets of a client stand side by side in a circle: each one is among them with probability chosen / k.

    Args:
        values: the buckets, or their number, at most 65536.
        chosen: buckets of a client, from 1 to all of them.

    Guarantee: a bit is 1 with probability r / (r + 1) for the own bucket and 1 / (r + 1) for others, r at most
        e^(epsilon/2); one more bit stands for all buckets that were not drawn, and they share an answer. So epsilon
        holds for all reports of a bucket that stays, and none for changes: see `epsilon_between`.
    Source: Ding, Kulkarni, Yekhanin (2017), arXiv:1712.01524.

    >>> from deniable.local import BitFlip
    >>> protocol = BitFlip(values=["low", "middle", "high"], epsilon=2, chosen=2)
    >>> answer = protocol.estimate(protocol.encode(["low"] * 900 + ["high"] * 100))
    """

    kind: ClassVar[str] = "bitflip"

    values: Any
    chosen: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        self.__dict__.update(values=self.buckets.values)
        whole_number("chosen", self.chosen, lower=1, upper=whole_number("values", self.groups, upper=2**16))

    @cached_property
    def buckets(self) -> UnaryEncoding:
        """The reader of values."""
        return UnaryEncoding(values=self.values, epsilon=self.epsilon)

    @property
    def groups(self) -> int:
        return self.buckets.size

    @cached_property
    def row(self) -> UnaryEncoding:
        return UnaryEncoding(values=self.chosen + 1, epsilon=self.epsilon, symmetric=True)

    def _places(self, values: Container) -> Integers:
        return self.buckets._places(values)

    def _states(self, places: Integers) -> Bytes:
        return to_bytes(np.arange(self.groups), GROUP)

    def keys(self, places: Integers, settled: Bytes) -> Integers:
        return np.asarray(np.minimum((places - of_bytes(settled)) % self.groups, self.chosen))

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        return self.row._draw(keys, bits)

    def tell(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        return np.concatenate([settled, answers], axis=1)

    def estimate(self, reports: Any, *, people: int | None = None) -> Release:
        """The number of people in each bucket, without bias, with normal intervals of the exact variance.

        (k / d) sum over reports with the bucket of (b - q) / (p - q).
        """
        names = range(self.groups) if isinstance(self.values, int) else self.values
        table, count, values = self.asked(reports, people, names)
        p, q, place = float(self.row.true), float(self.row.false), np.arange(self.chosen)
        first = (np.arange(self.groups)[:, np.newaxis] - place) % self.groups  # groups that have each bucket
        found = self.groups / self.chosen * (table[first, 1 + place] - q * table[first, 0]).sum(axis=1) / (p - q)
        variance = self.variance(np.clip(found / count, 0, 1), people=count) * count**2
        return self.published(count, Key(name="value", values=values), normal_counts(found, variance), normal=True)

    def variance(self, shares: object = 0.0, *, people: int) -> Floats:
        """The exact variance of the estimated share: [(k / d) (q (1 - q) / (p - q)^2 + f) - f] / n for the share f."""
        share, ratio = np.asarray(shares, dtype=np.float64), self.groups / self.chosen
        return np.asarray((ratio * (float(self.row.variance(people=1)) + share) - share) / people)
