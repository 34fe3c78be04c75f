"""One quantile by permute-and-flip."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.ranks.exponential import ExponentialQuantile
from deniable.mechanisms.ranks.points import Codes
from deniable.mechanisms.ranks.positions import PARTS, distances, within_gaps
from deniable.mechanisms.ranks.records import RankWindow
from deniable.noise import race, races
from deniable.noise.bits import Bits
from deniable.privacy import PrivacyLoss
from deniable.privacy.constructors import PermuteAndFlipLoss

LARGEST_SIZE = 2**18
"""Largest number of points, which are listed one by one."""


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlipQuantile(ExponentialQuantile):
    """Choose the point with the largest exponential noise less rate D, of few points.

    D is that of `ExponentialQuantile`, and never expected to be larger than there, whatever the records are. On a fine
    grid the two are the same to all purposes, because points of one rank are too many to run out.

    Args:
        rate: how fast chances fall with the distance, per rank.
        points: how many points there are, at most 2^18.
        quantile: in [0, 1]; read to a denominator of 10^6.
        shift: a public number of ranks.
        interpolated: whether ranks are counted in parts between two records.

    Guarantee: epsilon-DP with epsilon = 2 rate max(q, 1 - q) a record under add/remove, and 2 rate under replace.
    Source: McKenna, Sheldon (2020), arXiv:2010.12603.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = PermuteAndFlipQuantile.calibrated(record, epsilon=1, quantile="1/2", points=10)
    >>> float(mechanism.rate)
    1.0
    >>> code = mechanism.release([3, 4, 4, 5, 9]).value
    """

    kind: ClassVar[str] = "permute_and_flip_quantile"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points.size > LARGEST_SIZE or self.points.levels:
            raise InvalidParameterError(f"points must be at most 2^18 of equal weight, got {self.points}")

    def _loss(self, epsilon: Fraction) -> PrivacyLoss:
        return PermuteAndFlipLoss(epsilon)

    def _draw(self, records: RankWindow, runs: int, bits: Bits) -> Codes:
        target = self.target(records.total)
        size = self.points.size
        span = (0, size - 1)
        parts = PARTS if self.interpolated else 1
        points = np.arange(size)
        counts = np.bincount(records.known, minlength=size)
        high = np.cumsum(counts)
        low = high - counts
        if self.interpolated:
            before = np.maximum.accumulate(np.where(counts > 0, points, 0))  # of points without records, as is the next
            behind = np.minimum.accumulate(np.where(counts > 0, points, size - 1)[::-1])[::-1]
            low, high = within_gaps(points, low, high, before=before, behind=behind, span=span)
        scores = -distances(points, low, high, target=target, span=span, parts=parts)
        rate = self.rate / (target.denominator * parts)
        if runs == 1:
            return np.array([race.permute_and_flip(scores, rate=rate, bits=bits)])
        return races.permute_and_flip(np.broadcast_to(scores, (runs, size)), rate=rate, bits=bits)
