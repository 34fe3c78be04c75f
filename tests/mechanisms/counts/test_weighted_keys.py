"""Weights of keys: what one unit can change, enumerated, and the keys that it alone has."""

from dataclasses import replace
from fractions import Fraction
from math import exp, isqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Gaussian, WeightedKeys
from deniable.mechanisms.base import NO_ANSWER
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity import of_weights

STEPS, GROUPS, FAILURE = 60, 3, Fraction(1, 50)
REACH = of_weights(steps=STEPS, groups=GROUPS, relation=AddRemove)
NOISE = Gaussian(sigma_squared=Fraction(3600))
FOUND = WeightedKeys.above(NOISE, REACH, groups=GROUPS, failure=FAILURE)


def test_the_threshold_is_the_lowest_for_the_worst_number_of_keys() -> None:
    """max over m of 1 / sqrt(m) + sigma quantile(failure / m): Gopi et al. (2020), without their exact union."""
    for sigma, groups in ((60, 1), (60, 2), (6, 2), (200, 50)):
        found = WeightedKeys.above(Gaussian(sigma_squared=Fraction(sigma**2)), REACH, groups=groups, failure=FAILURE)
        exact = max(STEPS / m**0.5 + sigma * norm.isf(float(FAILURE) / m) for m in range(1, groups + 1))
        loose = 0 if groups < 3 else STEPS * (2**0.5 - 1) / groups**0.5
        assert exact - 2 <= found.threshold <= exact + loose + 2


def law(weights: tuple[int, ...]) -> NDArray[np.float64]:
    """Chances of what is seen of every key, nothing or a noisy weight."""
    k = np.arange(-700, 701)
    mass = np.exp(-(k.astype(float) ** 2) / (2 * float(NOISE.sigma_squared)))
    mass /= mass.sum()
    seen = np.zeros((len(weights), 1200))
    for row, weight in zip(seen, weights, strict=True):
        noisy = weight + k
        shown = (noisy > FOUND.threshold) & (weight > 0)
        row[noisy[shown]] = mass[shown]
        row[0] = mass[~shown].sum()
    return seen


@pytest.mark.parametrize("keys", [1, 2])
@pytest.mark.parametrize("others", [0, 100, 250])
def test_one_unit_more_stays_within_the_loss(keys: int, others: int) -> None:
    """Enumeration: a unit with one or two keys that it alone has, or that others have."""
    weight = isqrt(STEPS**2 // keys)
    here, there = law((others + weight,) * keys), law((others,) * keys)
    if keys == 2:
        here, there = (np.multiply.outer(law[0], law[1]) for law in (here, there))
    loss = FOUND.privacy_loss(REACH)
    for epsilon in (0.25, 1.0, 2.0):
        delta = loss.delta(epsilon).upper
        for one, other in ((here, there), (there, here)):
            assert np.maximum(one - exp(epsilon) * other, 0).sum() <= delta + 1e-12


def test_a_lower_threshold_is_refused() -> None:
    FOUND.privacy_loss(REACH)
    with pytest.raises(InvalidParameterError, match="threshold must be at least"):
        replace(FOUND, threshold=FOUND.threshold - 1).privacy_loss(REACH)


def test_a_key_that_nobody_has_is_never_shown() -> None:
    assert (FOUND.release([0] * 500, bits=DeterministicBits(1)).value == NO_ANSWER).all()
    assert (FOUND.release([900] * 9, bits=DeterministicBits(1)).value > FOUND.threshold).all()
