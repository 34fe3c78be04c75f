"""Permute-and-flip, which is report noisy max with exponential noise."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.mechanisms.base import Released, WorstCase
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Scores, Selection, behind_few, checked_scores, products_without_one
from deniable.noise import race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real
from deniable.privacy import AddRemove, PrivacyLoss, of_count
from deniable.privacy.constructors import PermuteAndFlipLoss

if TYPE_CHECKING:
    from flint import arb

_MOST_CANDIDATES = 300


@dataclass(frozen=True, kw_only=True)
class PermuteAndFlip(Selection):
    """Choose the candidate with the largest score + exponential noise, mean 1 / rate.

    The choice is never worse than that of the exponential mechanism: a better score is always as probable at least.
    Prefer it where epsilon or delta is the budget, and the exponential mechanism where rho is.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.

    Guarantee: epsilon-DP with epsilon = 2 rate linf, or rate linf for monotone scores; its curve is that of Laplace
        noise.
    Source: McKenna, Sheldon (2020), arXiv:2010.12603; Ding, Kifer, Saghaian, Steinke, Wang, Xiao, Zhang (2021),
        arXiv:2105.07260; docs/theory/privacy/losses.md.

    >>> votes = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = PermuteAndFlip.calibrated(votes, epsilon=1, monotone=True)
    >>> round(mechanism.gap_bound(3, failure="0.05"), 1)
    3.0
    >>> winner = mechanism.release([120, 90, 118]).value
    """

    kind: ClassVar[str] = "permute_and_flip"
    _of_sums: ClassVar[bool] = True

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        return PermuteAndFlipLoss(limit, monotone=self.monotone)

    def release(self, exact: Scores, *, bits: Bits = SECURE) -> Released[int]:
        """Return the index of one candidate.

        Arguments and errors are as in `ExponentialMechanism.release`.
        """
        return Released(race.permute_and_flip(checked_scores(exact), rate=self.rate, bits=bits), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return the index chosen in each run."""
        return races.permute_and_flip(np.broadcast_to(np.array(exact), (runs, len(exact))), rate=self.rate, bits=bits)

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        """Return the probability of each candidate.

        It is p_i times the integral over t in [0, 1] of the product of 1 - p_j t, j != i, with p_j = exp(rate (score_j
        - best)).
        """
        from flint import arb_poly

        p = [ball(-self.rate * gap).exp() for gap in behind_few(exact, max_candidates=_MOST_CANDIDATES)]
        factors = [arb_poly([1, -each]) for each in p]
        return {i: p[i] * others.integral()(1) for i, others in enumerate(products_without_one(factors))}

    def gap_bound(self, candidates: int, *, failure: Real, best: int = 1) -> float:
        """Bound how far the score is below the best, with probability 1 - failure.

        Guarantee: ln((d - best) / ((best + 1) failure)) / rate, rounded up, or the bound of the exponential mechanism
            if that is less.
        """
        number, tops = utility.checked_counts(candidates, best)
        return utility.permute_and_flip_gap(number, tops, self.rate, utility.checked_failure(failure))

    def expected_gap(self, candidates: int, *, best: int = 1) -> float:
        """Bound how far the score is below the best on average, rounded up.

        It is (1/(best + 1) + ... + 1/candidates) / rate.
        """
        return utility.permute_and_flip_expectation(*utility.checked_counts(candidates, best), self.rate)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return three scores that move by 1 against each other.

        Two candidates attain the curve, but each pair of scores at one epsilon.
        """
        sensitivity = of_count(rows=1, groups=3, relation=AddRemove)
        mechanism = cls(rate=Fraction(1))
        return WorstCase(
            mechanism=mechanism, sensitivity=sensitivity, exact=(1, 0, 0), neighbour=(0, 1, 1), attains=False
        )
