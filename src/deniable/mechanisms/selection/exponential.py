"""The exponential mechanism."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Released, WorstCase, shares
from deniable.mechanisms.selection import utility
from deniable.mechanisms.selection.base import Scores, Selection, behind_few, checked_scores
from deniable.noise import race, races
from deniable.noise.bits import SECURE, Bits
from deniable.numbers.balls import ball
from deniable.numbers.rationals import Real
from deniable.privacy import AddRemove, ExponentialMechanismLoss, PrivacyLoss, of_count

if TYPE_CHECKING:
    from flint import arb

_LARGEST_WEIGHT = 2**62


@dataclass(frozen=True, kw_only=True)
class ExponentialMechanism(Selection):
    """Choose candidate i with probability ~ weights[i] exp(rate score[i]).

    It is noisy max with Gumbel noise of scale 1 / rate, and is drawn so, exactly: no weight underflows. Physics knows
    the law as Boltzmann's, with the temperature 1 / rate and the energy -score.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.
        weights: public integers >= 0, one per candidate; None for all equal. Those of weight 0 are never chosen.

    Guarantee: epsilon-DP with epsilon = 2 rate linf, or rate linf for monotone scores; all losses lie in one interval
        of that length, hence epsilon^2/8-zCDP.
    Source: McSherry, Talwar (2007); Dong, Durfee, Rogers (2020), arXiv:1909.13830.

    >>> votes = of_count(rows=1, groups=1, relation=AddRemove)
    >>> mechanism = ExponentialMechanism.calibrated(votes, epsilon=1, monotone=True)
    >>> round(mechanism.gap_bound(3, failure="0.05"), 1)  # votes by which the choice may be behind
    3.6
    >>> winner = mechanism.release([120, 90, 118]).value
    """

    kind: ClassVar[str] = "exponential_mechanism"
    _of_sums: ClassVar[bool] = True

    weights: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.weights is None:
            return
        given: object = self.weights
        if isinstance(given, np.ndarray):
            given = given.tolist()
        weights = tuple(given) if isinstance(given, Iterable) else ()
        if not all(type(weight) is int and 0 <= weight <= _LARGEST_WEIGHT for weight in weights) or not any(weights):
            raise InvalidParameterError("weights must be ints in [0, 2^62], one of them at least 1")
        read_fields(self, weights=weights)

    def _loss(self, limit: Fraction) -> PrivacyLoss:
        return ExponentialMechanismLoss(limit, monotone=self.monotone)

    def release(self, exact: Scores, *, bits: Bits = SECURE) -> Released[int]:
        """Return the index of one candidate.

        Args:
            exact: secret scores; 64-bit integers, or an iterator of arrays of them where they do not fit the memory.
            bits: leave it out, except in tests.

        Raises: InvalidParameterError if there is no candidate, a score is not an integer, or weights are not as many.
        """
        checked = checked_scores(exact)
        weights = None if self.weights is None else self._weights
        return Released(race.exponential_mechanism(checked, rate=self.rate, weights=weights, bits=bits), bits.safe)

    def outcomes(self, exact: tuple[int, ...], runs: int, *, bits: Bits) -> NDArray[np.int64]:
        """Return the index chosen in each run."""
        shape = (runs, len(exact))
        weights = None if self.weights is None else np.broadcast_to(self._weights_for(len(exact)), shape)
        return races.exponential_mechanism(
            np.broadcast_to(np.array(exact), shape), rate=self.rate, weights=weights, bits=bits
        )

    def _masses(self, exact: ArrayLike) -> dict[Hashable, "arb"]:
        weights = self._weights_for
        gaps = behind_few(exact)
        weights_listed = [1] * len(gaps) if self.weights is None else weights(len(gaps)).tolist()
        return shares(
            {
                i: weight * ball(-self.rate * gap).exp()
                for i, (weight, gap) in enumerate(zip(weights_listed, gaps, strict=True))
            }
        )

    def gap_bound(self, candidates: int, *, failure: Real, best: int = 1) -> float:
        """Bound how far the score is below the best, with probability 1 - failure.

        Args:
            candidates: how many there are. Those of weight 0 do not count, the best of the others is the best.
            failure: a probability in (0, 1).
            best: how many candidates have the best score, at least.

        Guarantee: ln((d - best) (1 - failure) / (best failure)) / rate, rounded up: below the usual
            (ln(d / best) + ln(1 / failure)) / rate, and attained.
        """
        return utility.exponential_gap(self._rest(candidates, best), self.rate, utility.checked_failure(failure))

    def expected_gap(self, candidates: int, *, best: int = 1) -> float:
        """Bound how far the score is below the best on average, rounded up.

        It is ln(candidates / best) / rate.
        """
        return utility.exponential_expectation(self._rest(candidates, best), self.rate)

    def _rest(self, candidates: int, best: int) -> Fraction:
        """Return the weight of the others over that of the best, at worst."""
        number, tops = utility.checked_counts(candidates, best)
        if self.weights is None:
            return Fraction(number - tops, tops)
        positive = sorted(weight for weight in self._weights_for(number).tolist() if weight)
        lightest = sum(positive[:tops])
        return Fraction(sum(positive) - lightest, lightest)

    def _weights_for(self, candidates: int) -> NDArray[np.int64]:
        if self._weights.size != candidates:
            raise InvalidParameterError(f"there are {self._weights.size} weights for {candidates} candidates")
        return self._weights

    @cached_property
    def _weights(self) -> NDArray[np.int64]:
        return np.array(self.weights, dtype=np.int64)

    @classmethod
    def worst_case(cls) -> WorstCase:
        """Return two candidates whose scores move towards each other by 2.

        Their losses are 1.57 and -0.43, an interval of length 2 = epsilon; the curve of all pairs touches theirs at one
        epsilon.
        """
        sensitivity = of_count(rows=1, groups=2, relation=AddRemove)
        mechanism = cls(rate=Fraction(1), weights=(1, 4))
        return WorstCase(mechanism=mechanism, sensitivity=sensitivity, exact=(1, 0), neighbour=(0, 1), attains=False)
