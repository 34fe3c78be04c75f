"""Transformed sums against exact convolution in whole numbers, down to delta = 1e-30; broken twins are caught."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.privacy.pld.law import UNIT, Floats
from deniable.privacy.pld.transform import TRANSFORM_ERROR, Summand, TiltedSum, Window

STEP = 2.0**-6


def exact_power(masses: list[int], count: int) -> list[int]:
    """The coefficients of a polynomial's power, by Kronecker substitution into one big integer."""
    bits = (sum(masses) ** count).bit_length() + 1
    whole = sum(mass << (bits * place) for place, mass in enumerate(masses)) ** count
    mask = (1 << bits) - 1
    return [(whole >> (bits * place)) & mask for place in range((len(masses) - 1) * count + 1)]


def exact_delta(masses: list[int], count: int, epsilon: float) -> mpmath.mpf:
    """E max(0, 1 - e^(epsilon - sum)) for probabilities masses / 2^20 at STEP * (t - 3)."""
    with mpmath.workdps(60):
        total = mpmath.mpf(0)
        for place, mass in enumerate(exact_power(masses, count)):
            loss = mpmath.mpf(STEP) * (place - 3 * count)
            if mass and loss > epsilon:
                total += mass * -mpmath.expm1(epsilon - loss)
        return total / mpmath.mpf(2) ** (20 * count)


def composed(masses: list[int], count: int, epsilon: float, *, side: int, length: int = 2**12) -> TiltedSum:
    p = np.array(masses, dtype=np.float64) / 2**20
    losses = STEP * (np.arange(p.size) - 3.0)

    def slope(tilt: float) -> float:
        weights = p * np.exp(tilt * losses)
        return count * float(weights @ losses / weights.sum())

    low, high = 1e-3, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < epsilon else (low, middle)
    window = Window(epsilon - STEP * length / 2, length, rise=30.0, fall=30.0)
    return TiltedSum([Summand(p, float(losses[0]), count)], step=STEP, tilt=low, window=window, side=side)


weights = st.lists(st.integers(0, 2**17), min_size=6, max_size=9).filter(lambda w: min(w[0], w[-1]) > 2**12)


@given(weights, st.integers(1, 60), st.floats(0.0, 0.8))
@settings(max_examples=60, deadline=None)
def test_the_exact_sum_lies_between_and_the_bounds_are_close(masses: list[int], count: int, share: float) -> None:
    epsilon = share * STEP * (len(masses) - 4) * count
    truth = exact_delta(masses, count, epsilon)
    upper = composed(masses, count, epsilon, side=+1).delta(epsilon)
    lower = composed(masses, count, epsilon, side=-1).delta(epsilon)
    assert lower <= truth <= upper
    assert upper - lower <= 1e-6 * upper


def test_thirty_zeros_keep_their_digits() -> None:
    masses = [520_000, 300_000, 128_576, 100_000]
    count, epsilon = 150, -2.8
    truth = exact_delta(masses, count, epsilon)
    assert 1e-36 < truth < 1e-30
    upper = composed(masses, count, epsilon, side=+1).delta(epsilon)
    lower = composed(masses, count, epsilon, side=-1).delta(epsilon)
    assert lower <= truth <= upper
    assert upper - lower <= 1e-8 * upper


def test_a_twin_with_exchanged_sides_is_caught() -> None:
    masses = [300_000, 200_000, 0, 100_000, 0, 3_000]
    truth = exact_delta(masses, 50, 1.0)
    assert composed(masses, 50, 1.0, side=-1).delta(1.0) < truth < composed(masses, 50, 1.0, side=+1).delta(1.0)


def test_a_twin_without_tilt_and_error_terms_is_caught() -> None:
    """A plain transform of the untilted law: at 1e-30 its rounding noise is all there is."""
    masses = np.array([520_000, 300_000, 128_576, 100_000]) / 2**20
    count, epsilon, length = 150, -2.8, 2**12
    law = np.fft.irfft(np.fft.rfft(masses, length) ** count, length)
    losses = STEP * (np.arange(length) - 3 * count)
    plain = float((law * np.maximum(-np.expm1(epsilon - losses), 0)).sum())
    truth = exact_delta((masses * 2**20).astype(int).tolist(), count, epsilon)
    assert abs(plain) > 1e6 * truth


def test_what_is_wrapped_is_taken_away_below_and_added_above() -> None:
    """A window of 64 points for a sum that needs thousands: wide, but never wrong."""
    masses = [300_000, 200_000, 0, 100_000, 0, 3_000]
    for epsilon in (0.2, 1.0, 3.0):
        truth = exact_delta(masses, 200, epsilon)
        assert composed(masses, 200, epsilon, side=-1, length=64).delta(epsilon) <= truth
        assert composed(masses, 200, epsilon, side=+1, length=64).delta(epsilon) >= truth


def test_a_threshold_below_the_window_is_never_answered_too_low() -> None:
    """The mass between them is wrapped to where it counts less; without its bound the answer would be 1e-9 of 0.98."""
    masses, count = [300_000, 200_000, 0, 100_000, 0, 448_576], 40
    p = np.array(masses) / 2**20
    for start, tilt in ((2.0, 8.0), (1.5, 3.0), (0.0, 20.0)):
        window = Window(start, 2**7, rise=30.0, fall=5.0)
        for epsilon in (-2.0, -0.5, 0.2):
            truth = exact_delta(masses, count, epsilon)
            parts = [Summand(p, -3 * STEP, count)]
            assert TiltedSum(parts, step=STEP, tilt=tilt, window=window, side=+1).delta(epsilon) >= truth
            assert TiltedSum(parts, step=STEP, tilt=tilt, window=window, side=-1).delta(epsilon) <= truth


def test_parts_of_different_laws_multiply() -> None:
    """20 of one law and 1 of another are the exact product."""
    first, second = [400_000, 300_000, 200_000, 100_000], [500_000, 0, 0, 0, 0, 500_000]
    product = np.convolve(np.array(exact_power(first, 20), dtype=object), np.array(second, dtype=object))
    epsilon = 0.4
    losses = [Fraction(STEP) * (place - 20 - 1) for place in range(len(product))]
    truth = sum(m * -mpmath.expm1(epsilon - float(x)) for m, x in zip(product, losses, strict=True) if x > epsilon)
    truth /= mpmath.mpf(2) ** (20 * 21)
    parts = [Summand(np.array(m) / 2**20, -STEP, n) for m, n in ((first, 20), (second, 1))]
    window = Window(-8.0, 2**10, rise=30.0, fall=30.0)
    upper = TiltedSum(parts, step=STEP, tilt=50.0, window=window, side=+1).delta(epsilon)
    lower = TiltedSum(parts, step=STEP, tilt=50.0, window=window, side=-1).delta(epsilon)
    assert lower <= truth <= upper
    assert upper - lower < 1e-9 * upper


def slow_transform(values: Floats) -> list[mpmath.mpc]:
    """The discrete transform by radix 2 in 40 digits."""
    if len(values) == 1:
        return [mpmath.mpc(float(values[0]))]
    even, odd = slow_transform(values[::2]), slow_transform(values[1::2])
    turned = [mpmath.expjpi(mpmath.mpf(-2 * k) / len(values)) * value for k, value in enumerate(odd)]
    return [a + b for a, b in zip(even, turned, strict=True)] + [a - b for a, b in zip(even, turned, strict=True)]


@pytest.mark.parametrize("bits", [6, 9, 11])
def test_the_transform_in_use_is_far_within_the_stated_error(bits: int) -> None:
    """Measured 2-norm error, at most a quarter of the bound that is used."""
    spikes = np.zeros(2**bits)
    spikes[:5] = [0.1, 0.2, 0.4, 0.2, 0.1]
    for values in (spikes, np.random.default_rng(7).random(2**bits)):
        with mpmath.workdps(40):
            exact = slow_transform(values)[: values.size // 2 + 1]
            found = np.fft.rfft(values)
            off = math.sqrt(sum(float(abs(mpmath.mpc(f) - e) ** 2) for f, e in zip(found, exact, strict=True)))
        allowed = TRANSFORM_ERROR * UNIT * bits * math.sqrt(values.size * float(values @ values))
        assert off <= allowed / 4
