"""Exact laws of noisy choices of small votes, by enumeration of the noise."""

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms import NoisyMax
from tests.mechanisms.laws import chances


def gaussian_law(votes: tuple[int, ...], sigma: float) -> NDArray[np.float64]:
    """P[each class has the largest sum of votes and discrete Gaussian noise, the first of equal ones]."""
    reach = int(14 * sigma) + max(votes) + 1
    k = np.arange(-reach, reach + 1)
    noise = np.exp(-(k**2) / (2 * sigma**2))
    noise /= noise.sum()
    below = np.cumsum(noise)  # P[noise <= k]

    def up_to(x: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.where(x < -reach, 0.0, below[np.clip(x + reach, 0, 2 * reach)])

    found = []
    for i, mine in enumerate(votes):
        chance = noise.copy()
        for j, other in enumerate(votes):
            if j != i:
                chance *= up_to(k + mine - other - (j < i))
        found.append(chance.sum())
    return np.array(found)


def laplace_law(votes: tuple[int, ...], gamma: Fraction) -> NDArray[np.float64]:
    return chances(NoisyMax(rate=gamma), votes)


def neighbours(votes: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """One vote moves to another class, is withdrawn, or is cast."""
    size = len(votes)
    for start in range(-1, size):
        for end in range(-1, size):
            moved = np.array(votes)
            if start >= 0:
                moved[start] -= 1
            if end >= 0:
                moved[end] += 1
            if start != end and moved.min() >= 0:
                yield tuple(moved.tolist())


def renyi(p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
    kept = p > 0
    return float(np.log((p[kept] ** order * q[kept] ** (1 - order)).sum()) / (order - 1))
