"""The law of randomised response, written from its docstring; an outcome is the reported code."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import RandomizedResponse
from tests.mechanisms.laws import Law, Weaker


def _randomized(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    (answer,) = exact
    odds = math.exp(mechanism.epsilon)
    weights = np.ones(mechanism.choices)
    weights[answer] = odds
    return np.arange(mechanism.choices), weights / (odds + mechanism.choices - 1)


LAWS: dict[str, Law] = {"randomized_response": _randomized}
WEAKER: dict[str, Weaker] = {
    "randomized_response": lambda mechanism: RandomizedResponse(
        choices=mechanism.choices, epsilon=mechanism.epsilon * Fraction(10, 7)
    )
}
