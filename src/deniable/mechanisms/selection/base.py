"""Mechanisms that choose among candidates by secret integer scores."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import MOST_VALUES, Mechanism, drawable_rate
from deniable.mechanisms.integers import MAX_INT64, MIN_INT64, integers
from deniable.numbers.rationals import Real, positive_rational, probability, yes_or_no
from deniable.privacy import AddRemove, PrivacyLoss, PureLoss, Relation, Sensitivity, calibrate
from deniable.privacy.notions.concentrated import epsilon_within
from deniable.privacy.pld.accountant import DEFAULT_TOLERANCE

if TYPE_CHECKING:
    from flint import arb_poly

Scores = ArrayLike | Iterator[NDArray[np.integer]]


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """Base of choices by noisy scores.

    Scores are integers, the larger the better, one for each candidate of a public list; what counts of their
    sensitivity is `linf`, how far one unit moves one score. With `monotone=True` the rate is twice as large at the same
    cost: it claims that adding a unit never lowers any score, or never raises any, and so holds under add/remove alone.

    Args:
        rate: of the noise per unit of score, the larger the more exact.
        monotone: whether a unit that is added moves all scores in one direction.
    """

    rate: Annotated[Fraction, drawable_rate]
    monotone: Annotated[bool, yes_or_no] = False

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        monotone: bool = False,
        **parameters: Any,
    ) -> Self:
        """Return the least noise for a target epsilon, (epsilon, delta) or rho.

        Args:
            sensitivity: of the scores.
            epsilon: one target; with delta, another; or rho.
            monotone: whether a unit that is added moves all scores in one direction.
            parameters: the other fields of the mechanism.

        Raises: InvalidParameterError unless one target is given, or if no unit can change a score.
        """
        mechanism = cls(rate=Fraction(1), monotone=monotone, **parameters)
        moved = moved_apart(sensitivity, monotone=monotone)
        if not moved:
            raise InvalidParameterError(
                "the sensitivity is 0: no unit can change a score, and the choice needs no noise"
            )
        return replace(mechanism, rate=mechanism._limit_for(epsilon, delta, rho) / moved)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        moved = moved_apart(sensitivity, monotone=self.monotone)
        if not moved:
            return PureLoss(0).under(sensitivity.relation)
        loss = self._loss(self.rate * moved)
        return loss if loss.relations == {sensitivity.relation} else loss.under(sensitivity.relation)

    def _limit_for(self, epsilon: Real | None, delta: Real | None, rho: Real | None) -> Fraction:
        """Return the largest argument of `_loss` that meets the target.

        Epsilon is linear in it, rho quadratic.
        """
        unit = self._loss(Fraction(1))
        assert unit.pure_epsilon is not None
        assert unit.rho is not None
        if (epsilon is None) == (rho is None) or (epsilon is None and delta is not None):
            raise InvalidParameterError("give one target: epsilon, epsilon with delta, or rho")
        if rho is not None:
            return epsilon_within(positive_rational("rho", rho) / unit.rho, per=1)
        target = positive_rational("epsilon", epsilon)
        failure = probability("delta", 0 if delta is None else delta)
        pure = target / unit.pure_epsilon
        return max(pure, _limit_within(self, pure, target, failure)) if failure else pure

    def _one_round(self) -> "Selection":
        """Return one of the equal choices that this one is made of."""
        return self

    @abstractmethod
    def _loss(self, limit: Fraction) -> PrivacyLoss:
        """Return the loss where scores move apart by at most `limit` units of the noise."""


@lru_cache(maxsize=8)
def _limit_within(mechanism: Selection, pure: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest argument of `_loss` that is found to be (epsilon, delta)-DP.

    Curves of single choices are exact, and searched to the eighth digit. Several rounds admit `pure` at least, and what
    one of them admits at most; where no curve above `pure` is known well enough, that is the answer.
    """
    if sum(count for _, count in mechanism._loss(Fraction(1)).composition) == 1:
        return calibrate(mechanism._loss, epsilon=epsilon, delta=delta, tolerance=1e-8)
    if not mechanism._loss(pure * (1 + Fraction(DEFAULT_TOLERANCE))).proves(epsilon, delta):
        return pure  # a little more is too much, or not known to be within the target
    largest_limit = max(pure, calibrate(mechanism._one_round()._loss, epsilon=epsilon, delta=delta, tolerance=1e-8))
    try:
        return calibrate(
            mechanism._loss, over=(pure, largest_limit), epsilon=epsilon, delta=delta, tolerance=DEFAULT_TOLERANCE
        )
    except InvalidParameterError:
        return pure


def moved_apart(sensitivity: Sensitivity, *, monotone: bool) -> Fraction:
    """Return how far one unit may move two integer scores apart.

    Half as far where all of them move in one direction.
    """
    if monotone and sensitivity.relation is not AddRemove:
        raise UnprovedError(
            f"monotone scores are proved for {Relation.ADD_REMOVE}; this sensitivity is for {sensitivity.relation}. "
            "Leave monotone out."
        )
    return sensitivity.integral().linf * (1 if monotone else 2)


def checked_scores(scores: Scores) -> NDArray[np.integer] | Iterator[NDArray[np.integer]]:
    """Return an array of scores, or an iterator that checks arrays as they come."""
    return scores if isinstance(scores, Iterator) else checked_array(scores)


def checked_array(scores: ArrayLike) -> NDArray[np.int64]:
    """Return the scores in 64 bits.

    Where they do not fit, all move by the same number, which changes no choice.

    Those further than r = 2^64 - 1 below the best count as r below it. Errors name no value.

    Guarantee: max(score, best - r) moves no further than the scores do, and in the same direction: the sensitivity and
        `monotone` hold for it.
    """
    array = integers("scores", scores, listed=True)
    if array.size == 0:
        raise InvalidParameterError("scores must be those of at least one candidate, got an empty list")
    if array.dtype == object:
        array = np.maximum(array - array.max() + MAX_INT64, MIN_INT64)
    return array.astype(np.int64, copy=False)


def behind(scores: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return how far each score is below the best, exactly, in 64 bits without a sign."""
    bits = scores.view(np.uint64)
    return np.asarray(bits[scores.argmax()] - bits)


def behind_few(scores: ArrayLike, *, max_candidates: int = MOST_VALUES) -> list[int]:
    """Return how far each score is below the best, for few candidates."""
    array = checked_array(scores)
    if array.size > max_candidates:
        raise InvalidParameterError(
            f"probabilities are listed for at most {max_candidates} candidates, got {array.size}"
        )
    return [int(gap) for gap in behind(array)]


def products_without_one(factors: Sequence["arb_poly"]) -> list["arb_poly"]:
    """Return the product of all other factors, for each factor."""
    from flint import arb_poly

    before, after = [arb_poly([1])], [arb_poly([1])]
    for first, last in zip(factors, reversed(factors), strict=True):
        before.append(before[-1] * first)
        after.append(after[-1] * last)
    return [before[i] * after[len(factors) - 1 - i] for i in range(len(factors))]
