"""Permanent reports of a number's bit or a histogram's bits (Microsoft)."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from deniable.arguments import read_fields
from deniable.local.codes import Bytes, of_bytes, to_bytes
from deniable.local.deployed.memo import Memoised
from deniable.local.deployed.sketches import GROUP_BYTES, GroupedReports, normal_counts
from deniable.local.frequencies import UnaryEncoding
from deniable.local.means import MeanProtocol
from deniable.noise import uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.arrays import Floats, Integers
from deniable.numbers.rationals import whole_number
from deniable.release import Release
from deniable.release.columns import Key
from deniable.rows import Container, numbers

_OFFSETS = 2**16  # by which a client shifts its rounding, in parts of a step


@dataclass(frozen=True, kw_only=True)
class OneBitMean(Memoised, MeanProtocol):
    """The mean of one number a person, from one bit that is kept for each grid point.

    A client has one number: for a vector take one client and its epsilon for each coordinate, or `MeanProtocol`.

    A client draws an offset below one step once, and a number goes to the upper point where number + offset reaches it:
    without bias, and alike every day. So a change is visible only if it crosses a point where the client's rounding
    turns; one that does is not protected: see `epsilon_between`.

    Args:
        epsilon: of all reports of a number that stays.
        bounds: (lower, upper), as in `MeanProtocol`.
        steps: of the grid between the bounds.

    Guarantee: P(1) = 1 / (r + 1) + (x - lower) / (upper - lower) (r - 1) / (r + 1) for the grid point x and the
        likelihood ratio r: epsilon for all reports of a number that stays.
    Source: Ding, Kulkarni, Yekhanin (2017), arXiv:1712.01524.

    >>> from deniable.local.deployed import OneBitMean
    >>> protocol = OneBitMean(epsilon=1, bounds=(0, 3600), steps=6)
    >>> answer = protocol.estimate(protocol.encode([1200] * 500 + [3000] * 500))
    """

    kind: ClassVar[str] = "onebit"

    steps: int = 1
    share: Fraction | None = field(default=Fraction(0), init=False)
    window: int = field(default=1, init=False)
    columns: int = field(default=1, init=False)
    sampled: int = field(default=1, init=False)

    def settle(self, people: int, *, bits: Bits = SECURE) -> Bytes:
        """Draw offsets, of four bytes."""
        return to_bytes(uniform.below(_OFFSETS, size=people, bits=bits), 4)

    def _indices(self, values: Container) -> Integers:
        """Return numbers in parts of a step above the lower bound."""
        low, high = map(float, self.bounds)
        inside = np.clip(np.nan_to_num((numbers(values) - low) / (high - low), nan=0.0), 0, 1)
        return np.asarray(np.rint(inside * self.steps * _OFFSETS), dtype=np.int64)

    def _states(self, indices: Integers) -> Bytes:
        """Return the offsets at which one of these numbers moves to the next point, and 0."""
        turns = -indices % _OFFSETS
        return to_bytes(np.unique(np.append(turns, 0)), 4)

    def keys(self, indices: Integers, settled: Bytes) -> Integers:
        """Return grid points, by the client's rounding."""
        return np.asarray((indices + of_bytes(settled)) // _OFFSETS)

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw the permanent bit of a grid point."""
        return self.draw(keys, bits)

    def report(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Return the permanent bits."""
        return answers


@dataclass(frozen=True, kw_only=True)
class BitFlip(GroupedReports, Memoised):
    """Report permanent bits of a few buckets that a client draws once (dBitFlip).

    The buckets of a client are consecutive in a circle: each one is among them with probability chosen / k.

    Args:
        epsilon: of all reports of a bucket that stays.
        values: the buckets, or their number, at most 65536.
        chosen: buckets of a client, from 1 to all of them.

    Guarantee: a bit is 1 with probability r / (r + 1) for the own bucket and 1 / (r + 1) for others, r at most
        e^(epsilon/2); one more bit stands for all buckets that were not drawn, and they share an answer. So epsilon
        holds for all reports of a bucket that stays, and none for changes: see `epsilon_between`.
    Source: Ding, Kulkarni, Yekhanin (2017), arXiv:1712.01524.

    >>> from deniable.local.deployed import BitFlip
    >>> protocol = BitFlip(values=["low", "middle", "high"], epsilon=2, chosen=2)
    >>> answer = protocol.estimate(protocol.encode(["low"] * 900 + ["high"] * 100))
    """

    kind: ClassVar[str] = "bitflip"

    values: Any
    chosen: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        read_fields(self, values=self.buckets.values)
        whole_number("chosen", self.chosen, lower=1, upper=whole_number("values", self.groups, upper=2**16))

    @cached_property
    def buckets(self) -> UnaryEncoding:
        """Reader of values."""
        return UnaryEncoding(values=self.values, epsilon=self.epsilon)

    @property
    def groups(self) -> int:
        """Number of buckets: a group is the first bucket of a client."""
        return self.buckets.size

    @cached_property
    def row(self) -> UnaryEncoding:
        """Randomizer of the bits of a client's buckets, and of all others together."""
        return UnaryEncoding(values=self.chosen + 1, epsilon=self.epsilon, symmetric=True)

    def _indices(self, values: Container) -> Integers:
        """Return the bucket of each value."""
        return self.buckets._indices(values)

    def _states(self, indices: Integers) -> Bytes:
        """Return all first buckets."""
        return to_bytes(np.arange(self.groups), GROUP_BYTES)

    def keys(self, indices: Integers, settled: Bytes) -> Integers:
        """Return the number of the own bucket among the client's, `chosen` for all others."""
        return np.asarray(np.minimum((indices - of_bytes(settled)) % self.groups, self.chosen))

    def remember(self, keys: Integers, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Draw the permanent bits of a bucket."""
        return self.row._draw(keys, bits)

    def report(self, answers: Bytes, settled: Bytes, *, bits: Bits = SECURE) -> Bytes:
        """Return the first bucket and the permanent bits."""
        return np.concatenate([settled, answers], axis=1)

    def estimate(self, reports: Any, *, people: int | None = None) -> Release:
        """Estimate the number of people in each bucket.

        Without bias, with normal intervals of the exact variance: (k / d) sum over reports with the bucket of
        (b - q) / (p - q).

        Args:
            reports, people: as in `Protocol.estimate`.
        """
        names = range(self.groups) if isinstance(self.values, int) else self.values
        table, count, values = self.grouped_tally(reports, people, names)
        p, q = float(self.row.p), float(self.row.q)
        bit = np.arange(self.chosen)
        first = (np.arange(self.groups)[:, np.newaxis] - bit) % self.groups  # groups that have each bucket
        excess = (table[first, 1 + bit] - q * table[first, 0]).sum(axis=1)
        counts = self.groups / self.chosen * excess / (p - q)
        variance = self.variance(np.clip(counts / count, 0, 1), people=count) * count**2
        return self.published(count, Key(name="value", values=values), normal_counts(counts, variance), normal=True)

    def variance(self, shares: object = 0.0, *, people: int) -> Floats:
        """Return the exact variance of the estimated share of a bucket.

        [(k / d) (q (1 - q) / (p - q)^2 + f) - f] / n for the share f.

        Args:
            shares: f, in any shape.
            people: n.
        """
        share = np.asarray(shares, dtype=np.float64)
        ratio = self.groups / self.chosen
        return np.asarray((ratio * (float(self.row.variance(people=1)) + share) - share) / people)
