"""The laws of tested releases, written from the docstrings."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.mechanisms.base import NO_ANSWER
from tests.mechanisms.additive.laws import of_weights
from tests.mechanisms.inverse.laws import of_inverse_quantile
from tests.mechanisms.laws import Law, Weaker


def laplace_tail(mechanism: Any, margin: int) -> float:
    """P(test noise > margin), summed."""
    k = np.arange(-2000, 2001)
    mass = np.exp(-np.abs(k) / float(mechanism.test.scale))
    return float(mass[k > margin].sum() / mass.sum())


def of_proposal(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    value, distance = exact
    passes = laplace_tail(mechanism, mechanism.threshold - distance)
    k = np.arange(-200, 201)
    mass = np.exp(-np.abs(k) / float(mechanism.noise.scale))
    return np.append(NO_ANSWER, value + k), np.append(1 - passes, passes * mass / mass.sum())


def of_lead(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    second, first = np.sort(exact)[-2:]
    passes = laplace_tail(mechanism, mechanism.threshold - (first - second))
    return np.array([NO_ANSWER, exact.index(first)]), np.array([1 - passes, passes])


def of_blocks(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All ways to put the units into blocks, whose values are sums; the inner law is written here too."""
    found: Counter[int] = Counter()
    ways = list(product(range(mechanism.blocks), repeat=len(exact)))
    for way in ways:
        sums = np.zeros(mechanism.blocks, dtype=np.int64)
        np.add.at(sums, list(way), np.array(exact, dtype=np.int64))
        records = np.clip(sums, mechanism.lower, mechanism.upper)
        if mechanism.inner.kind == "laplace":
            outcomes, chances = of_weights(lambda noise, k: np.exp(-np.abs(k) / float(noise.scale)))(
                mechanism.inner, (int(records.sum()),)
            )
        else:
            outcomes, chances = of_inverse_quantile(mechanism.inner, tuple(records.tolist()))
        for outcome, chance in zip(outcomes.tolist(), chances.tolist(), strict=True):
            found[outcome] += chance / len(ways)
    return np.array(sorted(found)), np.array([found[outcome] for outcome in sorted(found)])


def weaker_test(mechanism: Any) -> Any:
    """0.7 times the noise of the distance."""
    return replace(mechanism, test=replace(mechanism.test, scale=mechanism.test.scale * Fraction(7, 10)))


LAWS: dict[str, Law] = {
    "propose_test_release": of_proposal,
    "stable_selection": of_lead,
    "sample_and_aggregate": of_blocks,
}
WEAKER: dict[str, Weaker] = {
    "propose_test_release": weaker_test,
    "stable_selection": weaker_test,
    "sample_and_aggregate": lambda mechanism: replace(
        mechanism, inner=replace(mechanism.inner, scale=mechanism.inner.scale * Fraction(7, 10))
    ),
}
RUNS = dict.fromkeys(LAWS, 80_000)
