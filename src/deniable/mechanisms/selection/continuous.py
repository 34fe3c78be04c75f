"""The exponential mechanism over an interval."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import InBounds, Released, WorstCase, require_listed, shares
from deniable.mechanisms.integers import as_pair, clamped, integers, public_bounds
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Selection, behind_few, checked_array
from deniable.noise import race, races, uniform
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real
from deniable.privacy import AddRemove, ExponentialMechanismLoss, PrivacyLoss, of_count

if TYPE_CHECKING:
    from flint import arb

_LARGEST_LENGTH = 2**62


@dataclass(frozen=True, kw_only=True)
class ContinuousExponential(InBounds, Selection):
    """Choose a point x of a public interval with probability ~ exp(rate score(x)).

    The points are those of the grid lower, ..., upper - 1. The score is constant between breakpoints, which may be
    secret like the scores, and as many as there are data. The draw never lists the grid: a piece is chosen by its
    length and score, then a point of it uniformly. With a fine lattice this is the mechanism with a density over an
    interval of reals, without rounding.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.
        bounds: the public interval (lower, upper), in steps of the lattice.

    Guarantee: epsilon-DP with epsilon = 2 rate linf, or rate linf for monotone scores, where linf bounds the change of
        the score at every single x; epsilon^2/8-zCDP.
    Source: McSherry, Talwar (2007).

    >>> from deniable.privacy import AddRemove, of_count
    >>> buyer = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = ContinuousExponential.calibrated(buyer, epsilon=1, bounds=(0, 1000))
    >>> mechanism.gap_bound(100, failure="0.05")  # below the best score, if a tenth of the points has it
    10.283327113005326
    >>> point = mechanism.release(([400, 500], [3, 9, 1])).value
    """

    kind: ClassVar[str] = "continuous_exponential"

    bounds: Annotated[tuple[int, int], partial(public_bounds, largest=_LARGEST_LENGTH)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.upper - self.lower > _LARGEST_LENGTH:
            raise InvalidParameterError(f"bounds must be at most 2^62 apart, got ({self.lower}, {self.upper})")

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        return ExponentialMechanismLoss(limit, monotone=self.monotone)

    def release(self, exact: tuple[ArrayLike, ArrayLike], *, bits: Bits = SECURE) -> Released[int]:
        """Return one point of the grid.

        Args:
            exact: secret; a pair (breaks, scores) of lists of integers. There is one break fewer than scores; they are
                put in order, and those outside the interval are moved to its ends. scores[0] holds below breaks[0],
                scores[i] for breaks[i-1] <= x < breaks[i]. Pieces without a point are never chosen.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError if breaks are not as many, or anything is not an integer.
        """
        ends, array = self._pieces(*as_pair("exact", exact, "breaks", "scores"))
        piece = race.exponential_mechanism(array, rate=self.rate, weights=np.diff(ends), bits=bits)
        inside = uniform.sample(np.diff(ends)[piece : piece + 1], bits=bits)[0]
        return Released(int(ends[piece]) + int(inside), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return points, for `exact` = the breakpoints, then the scores."""
        half = len(exact) // 2
        ends, array = self._pieces(exact[:half], exact[half:])
        lengths = np.diff(ends)
        shape = (runs, array.size)
        pieces = races.exponential_mechanism(
            np.broadcast_to(array, shape), rate=self.rate, weights=np.broadcast_to(lengths, shape), bits=bits
        )
        return ends[pieces] + uniform.sample(lengths[pieces], bits=bits)

    def _masses(self, exact: tuple[ArrayLike, ArrayLike]) -> dict[Hashable, "arb"]:
        ends, scores = self._pieces(*as_pair("exact", exact, "breaks", "scores"))
        require_listed(self.upper - self.lower)
        weights = [ball(-self.rate * gap).exp() for gap in behind_few(scores)]
        pieces = zip(ends[:-1].tolist(), ends[1:].tolist(), weights, strict=True)
        return shares({x: weight for start, end, weight in pieces for x in range(start, end)})

    def gap_bound(self, best: int, *, failure: Real) -> float:
        """Bound how far the score is below the best, with probability 1 - failure.

        Args:
            best: how many points of the grid have the best score, at least.
        """
        return utility.exponential_gap(self._rest(best), self.rate, utility.checked_failure(failure))

    def expected_gap(self, best: int) -> float:
        """Bound how far the score is below the best on average, rounded up.

        It is ln(number of points / best) / rate.
        """
        return utility.exponential_expectation(self._rest(best), self.rate)

    def _rest(self, best: int) -> Fraction:
        """Return how many other points there are for each of the best."""
        number, tops = utility.checked_counts(self.upper - self.lower, best)
        return Fraction(number - tops, tops)

    def _pieces(self, breaks: ArrayLike, scores: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
        """Return all ends of pieces, one more than the scores, and the scores."""
        array = checked_array(scores)
        inner = integers("breaks", breaks, listed=True)
        if inner.size != array.size - 1:
            raise InvalidParameterError("breaks must be one fewer than the scores: the score changes at each of them")
        ends = np.sort(clamped("breaks", inner, lower=self.lower, upper=self.upper), kind="stable")  # quick if sorted
        return np.concatenate([[self.lower], ends, [self.upper]]), array

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return a score that falls by 1 on a fifth of the interval and rises on the rest."""
        sensitivity = of_count(rows=1, groups=2, relation=AddRemove)
        mechanism = cls(rate=Fraction(1), bounds=(0, 10))
        return WorstCase(
            mechanism=mechanism, sensitivity=sensitivity, exact=(2, 1, 0), neighbour=(2, 0, 1), attains=False
        )
