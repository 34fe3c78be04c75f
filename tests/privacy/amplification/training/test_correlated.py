"""Correlated noise: sensitivities by brute force over patterns and signs, published values, and sampling."""

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.privacy import AddRemove, GaussianLoss, PrivacyLoss
from deniable.privacy.amplification.training.correlated import (
    ExplicitStrategy,
    ToeplitzStrategy,
    banded_poisson_sampled,
)
from deniable.privacy.constructors import CorrelatedLoss


def matrix_of(coefficients: list[float], size: int) -> np.ndarray:
    padded = np.concatenate((coefficients, np.zeros(size)))[:size]
    return np.array([[padded[s - t] if s >= t else 0.0 for t in range(size)] for s in range(size)])


def brute_force(matrix: np.ndarray, times: int, separation: int) -> tuple[float, float]:
    """The greatest squared norm over all patterns: with equal inputs, and with any signs."""
    equal = signed = 0.0
    for count in range(1, times + 1):
        for pattern in itertools.combinations(range(len(matrix)), count):
            if all(later - early >= separation for early, later in itertools.pairwise(pattern)):
                columns = matrix[:, pattern]
                equal = max(equal, float((columns.sum(axis=1) ** 2).sum()))
                for signs in itertools.product((-1, 1), repeat=count - 1):
                    signed = max(signed, float(((columns @ np.array([1, *signs])) ** 2).sum()))
    return equal, signed


sizes = st.integers(1, 9)


@given(sizes, st.integers(1, 4), st.integers(1, 4), st.lists(st.floats(0, 1), min_size=1, max_size=9))
def test_falling_coefficients_have_the_sensitivity_of_the_first_steps(
    size: int, times: int, separation: int, values: list[float]
) -> None:
    coefficients = sorted([*values, 1.0], reverse=True)
    found = ToeplitzStrategy(coefficients, steps=size).squared_sensitivity(times, separation)
    equal, signed = brute_force(matrix_of(coefficients, size), times, separation)
    assert found.lower <= equal * (1 + 1e-12)
    assert found.upper == pytest.approx(equal, rel=1e-12)
    assert signed <= found.upper * (1 + 1e-12)


@given(sizes, st.integers(1, 4), st.integers(1, 4), st.lists(st.floats(-1, 1), min_size=1, max_size=9))
def test_any_coefficients_lie_between_the_ends(size: int, times: int, separation: int, values: list[float]) -> None:
    coefficients = [1.0, *values]
    found = ToeplitzStrategy(coefficients, steps=size).squared_sensitivity(times, separation)
    equal, signed = brute_force(matrix_of(coefficients, size), times, separation)
    assert found.lower <= max(equal, signed) * (1 + 1e-12)
    assert max(equal, signed) <= found.upper * (1 + 1e-12)


@given(st.integers(1, 8), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2**32))
def test_any_matrix_lies_between_the_ends(size: int, times: int, separation: int, seed: int) -> None:
    matrix = np.tril(np.random.default_rng(seed).normal(size=(size, size)))
    found = ExplicitStrategy(matrix.tolist()).squared_sensitivity(times, separation)
    equal, signed = brute_force(matrix, times, separation)
    assert found.lower <= equal * (1 + 1e-12)
    assert max(equal, signed) <= found.upper * (1 + 1e-12)
    if times == 1:
        assert found.upper == pytest.approx(found.lower, rel=1e-12)


@given(st.integers(2, 9), st.integers(1, 3), st.integers(1, 3), st.integers(0, 2**32))
def test_bands_no_wider_than_the_separation_are_exact(size: int, times: int, separation: int, seed: int) -> None:
    """Columns that far apart are orthogonal: signs do not matter, and dynamic programming finds the worst steps."""
    full = np.tril(np.random.default_rng(seed).normal(size=(size, size)) + 3 * np.eye(size))
    matrix = np.triu(full, 1 - separation)
    found = ExplicitStrategy(matrix.tolist()).squared_sensitivity(times, separation)
    assert found.upper == pytest.approx(brute_force(matrix, times, separation)[1], rel=1e-11)
    assert found.lower == pytest.approx(found.upper, rel=1e-11)


def test_a_twin_that_forgets_repeated_participation_is_caught() -> None:
    """continual.md, trap 1: the sensitivity of one participation is far too small for several."""
    strategy = ToeplitzStrategy.square_root(steps=12)
    once = strategy.squared_sensitivity(1, 1).upper
    assert brute_force(matrix_of(list(strategy.coefficients), 12), 3, 4)[0] > 2 * once


def test_the_square_root_of_prefix_sums() -> None:
    """continual.md: its largest error is the sum of c^2: 1.25 for 2 steps, 1.48828125 for 4; 2.831050 for 256."""
    for steps, value in ((2, 1.25), (4, 1.48828125), (256, 2.831050)):
        found = ToeplitzStrategy.square_root(steps=steps).squared_sensitivity(1, 1)
        assert found.upper == pytest.approx(value, abs=5e-7)
        assert found.width < 1e-12
    root = np.array(ToeplitzStrategy.square_root(steps=40).coefficients)
    assert np.allclose(np.convolve(root, root)[:40], 1.0)


def test_a_buffered_matrix_has_its_coefficients() -> None:
    found = ToeplitzStrategy.buffered([0.25, 0.125], [0.5, 0.75], steps=5)
    exact = [1.0] + [0.25 * 0.5**k + 0.125 * 0.75**k for k in range(4)]
    assert found.coefficients == pytest.approx(exact)
    assert found.bands == 5


@pytest.mark.parametrize("times", [40, 200])
def test_many_participations_agree_with_the_plain_sum(times: int) -> None:
    strategy = ToeplitzStrategy.square_root(steps=2000)
    total, column = np.zeros(2000), np.array(strategy.coefficients)
    for turn in range(times):
        total[turn * 10 :] += column[: 2000 - turn * 10]
    found = strategy.squared_sensitivity(times, 10)
    assert found.contains(float(total @ total)) or found.upper == pytest.approx(float(total @ total), rel=1e-12)
    assert found.width <= 1e-9 * found.upper


def test_the_loss_is_that_of_one_gaussian_release() -> None:
    """A million steps, one hundred epochs: still a single Gaussian."""
    loss = CorrelatedLoss(
        ToeplitzStrategy.buffered([0.319272, 0.066638], [0.908825, 0.998112], steps=10**6),
        noise_multiplier=20, participations=100, separation=10**4,
    )  # fmt: skip
    found = loss.epsilon("1e-6")
    assert found.width < 1e-6
    exact = GaussianLoss(20 / Fraction(loss.statement.sensitivity.upper)).epsilon("1e-6")
    assert found.upper == pytest.approx(exact.upper, rel=1e-9)


def test_the_identity_is_plain_noise() -> None:
    """No correlation: k participations cost k Gaussian releases."""
    loss = CorrelatedLoss(ToeplitzStrategy([1.0], steps=100), noise_multiplier=3, participations=7, separation=5)
    assert float(loss.mu_squared) == pytest.approx(7 / 9, rel=1e-11)
    assert (loss * 2).delta(1).upper == pytest.approx((GaussianLoss(3) * 14).delta(1).upper, rel=2e-3)


def test_sampling_a_banded_matrix() -> None:
    """2306.08153: steps / bands compositions at a rate that is `bands` times as large; one band is DP-SGD."""
    plain = banded_poisson_sampled(ToeplitzStrategy([1.0], steps=100), noise_multiplier=1, rate="0.01")
    exact = (GaussianLoss(1).poisson_sampled(rate="0.01") * 100).epsilon("1e-5")
    assert plain.relations == {AddRemove}
    assert PrivacyLoss(plain).epsilon("1e-5").upper == pytest.approx(exact.upper, rel=1e-4)
    banded = ToeplitzStrategy.square_root(steps=100, bands=4)
    norm = math.sqrt(banded.squared_sensitivity(1, 1).upper)
    found = banded_poisson_sampled(banded, noise_multiplier=Fraction(norm), rate="0.04")
    direct = (GaussianLoss(1).poisson_sampled(rate="0.04") * 25).epsilon("1e-5")
    assert PrivacyLoss(found).epsilon("1e-5").upper == pytest.approx(direct.upper, rel=1e-4)
    with pytest.raises(UnprovedError, match="banded"):
        banded_poisson_sampled(ToeplitzStrategy.square_root(steps=100), noise_multiplier=1, rate="0.01")


def test_two_steps_of_a_sampled_banded_matrix_by_quadrature() -> None:
    """Two bands, two steps, one class: the unit joins step 0 with probability 1/2 and shifts both outputs at once.

    The law of the two outputs is a mixture of two Gaussians in the plane; its curve is that of the projection on the
    shift. Both are integrated on a grid.
    """
    strategy, sigma, rate, epsilon = ToeplitzStrategy([1.0, 0.5], steps=3), 1.3, 0.5, 0.4
    loss = banded_poisson_sampled(strategy, noise_multiplier=Fraction("1.3"), rate="1/2")
    axis = np.linspace(-9, 10, 1501)
    x, y = np.meshgrid(axis, axis)
    without = np.exp(-(x**2 + y**2) / (2 * sigma**2))
    shifted = np.exp(-((x - 1) ** 2 + (y - 0.5) ** 2) / (2 * sigma**2))
    cell = (axis[1] - axis[0]) ** 2 / (2 * math.pi * sigma**2)
    mixture = (1 - rate) * without + rate * shifted
    truth = np.maximum(mixture - math.exp(epsilon) * without, 0).sum() * cell
    single = GaussianLoss(Fraction("1.3") / Fraction(math.sqrt(1.25))).poisson_sampled(rate="1/2")
    assert single.delta(epsilon).upper == pytest.approx(truth, rel=1e-4)
    assert PrivacyLoss(loss).delta(epsilon).upper >= truth


@pytest.mark.parametrize(
    "strategy", [ToeplitzStrategy([1.0, 0.3], steps=4), ExplicitStrategy([[1.0, 0.0], [0.1, 2.0]])]
)
def test_json_round_trip(strategy: ToeplitzStrategy | ExplicitStrategy) -> None:
    loss = CorrelatedLoss(strategy, noise_multiplier="0.7", participations=2, separation=2)
    assert PrivacyLoss.from_json(loss.to_json()) == loss


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ExplicitStrategy([[1, 0], [1]]), r"square matrix.* zeros included; got 2 rows of \[1, 2\] numbers"),
        (lambda: ExplicitStrategy([[1, 0], ["x", 1]]), "a row must be a list of numbers"),
        (lambda: ExplicitStrategy([1, 0]), "a row must be a list of numbers, got 1"),
        (lambda: ExplicitStrategy(3), "rows must be a list of rows, got 3"),
        (lambda: ToeplitzStrategy(3, steps=4), "coefficients must be a list of numbers, got 3"),
        (lambda: ToeplitzStrategy("12", steps=4), "coefficients must be a list of numbers, got '12'"),
        (lambda: ToeplitzStrategy([1, None], steps=4), "coefficients must be a list of numbers"),
        (lambda: ToeplitzStrategy([10**400], steps=4), "coefficients must be a list of numbers"),
        (lambda: ToeplitzStrategy.buffered([1], ["x"], steps=4), "decays must be a list of numbers"),
        (lambda: ToeplitzStrategy.buffered(1, [0.5], steps=4), "scales must be a list of numbers"),
        (lambda: banded_poisson_sampled(3, noise_multiplier=1, rate="0.1"), "strategy must be a ToeplitzStrategy"),
    ],
)
def test_what_is_no_matrix_is_refused_in_words(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        make()


def test_bad_strategies_are_refused() -> None:
    for coefficients in ([], [0.0, 1.0], [1.0, math.nan]):
        with pytest.raises(InvalidParameterError, match="coefficients"):
            ToeplitzStrategy(coefficients, steps=3)
    with pytest.raises(InvalidParameterError, match="steps"):
        ToeplitzStrategy([1.0], steps=0)
    with pytest.raises(InvalidParameterError, match="decays"):
        ToeplitzStrategy.buffered([1.0], [1.0], steps=3)
    with pytest.raises(InvalidParameterError, match="lower triangular"):
        ExplicitStrategy([[1.0, 0.5], [0.0, 1.0]])
    with pytest.raises(InvalidParameterError, match="square"):
        ExplicitStrategy([[1.0, 0.5]])
    with pytest.raises(InvalidParameterError, match="participations"):
        CorrelatedLoss(ToeplitzStrategy([1.0], steps=3), noise_multiplier=1, participations=0)


@pytest.mark.parametrize("bands", [1, 2, 3])
def test_classes_take_turns_in_rounds_of_which_the_last_may_be_short(bands: int) -> None:
    for steps in range(bands + 1, 3 * bands + 2):
        strategy = ToeplitzStrategy.square_root(steps=steps, bands=bands)
        loss = banded_poisson_sampled(strategy, noise_multiplier=2, rate="0.1")
        assert sum(count for _, count in loss.composition) == math.ceil(steps / bands)


@pytest.mark.parametrize("separation", [1, 2, 3])
def test_coefficients_that_rise_again_are_worst_where_columns_meet(separation: int) -> None:
    """By brute force over all sets of steps: two columns meet three steps apart, which the first steps need not be."""
    strategy = ToeplitzStrategy([1.0, 0.0, 0.0, 0.9], steps=8)
    matrix = np.array([[strategy.coefficients[s - t] if 0 <= s - t < 4 else 0.0 for t in range(8)] for s in range(8)])
    most = max(
        float((matrix[:, list(chosen)].sum(axis=1) ** 2).sum())
        for chosen in itertools.combinations(range(8), 3)
        if all(later - step >= separation for step, later in itertools.pairwise(chosen))
    )
    found = strategy.squared_sensitivity(3, separation)
    assert found.lower <= most <= found.upper
