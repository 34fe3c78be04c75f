"""The laws of noisy sums of clipped rows, for one column, written from the docstrings."""

from dataclasses import replace
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms.laws import Law, Weaker

REACH = 120  # e^(-120 / 6) of the noise is beyond it


def noisy(mechanism: Any, entries: list[int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The sum of entries that all have noise of their own."""
    k = np.arange(-REACH, REACH + 1)
    mass = np.exp(-np.abs(k) / float(mechanism.noise.scale))
    law = reduce(np.convolve, [mass / mass.sum()] * len(entries))
    return np.arange(law.size) - law.size // 2 + sum(entries), law


def of_sum(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A row on the sphere or beyond is rounded to one step less than the radius has."""
    return noisy(mechanism, [(mechanism.steps - 1) * len(exact)])


def of_products(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Beside a constant of 2 steps of 3, the radius has isqrt(9 - 4) = 2, so a row beyond it is (2, 1)."""
    count = len(exact)
    return noisy(mechanism, [4 * count, 2 * count, 2 * count, count])


def weaker_noise(mechanism: Any) -> Any:
    return replace(mechanism, noise=replace(mechanism.noise, scale=mechanism.noise.scale * Fraction(7, 10)))


LAWS: dict[str, Law] = {"clipped_sum": of_sum, "clipped_products": of_products}
WEAKER: dict[str, Weaker] = dict.fromkeys(LAWS, weaker_noise)
