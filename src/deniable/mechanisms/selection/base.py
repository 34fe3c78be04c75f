"""Mechanisms that choose among candidates by secret integer scores."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms.base import Mechanism
from deniable.noise.race import checked_rate
from deniable.privacy import AddRemove, PrivacyLoss, PureLoss, Relation, Restricted, Sensitivity
from deniable.privacy.exact import positive_rational

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
    def calibrated(cls, sensitivity: Sensitivity, *, epsilon: object, monotone: bool = False) -> Self:
        """The least noise that is epsilon-DP for scores with this sensitivity."""
        return cls(rate=rate_for(sensitivity, epsilon, monotone=monotone), monotone=monotone)

    def privacy_loss(self, sensitivity: Sensitivity) -> PrivacyLoss:
        require_monotone(sensitivity, self.monotone)
        if not sensitivity.linf:
            return Restricted(PureLoss(0), sensitivity.relation)
        loss = self._loss(self.rate * sensitivity.linf * (1 if self.monotone else 2))
        return loss if loss.relations == {sensitivity.relation} else Restricted(loss, sensitivity.relation)

    @abstractmethod
    def _loss(self, limit: Fraction) -> PrivacyLoss:
        """The loss where scores move apart by at most `limit` in units of the noise."""


def rate_for(sensitivity: Sensitivity, epsilon: object, *, monotone: bool) -> Fraction:
    """epsilon / (2 linf), or epsilon / linf for monotone scores."""
    require_monotone(sensitivity, monotone)
    if not sensitivity.linf:
        raise InvalidParameterError("the sensitivity is 0: no unit can change a score, and the choice needs no noise")
    return positive_rational("epsilon", epsilon) / (sensitivity.linf * (1 if monotone else 2))


def require_monotone(sensitivity: Sensitivity, monotone: bool) -> None:
    """Refuse monotone scores under replace: one unit goes, which lowers some, another comes, which raises others."""
    if monotone and sensitivity.relation is not AddRemove:
        raise UnprovedError(
            f"monotone scores are proved for {Relation.ADD_REMOVE}; this sensitivity is for {sensitivity.relation}. "
            "Leave monotone out."
        )


def checked_scores(scores: Scores) -> NDArray[np.integer] | Iterator[NDArray[np.integer]]:
    """Integers of one dimension; of an iterator, arrays are checked as they come. Errors name no value."""
    if isinstance(scores, Iterator):
        return scores
    array = np.asarray(scores)
    if array.size == 0:
        raise InvalidParameterError("there must be at least one candidate, got an empty list of scores")
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InvalidParameterError(
            f"scores must be a one-dimensional array of 64-bit integers, got {array.ndim} dimensions of {array.dtype}. "
            "Put real scores on a lattice first; NaN and infinity have no place there."
        )
    return array


def small_scores(scores: ArrayLike, largest: int) -> NDArray[np.float64]:
    """Scores of a small set relative to the best, in float64."""
    array = checked_scores(scores)
    assert isinstance(array, np.ndarray)
    if array.size > largest:
        raise InvalidParameterError(f"probabilities are computed for at most {largest} candidates, got {array.size}")
    best = int(array.max())
    return np.array([float(int(score) - best) for score in array])
