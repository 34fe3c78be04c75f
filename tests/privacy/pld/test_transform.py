"""Sums by few frequencies against exact convolution in whole numbers, down to 1e-30; broken twins are caught."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deniable.privacy.pld import transform
from deniable.privacy.pld.law import UNIT
from deniable.privacy.pld.transform import Smoothing, Summand, TiltedSum, Window, window_of

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


LATTICE = Smoothing(0.0, step=STEP)
SMOOTH = Smoothing(STEP / 20)


def tilt_of(p: np.ndarray, losses: np.ndarray, count: int, epsilon: float) -> float:
    """The tilt that moves the mean of the sum to epsilon."""
    low, high = 5.0, 200.0
    for _ in range(60):
        middle = (low + high) / 2
        weights = p * np.exp(middle * losses)
        low, high = (middle, high) if count * float(weights @ losses / weights.sum()) < epsilon else (low, middle)
    return low


def composed(masses: list[int], count: int, epsilon: float, smoothing: Smoothing, *, side: int) -> TiltedSum:
    p = np.array(masses, dtype=np.float64) / 2**20
    losses = STEP * (np.arange(p.size) - 3.0)
    summands = [Summand(losses, p, count)]
    tilt = tilt_of(p, losses, count, epsilon)
    window = window_of(summands, tilt=tilt, smoothing=smoothing, thresholds=(epsilon, epsilon), negligible=1e-14)
    return TiltedSum(summands, tilt=tilt, smoothing=smoothing, window=window, side=side)


weights = st.lists(st.integers(0, 2**17), min_size=6, max_size=9).filter(lambda w: min(w[0], w[-1]) > 2**12)


@given(weights, st.integers(1, 60), st.floats(0.0, 0.8))
@example([4097, 0, 0, 0, 0, 0, 0, 51222], 60, 0.0)  # delta 2e-77: 1.0002e-6
def test_the_exact_sum_lies_between_and_the_bounds_are_close(masses: list[int], count: int, share: float) -> None:
    epsilon = share * STEP * (len(masses) - 4) * count
    truth = exact_delta(masses, count, epsilon)
    upper = composed(masses, count, epsilon, LATTICE, side=+1).delta(epsilon)
    lower = composed(masses, count, epsilon, LATTICE, side=-1).delta(epsilon)
    assert lower <= truth <= upper
    assert upper - lower <= 2e-6 * upper


@given(weights, st.integers(1, 20), st.floats(0.2, 0.8))
@settings(max_examples=25)
def test_smoothing_keeps_the_exact_sum_between(masses: list[int], count: int, share: float) -> None:
    """At an atom of the sum, smoothing costs about spread times its mass on each side."""
    epsilon = share * STEP * (len(masses) - 4) * count
    truth = exact_delta(masses, count, epsilon)
    upper = composed(masses, count, epsilon, SMOOTH, side=+1).delta(epsilon)
    below = composed(masses, count, epsilon, SMOOTH, side=-1)
    lower = below.delta(epsilon)
    assert lower <= truth <= upper
    assert upper - lower <= 1.01 * below.smoothed(epsilon) + 1e-6 * upper


def test_thirty_zeros_keep_their_digits() -> None:
    masses = [520_000, 300_000, 128_576, 100_000]
    count, epsilon = 150, -2.8
    truth = exact_delta(masses, count, epsilon)
    assert 1e-36 < truth < 1e-30
    for smoothing, width in ((LATTICE, 1e-8), (SMOOTH, 0.9)):
        upper = composed(masses, count, epsilon, smoothing, side=+1).delta(epsilon)
        lower = composed(masses, count, epsilon, smoothing, side=-1).delta(epsilon)
        assert lower <= truth <= upper
        assert upper - lower <= width * upper


def test_a_twin_with_exchanged_sides_is_caught() -> None:
    masses = [300_000, 200_000, 0, 100_000, 0, 3_000]
    truth = exact_delta(masses, 50, 1.0)
    for smoothing in (LATTICE, SMOOTH):
        lower, upper = (composed(masses, 50, 1.0, smoothing, side=side).delta(1.0) for side in (-1, 1))
        assert lower < truth < upper


def test_a_twin_that_smooths_and_says_nothing_is_caught() -> None:
    """The curve of the noise without the bound on what it adds is above the truth, on the lower side too."""
    masses = [300_000, 200_000, 0, 100_000, 0, 3_000]
    truth = exact_delta(masses, 50, 1.0)
    below = composed(masses, 50, 1.0, Smoothing(0.05), side=-1)
    assert below.delta(1.0) < truth < below.delta(1.0) + below.smoothed(1.0)


def test_a_twin_without_tilt_and_error_terms_is_caught() -> None:
    """A plain transform of the untilted law: at 1e-30 its rounding noise is all there is."""
    masses = np.array([520_000, 300_000, 128_576, 100_000]) / 2**20
    count, epsilon, length = 150, -2.8, 2**12
    law = np.fft.irfft(np.fft.rfft(masses, length) ** count, length)
    losses = STEP * (np.arange(length) - 3 * count)
    plain = float((law * np.maximum(-np.expm1(epsilon - losses), 0)).sum())
    truth = exact_delta((masses * 2**20).astype(int).tolist(), count, epsilon)
    assert abs(plain) > 1e6 * truth


@pytest.mark.parametrize("smoothing", [LATTICE, SMOOTH])
def test_a_window_that_is_too_short_is_wide_but_never_wrong(smoothing: Smoothing) -> None:
    """64 lattice points for a sum that needs thousands; thresholds on all sides of it."""
    masses = [300_000, 200_000, 0, 100_000, 0, 448_576]
    p = np.array(masses) / 2**20
    losses = STEP * (np.arange(6) - 3.0)
    for tilt in (0.5, 3.0, 20.0):
        for count in (20, 40):
            window = Window(65 * STEP, 32 if smoothing.step else 2_000, rise=30.0, fall=5.0)
            for epsilon in (-2.0, -0.5, 0.2, 1.0, 3.0):
                truth = exact_delta(masses, count, epsilon)
                upper, lower = (
                    TiltedSum([Summand(losses, p, count)], tilt=tilt, smoothing=smoothing, window=window, side=side)
                    for side in (1, -1)
                )
                assert lower.delta(epsilon) <= truth <= upper.delta(epsilon)


def test_too_few_frequencies_are_wide_but_never_wrong() -> None:
    masses = [300_000, 200_000, 0, 100_000, 0, 3_000]
    p, losses = np.array(masses) / 2**20, STEP * (np.arange(6) - 3.0)
    truth = exact_delta(masses, 50, 1.0)
    for count in (1, 3, 30, 1000):
        window = Window(12.0, count, rise=10.0, fall=10.0)
        upper, lower = (
            TiltedSum([Summand(losses, p, 50)], tilt=12.0, smoothing=SMOOTH, window=window, side=side).delta(1.0)
            for side in (1, -1)
        )
        assert lower <= truth <= upper


def test_parts_of_different_laws_multiply() -> None:
    """20 of one law and 1 of another are the exact product."""
    first, second = [400_000, 300_000, 200_000, 100_000], [500_000, 0, 0, 0, 0, 500_000]
    product = np.convolve(np.array(exact_power(first, 20), dtype=object), np.array(second, dtype=object))
    epsilon = 0.4
    losses = [Fraction(STEP) * (place - 20 - 1) for place in range(len(product))]
    truth = sum(m * -mpmath.expm1(epsilon - float(x)) for m, x in zip(product, losses, strict=True) if x > epsilon)
    truth /= mpmath.mpf(2) ** (20 * 21)
    parts = [Summand(STEP * (np.arange(len(m)) - 1.0), np.array(m) / 2**20, n) for m, n in ((first, 20), (second, 1))]
    for smoothing, width in ((LATTICE, 1e-9), (SMOOTH, 0.3)):
        window = window_of(parts, tilt=50.0, smoothing=smoothing, thresholds=(0.4, 0.4), negligible=1e-14)
        upper, lower = (
            TiltedSum(parts, tilt=50.0, smoothing=smoothing, window=window, side=side).delta(epsilon)
            for side in (1, -1)
        )
        assert lower <= truth <= upper
        assert upper - lower < width * upper


def test_noise_that_is_there_costs_nothing() -> None:
    """Nothing but noise is the closed form; noise and a coin is its mean over the coin."""
    mu, tilt = 0.75, 3.0
    smoothing = Smoothing(mu * (1 + 4 * UNIT), present=mu * (1 - 4 * UNIT))
    for parts, coin in (([], [0.0]), ([Summand(np.array([-0.5, 0.5]), np.array([0.5, 0.5]), 1)], [-0.5, 0.5])):
        window = window_of(parts, tilt=tilt, smoothing=smoothing, thresholds=(1.0, 1.0), negligible=1e-14)
        upper, lower = (
            TiltedSum(parts, tilt=tilt, smoothing=smoothing, window=window, side=s).delta(1.0) for s in (1, -1)
        )
        with mpmath.workdps(30):
            at = [mpmath.mpf(1) - c for c in coin]
            curve = [mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu) for e in at]
            assert lower <= sum(curve) / len(coin) <= upper
        assert upper - lower < 1e-10 * upper


@pytest.mark.parametrize("spread", [0.03, 0.3, 1.0])
def test_much_smoothing_is_wide_but_never_wrong(spread: float) -> None:
    """One sure loss, thresholds from far below it to far above: the weights themselves lie on their sides."""
    parts, smoothing = [Summand(np.array([0.25]), np.array([1.0]), 1)], Smoothing(spread)
    for tilt in (0.5, 4.0):
        window = window_of(parts, tilt=tilt, smoothing=smoothing, thresholds=(-4.0, 4.0), negligible=1e-14)
        upper, lower = (TiltedSum(parts, tilt=tilt, smoothing=smoothing, window=window, side=s) for s in (1, -1))
        for epsilon in 0.25 + spread * np.linspace(-4, 4, 81):
            truth = max(-math.expm1(epsilon - 0.25), 0.0)
            assert lower.delta(epsilon) <= truth <= upper.delta(epsilon)
        assert lower.smoothed(0.25) == pytest.approx(spread / math.sqrt(2 * math.pi), rel=1e-6)
        assert upper.delta(0.25) > 0.3 * spread


def test_nothing_finite_reveals_nothing_more() -> None:
    empty = [Summand(np.zeros(2), np.zeros(2), 3)]
    window = window_of(empty, tilt=1.0, smoothing=SMOOTH, thresholds=(0.0, 0.0), negligible=1e-6)
    assert TiltedSum(empty, tilt=1.0, smoothing=SMOOTH, window=window, side=1).delta(0.0) == 0


@pytest.mark.parametrize("size", [3, 700, 5000])
def test_the_transforms_in_use_are_far_within_the_stated_error(size: int) -> None:
    """Against 40 digits at random frequencies; at most a quarter of the bound that is used."""
    generator = np.random.default_rng(7)
    offsets, masses = generator.normal(0, 3, size), generator.random(size) / size
    part = transform._Tilted(offsets, masses, 1, 0.0, 0.0)
    frequencies = 0.37 * np.arange(600)
    found = transform._transforms([part], frequencies)
    for place in (0, 1, 255, 256, 599):
        with mpmath.workdps(40):
            exact = mpmath.fsum(
                m * mpmath.expj(-mpmath.mpf(0.37) * place * mpmath.mpf(x))
                for m, x in zip(masses.tolist(), offsets.tolist(), strict=True)
            )
            off = float(abs(mpmath.mpc(found.values[place]) - exact))
        assert off <= found.error[place] * math.exp(found.log_size[place]) / 4
