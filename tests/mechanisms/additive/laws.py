"""The laws of additive noise, written from the docstrings; outcomes are integers."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms.laws import Law, Weaker

_REACH = 4000


def of_weights(weights: Callable[[Any, NDArray[np.float64]], NDArray[np.float64]]) -> Law:
    """The law with these weights of the noise, over a range that misses less than 10^-15, for one coordinate."""

    def law(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        assert len(exact) == 1, "enumerate vectors here when a mechanism needs them"
        k = np.arange(-_REACH, _REACH + 1)
        found = weights(mechanism, k.astype(np.float64))
        inside = found > 0
        return k[inside] + exact[0], found[inside] / found.sum()

    return law


def bounded_laplace(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    y = np.arange(mechanism.lower, mechanism.upper + 1)
    weights = np.exp(-np.abs(y - exact[0]) / float(mechanism.scale))
    return y, weights / weights.sum()


LAWS: dict[str, Law] = {
    "bounded_laplace": bounded_laplace,
    "gaussian": of_weights(lambda mechanism, k: np.exp(-(k**2) / (2 * float(mechanism.sigma_squared)))),
    "laplace": of_weights(lambda mechanism, k: np.exp(-np.abs(k) / float(mechanism.scale))),
    "staircase": of_weights(
        lambda mechanism, k: np.exp(
            -float(mechanism.rate) * np.floor((np.abs(k) + mechanism.step - mechanism.centre) / mechanism.step)
        )
    ),
    "truncated_laplace": of_weights(
        lambda mechanism, k: np.where(np.abs(k) <= mechanism.bound, np.exp(-np.abs(k) / float(mechanism.scale)), 0.0)
    ),
}
WEAKER: dict[str, Weaker] = {
    "bounded_laplace": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),
    "gaussian": lambda mechanism: replace(mechanism, sigma_squared=mechanism.sigma_squared * Fraction(49, 100)),
    "laplace": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),
    "staircase": lambda mechanism: replace(mechanism, rate=mechanism.rate * Fraction(10, 7)),
    "truncated_laplace": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),
}
