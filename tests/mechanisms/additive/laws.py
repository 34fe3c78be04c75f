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


def elliptical(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The sum of the answers of the strategy and of independent noise on each."""
    k = np.arange(-200, 201)
    one = np.exp(-(k**2) / (2 * float(mechanism.sigma_squared)))
    law = np.ones(1)
    for _ in mechanism.strategy:
        law = np.convolve(law, one / one.sum())
    reach = 200 * len(mechanism.strategy)
    centre = sum(int(np.dot(row, exact)) for row in mechanism.strategy)
    return np.arange(-reach, reach + 1) + centre, law / law.sum()


def snapping(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Integrals of the real density over the cells of the grid; what lies beyond the bound is at its ends."""

    def cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
        tail = 0.5 * np.exp(-np.abs(x - exact[0]) / float(mechanism.scale))
        return np.where(x < exact[0], tail, 1 - tail)

    bound, grid = mechanism.bound, mechanism.grid
    y = np.arange(-bound, bound + 1, grid)
    assert bound % grid == 0
    edges = np.concatenate([[-np.inf], y[1:] - grid / 2, [np.inf]])
    return y, np.diff(cdf(edges))


LAWS: dict[str, Law] = {
    "bounded_laplace": bounded_laplace,
    "elliptical_gaussian": elliptical,
    "gaussian": of_weights(lambda mechanism, k: np.exp(-(k**2) / (2 * float(mechanism.sigma_squared)))),
    "laplace": of_weights(lambda mechanism, k: np.exp(-np.abs(k) / float(mechanism.scale))),
    "snapping": snapping,
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
    "elliptical_gaussian": lambda mechanism: replace(
        mechanism, sigma_squared=mechanism.sigma_squared * Fraction(49, 100)
    ),
    "gaussian": lambda mechanism: replace(mechanism, sigma_squared=mechanism.sigma_squared * Fraction(49, 100)),
    "laplace": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),
    "snapping": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),
    "staircase": lambda mechanism: replace(mechanism, rate=mechanism.rate * Fraction(10, 7)),
    "truncated_laplace": lambda mechanism: replace(mechanism, scale=mechanism.scale * Fraction(7, 10)),
}
