"""The laws of wrapped Laplace noise on one count."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from deniable.mechanisms import Laplace
from deniable.mechanisms.base import NO_ANSWER
from deniable.numbers.arrays import Floats
from tests.mechanisms.laws import Law, Weaker

_REACH = 200


def noisy(base: Any, value: int) -> Floats:
    """P(value + noise = k) for k = -200, ..., 200."""
    assert isinstance(base, Laplace)
    weights = np.exp(-np.abs(np.arange(-_REACH, _REACH + 1) - value) / float(base.scale))
    return weights / weights.sum()


def some(chances: Floats) -> tuple[NDArray[np.int64], Floats]:
    return np.arange(-_REACH, _REACH + 1)[chances > 0], chances[chances > 0]


def post_processed(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    assert mechanism.function == "nonnegative"
    chances = noisy(mechanism.base, exact[0])
    chances[_REACH] += chances[:_REACH].sum()
    chances[:_REACH] = 0
    return some(chances)


def mixed(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    return some(sum(float(weight) * noisy(part, exact[0]) for weight, part in mechanism.parts))


def grouped(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    return some(noisy(mechanism.base, exact[0]))


def poisson_sampled(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    rate, total = float(mechanism.rate), np.zeros(2 * _REACH + 1)
    for taken in product((0, 1), repeat=len(exact)):
        chance = rate ** sum(taken) * (1 - rate) ** (len(taken) - sum(taken))
        total += chance * noisy(mechanism.base, sum(value for value, in_it in zip(exact, taken, strict=True) if in_it))
    return some(total)


def subset_sampled(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
    sets = list(combinations(exact, mechanism.size))
    return some(sum(noisy(mechanism.base, sum(chosen)) for chosen in sets) / len(sets))


def best(runs: Callable[[Any], Floats], nothing: bool) -> Law:
    """The largest of K numbers, where runs(mechanism)[k] = P(K = k)."""

    def law(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], Floats]:
        upto = np.minimum(np.concatenate(([0.0], np.cumsum(noisy(mechanism.base, exact[0])))), 1.0)
        chances = runs(mechanism)
        found = np.diff(np.polynomial.polynomial.polyval(upto, chances))
        places = np.arange(-_REACH, _REACH + 1)
        if nothing:
            return np.concatenate(([NO_ANSWER], places)), np.concatenate(([chances[0]], found))
        return places, found

    return law


def negative_binomial(mechanism: Any, longest: int = 200) -> Floats:
    k, shape = np.arange(1, longest), float(mechanism.shape)
    weights = k * math.log1p(-float(mechanism.stop)) + special.gammaln(k + shape) - special.gammaln(k + 1)
    chances = np.exp(weights)
    return np.concatenate(([0.0], chances / chances.sum()))


def poisson(mechanism: Any, longest: int = 100) -> Floats:
    k, mean = np.arange(longest), float(mechanism.mean)
    return np.exp(k * math.log(mean) - mean - special.gammaln(k + 1))


def with_less_noise(mechanism: Any) -> Any:
    return replace(mechanism, base=replace(mechanism.base, scale=mechanism.base.scale * Fraction(7, 10)))


LAWS: dict[str, Law] = {
    "post_processed": post_processed,
    "mixed": mixed,
    "grouped": grouped,
    "poisson_sampled": poisson_sampled,
    "subset_sampled": subset_sampled,
    "best_of": best(negative_binomial, nothing=False),
    "best_of_poisson": best(poisson, nothing=True),
}
WEAKER: dict[str, Weaker] = {
    **dict.fromkeys(LAWS, with_less_noise),
    "mixed": lambda mechanism: replace(
        mechanism,
        parts=tuple((weight, replace(part, scale=part.scale * Fraction(7, 10))) for weight, part in mechanism.parts),
    ),
}
