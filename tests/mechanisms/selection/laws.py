"""The laws of choices, written from the docstrings by enumeration or by quadrature in mpmath; outcomes are indices."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import permutations
from typing import Any

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

from tests.mechanisms.laws import Law, Weaker

Shares = dict[tuple[int, ...], float]


def soft_maximum(rate: float, scores: list[int], weights: list[int] | None = None) -> NDArray[np.float64]:
    mass = np.exp(rate * (np.array(scores, dtype=float) - max(scores))) * (1 if weights is None else np.array(weights))
    return mass / mass.sum()


@lru_cache(maxsize=64)
def noisy_max_law(noise: str, rate: Fraction, scores: tuple[int, ...]) -> NDArray[np.float64]:
    """The integral over x of density(x - g_i) times the product of P[g_j + X_j <= x] over j != i."""
    if noise == "gumbel":
        return soft_maximum(float(rate), list(scores))
    shift = [mp.mpf(rate.numerator) / rate.denominator * s for s in scores]
    two_sided = noise == "laplace"

    def below(x: mp.mpf) -> mp.mpf:
        if two_sided:
            return 1 - mp.exp(-x) / 2 if x > 0 else mp.exp(x) / 2
        return 1 - mp.exp(-x) if x > 0 else mp.mpf(0)

    def density(x: mp.mpf) -> mp.mpf:
        return mp.exp(-abs(x)) / 2 if two_sided else mp.exp(-x) if x >= 0 else mp.mpf(0)

    kinks = sorted(set(shift))
    cuts = ([kinks[0] - 40, kinks[0] - 5] if two_sided else []) + [*kinks, kinks[-1] + 5, kinks[-1] + 40]

    def chance(i: int) -> float:
        return float(
            mp.quad(
                lambda x: density(x - shift[i]) * mp.fprod(below(x - g) for j, g in enumerate(shift) if j != i), cuts
            )
        )

    found = np.array([chance(i) for i in range(len(scores))])
    assert abs(found.sum() - 1) < 1e-12
    return found


def of_one(shares: Callable[[Any, tuple[int, ...]], NDArray[np.float64]]) -> Law:
    def law(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        return np.arange(len(exact)), shares(mechanism, exact)

    return law


def of_sequences(shares: Callable[[Any, tuple[int, ...]], Shares]) -> Law:
    """Sequences of indices as numbers whose digits they are."""

    def law(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        found = shares(mechanism, exact)
        codes = {int("".join(map(str, chosen)), len(exact)): chance for chosen, chance in found.items()}
        return np.array(sorted(codes)), np.array([codes[code] for code in sorted(codes)])

    return law


def rounds(mechanism: Any, scores: tuple[int, ...]) -> Shares:
    """Every round without the winners before it."""
    found: Shares = {(): 1.0}
    for _ in range(mechanism.count):
        longer: Shares = {}
        for chosen, chance in found.items():
            left = [i for i in range(len(scores)) if i not in chosen]
            next_ones = noisy_max_law(mechanism.noise, mechanism.rate, tuple(scores[i] for i in left))
            longer |= {(*chosen, i): chance * float(share) for i, share in zip(left, next_ones, strict=True)}
        found = longer
    return found


def joint(mechanism: Any, scores: tuple[int, ...]) -> Shares:
    """All sequences one by one."""
    best = sorted(scores, reverse=True)
    sequences = list(permutations(range(len(scores)), mechanism.count))
    gaps = np.array([max(best[place] - scores[i] for place, i in enumerate(chosen)) for chosen in sequences])
    mass = np.exp(-float(mechanism.rate) * gaps)
    return {chosen: float(m / mass.sum()) for chosen, m in zip(sequences, mass, strict=True)}


def every_point(mechanism: Any, exact: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    half = len(exact) // 2
    x = np.arange(mechanism.lower, mechanism.upper)
    scores = np.array(exact[half:])[np.searchsorted(np.array(exact[:half]), x, side="right")]
    return x, soft_maximum(float(mechanism.rate), scores.tolist())


LAWS: dict[str, Law] = {
    "exponential_mechanism": of_one(lambda m, exact: soft_maximum(float(m.rate), list(exact), m.weights)),
    "permute_and_flip": of_one(lambda m, exact: noisy_max_law("exponential", m.rate, exact)),
    "noisy_max": of_one(lambda m, exact: noisy_max_law("laplace", m.rate, exact)),
    "top_k": of_sequences(rounds),
    "joint_top_k": of_sequences(joint),
    "continuous_exponential": every_point,
}
WEAKER: dict[str, Weaker] = {kind: lambda m: replace(m, rate=m.rate * Fraction(10, 7)) for kind in LAWS}
