"""What mechanisms for teaching publish."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.mechanisms.base import Mechanism
from deniable.numbers.rationals import probability
from deniable.privacy import ApproximateLoss, PrivacyLoss, Sensitivity
from deniable.privacy.constructors import TeachingLoss

_RECORD_BITS = 10  # of one small record in the number of an outcome
_MOST_RECORDS = 6


@dataclass(frozen=True, kw_only=True)
class Teaching(Mechanism):
    """Shows private records as they are, with a small probability: an example of what a definition permits.

    The input holds one whole number for each record; what is no number counts as 0. `sensitivity.coordinates` says how
    many records one unit owns.
    """


@dataclass(frozen=True, kw_only=True)
class RareExposure(Teaching):
    """Shows what it shows with probability `delta`, else nothing."""

    delta: Annotated[Fraction, probability]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delta:
            raise InvalidParameterError("delta must be > 0: a mechanism that publishes nothing teaches nothing")


def failing(chance: Fraction, sensitivity: Sensitivity) -> PrivacyLoss:
    """The loss of what shows everything with this probability, for units with this sensitivity."""
    if chance == 1:
        raise InvalidParameterError("a unit owns all records here, so it is shown with certainty: delta would be 1")
    return TeachingLoss(ApproximateLoss(0, chance).under(sensitivity.relation))


def owned(sensitivity: Sensitivity) -> int:
    """How many records one unit owns."""
    if sensitivity.coordinates is None:
        raise InvalidParameterError(
            "a mechanism that shows records needs to know how many of them a unit owns. Give coordinates=..."
        )
    return sensitivity.coordinates


def numbered(exact: tuple[int, ...]) -> NDArray[np.int64]:
    """For each small record a number that says it and its place; sums of them can be told apart."""
    small = all(abs(record) < 2 ** (_RECORD_BITS - 2) for record in exact)
    if len(exact) > _MOST_RECORDS or not small:
        raise InvalidParameterError(f"outcomes are for at most {_MOST_RECORDS} small records")
    folded = [2 * record if record >= 0 else -2 * record - 1 for record in exact]
    return np.array([(1 + code) << (_RECORD_BITS * place) for place, code in enumerate(folded)], dtype=np.int64)
