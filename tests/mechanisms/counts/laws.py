"""The laws of noisy counts, written from the docstrings."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.mechanisms.laws import Law, Weaker


def digits_of(laws: list[dict[int, float]], base: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Independent digits as one number."""
    outcomes, chances = np.zeros(1, dtype=np.int64), np.ones(1)
    for law in laws:
        digits = np.array(sorted(law))
        outcomes = (outcomes[:, np.newaxis] * base + digits).ravel()
        chances = np.outer(chances, [law[digit] for digit in digits.tolist()]).ravel()
    return outcomes, chances


def of_tree(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of cells a, b, c, counted with the sum of a and b, least squares takes (2 a + (a + b) - b) / 3 for a."""
    k = np.arange(-40, 41)
    mass = np.exp(-np.abs(k) / float(mechanism.noise.scale))
    twice = np.zeros(2 * k.size - 1)
    twice[::2] = mass
    law = np.convolve(np.convolve(twice, mass), mass)
    third = np.arange(law.size) - law.size // 2
    return np.round(exact[0] + third / 3, 6), law / law.sum()


def of_keys(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """A key is shown with its count above the threshold; one that nobody has is not."""
    k = np.arange(-40, 41)
    mass = np.exp(-(k**2) / (2 * float(mechanism.noise.sigma_squared)))
    laws = []
    for count in exact:
        law = {0: 0.0}
        for noise, chance in zip(k.tolist(), (mass / mass.sum()).tolist(), strict=True):
            seen = max(count + noise - mechanism.threshold, 0) if count else 0
            law[seen] = law.get(seen, 0.0) + chance
        laws.append(law)
    return digits_of(laws, 64)


def weaker_keys(mechanism: Any) -> Any:
    noise = replace(mechanism.noise, sigma_squared=mechanism.noise.sigma_squared / 2)
    return replace(mechanism, noise=noise)


LAWS: dict[str, Law] = {"tree_of_counts": of_tree, "stability_histogram": of_keys, "weighted_keys": of_keys}
WEAKER: dict[str, Weaker] = {
    "tree_of_counts": lambda mechanism: replace(
        mechanism, noise=replace(mechanism.noise, scale=mechanism.noise.scale * Fraction(7, 10))
    ),
    "stability_histogram": weaker_keys,
    "weighted_keys": weaker_keys,
}
