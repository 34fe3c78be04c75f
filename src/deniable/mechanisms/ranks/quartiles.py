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
    """Draw the lower and the upper quartile independently, each by the exponential mechanism, interpolated.

    Guarantee: epsilon-DP with epsilon = 5/2 rate a record under add/remove, where either alone has 3/2 rate: no record
        moves both by that. Under replace 4 rate. All losses lie in one interval of that length.
        Proof: docs/theory/mechanisms/ranks.md.
    Source: Smith (2011) for one quantile; the joint range is ours.
    """

    kind: ClassVar[str] = "quartiles"

    def reach(self, relation: Relation) -> Fraction:
        """Half of the sum of both ranges."""
        return Fraction(2) if relation is Relation.REPLACE else Fraction(5, 4)

    @property
    def draws(self) -> tuple[ExponentialQuantile, ExponentialQuantile]:
        """The draws of the lower and of the upper one, which aim where numpy's quartiles lie."""
        low, high = (
            ExponentialQuantile(
                rate=self.rate, points=self.points, quantile=q, shift=Fraction(1, 2) - q, interpolated=True
            )
            for q in (Fraction(1, 4), Fraction(3, 4))
        )
        return low, high

    def release(self, exact: ArrayLike, *, bits: Bits = SECURE) -> Released[tuple[int, ...]]:
        """The codes of two points, the lower quartile first; they may be in the wrong order."""
        low, high = (draw.release(exact, bits=bits).value for draw in self.draws)
        return Released((low, high), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """The two codes as digits of one number."""
        low, high = (draw.outcomes(exact, runs, bits=bits) for draw in self.draws)
        return low * self.points.size + high

    @classmethod
    def worst_case(cls) -> WorstCase:
        """A fourth record comes, at the last of three points: the half of the interval of losses."""
        return WorstCase(
            mechanism=cls(rate=Fraction(3), points=Points(3)),
            exact=(0, 0, 0),
            neighbour=(0, 0, 0, 2),
            attains=False,
        )
