"""Both quartiles by exponential mechanisms that share most of their loss."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.ranks.base import RankMechanism
from deniable.mechanisms.ranks.exponential import ExponentialQuantile
from deniable.mechanisms.ranks.points import Points
from deniable.noise.bits import SECURE, Bits
from deniable.privacy import Relation


@dataclass(frozen=True, kw_only=True)
class Quartiles(RankMechanism):
    """Draw the lower and the upper quartile independently, interpolated.

    Each is drawn by the exponential mechanism.

    Args:
        rate: how fast chances fall with the distance, per rank.
        points: among which it chooses; a number for points of equal weight.

    Guarantee: epsilon-DP with epsilon = 5/2 rate a record under add/remove, where either alone has 3/2 rate: no record
        moves both by that. Under replace 4 rate. All losses lie in one interval of that length.
        Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011) for one quantile; the joint range is ours.

    >>> from deniable.privacy import AddRemove, of_count
    >>> record = of_count(rows=1, groups=1, cells=1, relation=AddRemove)
    >>> mechanism = Quartiles.calibrated(record, epsilon=1, points=1000)
    >>> float(mechanism.rate)
    0.4
    >>> lower, upper = mechanism.release([310, 420, 290, 505]).value
    """

    kind: ClassVar[str] = "quartiles"

    def rank_sensitivity(self, relation: Relation) -> Fraction:
        """Return half of the sum of both ranges."""
        return Fraction(2) if relation is Relation.REPLACE else Fraction(5, 4)

    @property
    def draws(self) -> tuple[ExponentialQuantile, ExponentialQuantile]:
        """Draws of the lower and the upper quartile, which aim where numpy's lie."""
        low, high = (
            ExponentialQuantile(
                rate=self.rate, points=self.points, quantile=q, shift=Fraction(1, 2) - q, interpolated=True
            )
            for q in (Fraction(1, 4), Fraction(3, 4))
        )
        return low, high

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[tuple[int, ...]]:
        """Return the codes of two points, the lower quartile first.

        They may be in the wrong order.
        """
        low, high = (draw.release(exact, bits=bits).value for draw in self.draws)
        return Released((low, high), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return the two codes as digits of one number."""
        low, high = (draw.outcomes(exact, runs, bits=bits) for draw in self.draws)
        return low * self.points.size + high

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a pair that shows half of the interval of losses.

        A fourth record comes, at the last of three points.
        """
        return WorstCase(
            mechanism=cls(rate=Fraction(3), points=Points(3)),
            exact=(0, 0, 0),
            neighbour=(0, 0, 0, 2),
            attains=False,
        )
