"""Mechanisms that choose among candidates by secret integer scores."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import Mechanism
from deniable.noise.race import checked_rate
from deniable.privacy import AddRemove, PrivacyLoss, PureLoss, Relation, Restricted, Sensitivity, calibrate
from deniable.privacy.currencies.concentrated import epsilon_within
from deniable.privacy.exact import positive_rational, probability

Scores = ArrayLike | Iterator[NDArray[np.integer]]


@dataclass(frozen=True)
class Chosen:
    """A choice that may be published if `safe`: an index, a tuple of indices, or a value."""

    value: int | tuple[int, ...]
    safe: bool


@dataclass(frozen=True, kw_only=True)
class Selection(Mechanism):
    """Chooses by noisy scores; `rate` is the noise's per unit of score, the larger the more exact.

    Scores are integers, the larger the better, one for each candidate of a public list; what counts of their
    sensitivity is `linf`, how far one unit moves one score. With `monotone=True` the rate is twice as large at the same
    cost: it claims that adding a unit never lowers any score, or never raises any, and so holds under add/remove alone.
    """

    rate: Fraction
    monotone: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.monotone, bool):
            raise InvalidParameterError(f"monotone must be True or False, got {self.monotone!r}")
        object.__setattr__(self, "rate", checked_rate(positive_rational("rate", self.rate)))

    @classmethod
    def calibrated(
        cls,
        sensitivity: Sensitivity,
        *,
        epsilon: object = None,
        delta: object = None,
        rho: object = None,
        monotone: bool = False,
        **parameters: Any,
    ) -> Self:
        """The least noise for a target epsilon, (epsilon, delta) or rho, for scores with this sensitivity.

        Args:
            parameters: the other fields of the mechanism.

        Raises: InvalidParameterError unless one target is given, or if no unit can change a score.
        """
        mechanism = cls(rate=Fraction(1), monotone=monotone, **parameters)
        moved = mechanism._moved(sensitivity)
        if not moved:
            raise InvalidParameterError(
                "the sensitivity is 0: no unit can change a score, and the choice needs no noise"
            )
        return replace(mechanism, rate=mechanism._limit_for(epsilon, delta, rho) / moved)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        moved = self._moved(sensitivity)
        if not moved:
            return Restricted(PureLoss(0), sensitivity.relation)
        loss = self._loss(self.rate * moved)
        return loss if loss.relations == {sensitivity.relation} else Restricted(loss, sensitivity.relation)

    def _moved(self, sensitivity: Sensitivity) -> Fraction:
        """How far one unit may move two integer scores apart."""
        if self.monotone and sensitivity.relation is not AddRemove:
            raise UnprovedError(
                f"monotone scores are proved for {Relation.ADD_REMOVE}; this sensitivity is for "
                f"{sensitivity.relation}. Leave monotone out."
            )
        return sensitivity.integral().linf * (1 if self.monotone else 2)

    def _limit_for(self, epsilon: object, delta: object, rho: object) -> Fraction:
        """The largest argument of `_loss` that meets the target; epsilon is linear in it, rho quadratic."""
        unit = self._loss(Fraction(1))
        assert unit.pure_epsilon is not None
        assert unit.rho is not None
        if (epsilon is None) == (rho is None) or (epsilon is None and delta is not None):
            raise InvalidParameterError("give one target: epsilon, epsilon with delta, or rho")
        if rho is not None:
            return epsilon_within(positive_rational("rho", rho) / unit.rho, per=1)
        target, failure = positive_rational("epsilon", epsilon), probability("delta", 0 if delta is None else delta)
        return calibrate(self._loss, epsilon=target, delta=failure) if failure else target / unit.pure_epsilon

    @abstractmethod
    def _loss(self, limit: Fraction) -> PrivacyLoss:
        """The loss where scores move apart by at most `limit` in units of the noise."""


def checked_scores(scores: Scores) -> NDArray[np.integer] | Iterator[NDArray[np.integer]]:
    """An array of scores; or an iterator, whose arrays are checked as they come."""
    return scores if isinstance(scores, Iterator) else checked_array(scores)


def checked_array(scores: ArrayLike) -> NDArray[np.integer]:
    """Integers of one dimension. Errors name no value."""
    array = np.asarray(scores)
    if array.size == 0:
        raise InvalidParameterError("there must be at least one candidate, got an empty list of scores")
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InvalidParameterError(
            f"scores must be a one-dimensional array of 64-bit integers, got {array.ndim} dimensions of {array.dtype}. "
            "Put real scores on a lattice first; NaN and infinity have no place there."
        )
    return array


def as_int64(values: NDArray[np.integer]) -> NDArray[np.int64]:
    """The same integers; those above 2^63 - 1 as that number."""
    if values.dtype == np.uint64:
        values = np.minimum(values, np.uint64(2**63 - 1))
    return values.astype(np.int64)


def below_the_best(scores: ArrayLike, largest: int) -> NDArray[np.float64]:
    """Scores of a small set minus the best one: exact differences, which 64 bits without a sign hold, as floats."""
    array = checked_array(scores)
    if array.size > largest:
        raise InvalidParameterError(f"probabilities are computed for at most {largest} candidates, got {array.size}")
    bits = array if array.dtype == np.uint64 else array.astype(np.int64).view(np.uint64)
    return np.asarray(-(bits[array.argmax()] - bits).astype(np.float64), dtype=np.float64)
