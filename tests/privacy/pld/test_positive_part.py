"""The mean positive part of a sum against exact enumeration, an exact binomial sum and known Gaussians."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.numbers.interval import Interval
from deniable.privacy.pld import positive_part
from deniable.privacy.pld.positive_part import StepBounds, positive_part_above, positive_part_below


def steps_of(values: list[float], weights: list[float]) -> StepBounds:
    """StepBounds at these very floats, the rest idle."""
    exact = np.array([*values, 0.0])
    return StepBounds(exact, exact, np.array([*weights, 1 - sum(weights)]))


def mean_positive_part(steps: StepBounds, count: int, tolerance: float) -> Interval:
    return Interval(
        positive_part_below(steps, count, tolerance).value, positive_part_above(steps, count, tolerance).value
    )


def exact_mean(values: list[float], weights: list[Fraction], count: int) -> Fraction:
    """By convolution of exact laws."""
    law = {Fraction(0): Fraction(1)}
    for _ in range(count):
        following: dict[Fraction, Fraction] = {}
        for total, mass in law.items():
            for value, weight in zip(values, weights, strict=True):
                place = total + Fraction(value)
                following[place] = following.get(place, Fraction(0)) + mass * weight
        law = following
    return sum((mass * max(total, Fraction(0)) for total, mass in law.items()), Fraction(0))


sixteenths = st.integers(1, 30).map(lambda size: size / 16)


@given(sixteenths, sixteenths, st.integers(-8, 8), st.integers(1, 12), st.sampled_from([1e-3, 1e-6]))
def test_short_sums_hold_the_exact_value(up: float, down: float, side: int, count: int, tolerance: float) -> None:
    values, weights = [up, -down, side / 16], [0.125, 0.25, 0.375]
    truth = exact_mean([*values, 0.0], [Fraction(w) for w in (*weights, 0.25)], count)
    steps = steps_of(values, weights)
    for most in (positive_part._MAX_STATES, 60, 0):  # written out, in part, and smoothed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(positive_part, "_MAX_STATES", most)
            patch.setattr(positive_part, "_MAX_FREQUENCIES", 2**12)  # atoms at 0 would ask for many more
            found = mean_positive_part(steps, count, tolerance)
        assert Fraction(found.lower) <= truth <= Fraction(found.upper)
    written = mean_positive_part(steps, count, tolerance)
    assert written.width <= 1e-9 * written.upper + 1e-300


@pytest.mark.parametrize("count", [50, 400, 3000])
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_long_sums_match_a_binomial_sum(count: int, tolerance: float) -> None:
    """Two values and no idle step: a sum of count + 1 terms, in 50 digits."""
    up, down, p = 1.25, -0.8125, Fraction(11, 32)
    with mpmath.workdps(50):
        truth = mpmath.fsum(
            mpmath.binomial(count, j)
            * mpmath.mpf(11) ** j
            * mpmath.mpf(21) ** (count - j)
            / mpmath.mpf(32) ** count
            * max(up * j + down * (count - j), 0)
            for j in range(count + 1)
        )
    steps = steps_of([up, down], [float(p), float(1 - p)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positive_part, "_MAX_STATES", 0)
        found = mean_positive_part(steps, count, tolerance)
    assert found.lower <= truth <= found.upper
    assert found.width <= 2 * tolerance * found.upper


def test_many_small_steps_approach_a_gaussian() -> None:
    """E(N)_+ = s / sqrt(2 pi) for a centred normal; 10^6 signs are within 1e-6 of it."""
    found = mean_positive_part(steps_of([1.0, -1.0], [0.5, 0.5]), 10**6, 1e-4)
    assert found.lower * (1 - 1e-6) <= 1000 / math.sqrt(2 * math.pi) <= found.upper * (1 + 1e-6)


def test_far_tails_are_relative() -> None:
    """A drift of 12 standard deviations: the value is near 1e-34 and still known to 1e-3."""
    count, p = 4000, Fraction(1, 2)
    steps = steps_of([1.0, -1.5], [0.5, 0.5])
    found = mean_positive_part(steps, count, 1e-3)
    with mpmath.workdps(40):
        truth = mpmath.fsum(
            mpmath.binomial(count, j) * mpmath.mpf(float(p)) ** count * max(j - mpmath.mpf(1.5) * (count - j), 0)
            for j in range(2400, count + 1)
        )
    assert found.lower <= truth <= found.upper <= found.lower * 1.0021
    assert truth < 1e-30


def test_sums_that_cannot_be_positive() -> None:
    found = mean_positive_part(steps_of([-1.0, -2.0], [0.5, 0.25]), 100, 1e-3)
    assert (found.lower, found.upper) == (0.0, 0.0)


def test_steps_that_cannot_be_negative_have_their_mean() -> None:
    found = mean_positive_part(steps_of([1.0, 2.0], [0.5, 0.25]), 10**6, 1e-3)
    assert found.contains(10**6)
    assert found.width < 1e-9 * 10**6


def test_without_the_hull_the_lower_end_would_be_too_high() -> None:
    """A twin: the smoothed value itself is above the truth, so the bound from below needs its correction."""
    values, weights = np.array([1.0, -1.5]), np.array([0.5, 0.5])
    tilted = positive_part._Tilted(values, weights, 400, 1e-2)
    step = 2 * math.pi / tilted.period
    points = math.ceil(tilted.cut / (tilted.widest * step)) + 1
    smooth = tilted._sums(step, points, tilted.widest)[0] * tilted._scale(tilted.widest).lower
    with mpmath.workdps(40):
        truth = mpmath.fsum(
            mpmath.binomial(400, j) / mpmath.mpf(2) ** 400 * max(j - mpmath.mpf(1.5) * (400 - j), 0)
            for j in range(240, 401)
        )
    assert smooth > truth * (1 + 1e-4)
    lower, upper = positive_part._bounds(values, weights, 400, 1e-2)
    assert lower <= truth <= upper
