"""Thousands of random questions about many small Gaussian steps near delta 1e-12, where the truth has a closed form.

Real noise adds up: n steps of mu are one of sqrt(n) mu, whose curve ball arithmetic gives to one rounding. The engine
is asked for it from the laws of the steps, and does not know. Here a grid that rounds losses to the nearest point, or
a transform with an error floor of 1e-12, gives answers below the truth.
"""

from fractions import Fraction

import numpy as np
import pytest

from deniable.numbers.interval import Interval
from deniable.privacy.notions.gaussian_dp import gaussian_delta
from deniable.privacy.pld.laws import NormalLaw
from deniable.privacy.pld.search import Aim, CurveBounds, RepeatedPair, Search, _Effort

THRESHOLDS, COMPOSITIONS = 50, 40
DELTA = 1e-12


def epsilon_at(mu_squared: Fraction, delta: float) -> float:
    """Where the curve falls below `delta`, by halving."""
    low, high = 0.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(mu_squared, Fraction(middle)).upper > delta else (low, middle)
    return low


def question(seed: int, share: float = 1.0) -> tuple[Search, list[float], list[Interval]]:
    """Many steps, thresholds where delta is 1e-15 to 1e-9, and the truth at each.

    Args:
        share: of the noise that the engine is told; 1 but for a twin.
    """
    generator = np.random.default_rng(seed)
    count = int(10 ** generator.uniform(2, 6))
    mu = float(10 ** generator.uniform(-1, 0.4)) / count**0.5
    mu_squared = Fraction(mu) ** 2 * count
    ends = [epsilon_at(mu_squared, delta) for delta in (1e-9, 1e-15)]
    thresholds = [epsilon_at(mu_squared, DELTA), *generator.uniform(*ends, THRESHOLDS - 1).tolist()]
    truth = [gaussian_delta(mu_squared, Fraction(place)) for place in thresholds]
    return Search([RepeatedPair(NormalLaw(mu / share), count)]), thresholds, truth


def bounds_of(search: Search, epsilon: float) -> CurveBounds:
    relative, found = 1e-2, None
    while found is None:
        found = search.bounds(Aim(epsilon, DELTA, 1e-2), _Effort.of(relative))
        relative *= 10
    return found


@pytest.mark.parametrize("begin", range(4))
def test_thousands_of_deltas_near_a_billionth_of_a_thousandth_lie_between(begin: int) -> None:
    narrow = 0
    for seed in range(begin, COMPOSITIONS, 4):
        search, thresholds, truth = question(seed)
        bounds = bounds_of(search, thresholds[0])
        for place, found in zip(thresholds, truth, strict=True):
            assert bounds.below(place) <= found.upper
            assert bounds.above(place) >= found.lower
        narrow += bounds.above(thresholds[0]) <= bounds.below(thresholds[0]) * 1.1
    assert narrow > 0.9 * COMPOSITIONS / 4


def test_a_twin_that_rounds_each_step_by_a_thousandth_is_caught() -> None:
    """Each mu 0.1% too small: at delta 1e-12 the answer falls by several percent, as that of a nearest-point grid."""
    missed = 0
    for seed in range(6):
        search, thresholds, truth = question(seed, share=1.001)
        missed += bounds_of(search, thresholds[0]).above(thresholds[0]) < truth[0].lower
    assert missed >= 4
