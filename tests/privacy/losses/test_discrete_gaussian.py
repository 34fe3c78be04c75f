"""The curve against the enumerated law: on the line to full precision, on small vectors, and for every shift."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import (
    AddRemove,
    ConcentratedLoss,
    DiscreteGaussianLoss,
    GaussianLoss,
    of_clipped_sum,
    of_count,
)
from deniable.privacy.losses.discrete_gaussian import mu_squared_of_step, shift_delta
from deniable.privacy.notions.gaussian_dp import gaussian_delta

ONE = of_count(rows=1, groups=1, relation=AddRemove)
variances = st.fractions(min_value=Fraction(1, 20), max_value=200, max_denominator=30)


def enumerated(sigma_squared: Fraction, shift: int, epsilon: Fraction) -> mpmath.mpf:
    """Sum of (p(y - shift) - e^epsilon p(y))_+ over all y, to a relative 10^-30."""
    with mpmath.workdps(60):
        s = mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator
        reach = int(14 * mpmath.sqrt(s)) + 12
        weight = lambda k: mpmath.exp(-mpmath.mpf(k * k) / (2 * s))  # noqa: E731
        total = 2 * mpmath.fsum(weight(k) for k in range(1, reach)) + 1
        factor = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        start = int(epsilon * sigma_squared / max(shift, 1)) - shift
        gains = (max(weight(y) - factor * weight(y + shift), 0) for y in range(start, start + reach))
        return mpmath.fsum(gains) / total


@given(variances, st.integers(1, 5), st.fractions(0, 6, max_denominator=40))
def test_the_curve_of_one_coordinate_is_the_enumerated_sum(
    sigma_squared: Fraction, shift: int, epsilon: Fraction
) -> None:
    found = shift_delta(sigma_squared, shift, epsilon)
    with mpmath.workdps(60):
        truth = enumerated(sigma_squared, shift, epsilon)
        slack = mpmath.mpf(10) ** -25
        assert mpmath.mpf(found.lower) * (1 - slack) <= truth <= mpmath.mpf(found.upper) * (1 + slack)
    assert found.width <= 1e-14 * found.upper + 1e-322


def test_published_values() -> None:
    """golden.md G59; errata.md E92, where the discrete curve lies above the continuous one."""
    assert DiscreteGaussianLoss(4, ONE).delta(1).contains(Fraction("0.0072487768459525779496"))
    for sigma_squared, epsilon, discrete, continuous in (
        (2, "0.5", 0.129357, 0.123725),
        (2, "1", 0.042812, 0.039633),
        (16, "0.5", 0.0027529, 0.0027089),
    ):
        found = DiscreteGaussianLoss(sigma_squared, ONE).delta(epsilon)
        assert found.lower == pytest.approx(discrete, rel=2e-5)
        real = GaussianLoss(math.sqrt(sigma_squared)).delta(epsilon)
        assert real.upper == pytest.approx(continuous, rel=2e-5)
        assert found.lower > real.upper


@pytest.mark.parametrize("sigma", [300, 30_000])
@pytest.mark.parametrize("epsilon", ["0", "1/1000", "1/100"])
def test_wide_noise_agrees_with_a_plain_sum(sigma: int, epsilon: str) -> None:
    """The Euler-Maclaurin route against a float sum over all atoms, which is good to 10^-8 or so."""
    y = np.arange(-9 * sigma, 9 * sigma + 1)
    law = np.exp(-(y.astype(float) ** 2) / (2.0 * sigma**2))
    law /= law.sum()
    truth = np.maximum(law[:-1] - math.exp(Fraction(epsilon)) * law[1:], 0).sum()
    assert shift_delta(Fraction(sigma**2), 1, Fraction(epsilon)).upper == pytest.approx(truth, rel=1e-7, abs=1e-16)


def test_a_fine_lattice_has_the_continuous_curve() -> None:
    """sigma = 10^9, shift 10^9: mu = 1; the correction is of order 10^-18."""
    found = shift_delta(Fraction(10**18), 10**9, Fraction(1))
    assert found.upper == pytest.approx(GaussianLoss(1).delta(1).upper, rel=1e-14)
    assert found.width < 1e-16


@given(variances, st.integers(0, 6), st.integers(0, 6), st.fractions(0, 4, max_denominator=40))
def test_a_larger_shift_reveals_more(sigma_squared: Fraction, a: int, b: int, epsilon: Fraction) -> None:
    low, high = sorted((a, b))
    assert shift_delta(sigma_squared, low, epsilon).lower <= shift_delta(sigma_squared, high, epsilon).upper


@given(variances, st.integers(1, 4), st.fractions(0, 6, max_denominator=40))
def test_the_conversion_from_rho_is_above_the_exact_curve(
    sigma_squared: Fraction, shift: int, epsilon: Fraction
) -> None:
    rho = Fraction(shift**2) / (2 * sigma_squared)
    assert ConcentratedLoss(rho).delta(epsilon).upper >= shift_delta(sigma_squared, shift, epsilon).lower


@pytest.mark.parametrize(("rows", "groups"), [(1, 2), (2, 2), (1, 3)])
@pytest.mark.parametrize("sigma_squared", [1, 6])
@pytest.mark.parametrize("epsilon", ["0.2", "1", "2.5"])
def test_no_vector_of_the_class_exceeds_the_upper_end(rows: int, groups: int, sigma_squared: int, epsilon: str) -> None:
    found = DiscreteGaussianLoss(sigma_squared, of_count(rows=rows, groups=groups, relation=AddRemove)).delta(epsilon)
    k = np.arange(-20, 24)
    law = lambda x: np.exp(-(x**2) / (2 * sigma_squared))  # noqa: E731
    total = law(np.arange(-60, 61)).sum()
    worst = 0.0
    for change in itertools.product(range(rows + 1), repeat=groups):
        p, q = np.array([1.0]), np.array([1.0])
        for c in change:
            p, q = np.outer(p, law(k - c) / total).ravel(), np.outer(q, law(k) / total).ravel()
        worst = max(worst, float(np.maximum(p - math.exp(Fraction(epsilon)) * q, 0).sum()))
    assert found.lower - 1e-9 <= worst <= found.upper


def steps(sigma_squared: Fraction, count: int) -> list[mpmath.mpf]:
    """Q^-1(S(k + 1)) - Q^-1(S(k)) for k = 0, 1, ...: the mu that each point of the trade-off curve needs."""
    with mpmath.workdps(50):
        s = mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator
        weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * s)) for k in range(int(40 * mpmath.sqrt(s)) + 60)]
        total = 2 * mpmath.fsum(weights) - 1
        tails = [mpmath.fsum(weights[k:]) / total for k in range(1, count + 2)]
        start = [mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tail) for tail in tails]
        return [2 * start[0]] + [b - a for a, b in itertools.pairwise(start)]


@pytest.mark.parametrize(("text", "count"), [("1/10", 3), ("1/2", 6), ("1", 8), ("4", 14), ("30", 40), ("400", 120)])
def test_mu_covers_every_point_of_the_trade_off_curve(text: str, count: int) -> None:
    """The curve lies above the Gaussian one if all its corners do, and at each corner the step is the least mu."""
    sigma_squared = Fraction(text)
    mu_squared = mu_squared_of_step(sigma_squared)
    assert mu_squared is not None
    needed = max(steps(sigma_squared, count))
    assert needed**2 <= mpmath.mpf(mu_squared.numerator) / mu_squared.denominator
    assert needed**2 * float(sigma_squared) > 1  # more than real Gaussian noise needs: errata.md E92


def test_mu_approaches_that_of_real_noise() -> None:
    """The figures of the docstring."""
    for sigma_squared, factor in ((1, 1.49), (30, 1.021), (1000, 1.0009), (10**12, 1 + 1e-11)):
        found = mu_squared_of_step(Fraction(sigma_squared))
        assert found is not None
        assert 1 < found * sigma_squared <= factor
    assert mu_squared_of_step(Fraction(1, 11)) is None


@given(variances, st.integers(1, 4), st.fractions(0, 6, max_denominator=40))
def test_the_curve_of_mu_is_above_the_exact_curve(sigma_squared: Fraction, shift: int, epsilon: Fraction) -> None:
    step = mu_squared_of_step(sigma_squared)
    if step is not None:
        assert gaussian_delta(step * shift**2, epsilon).upper >= shift_delta(sigma_squared, shift, epsilon).lower


def test_vectors_of_wide_noise_are_accounted_almost_as_real_ones() -> None:
    """Five counts, sigma = 100: the upper end is within a percent of the continuous curve."""
    loss = DiscreteGaussianLoss(10_000, of_count(rows=1, groups=5, relation=AddRemove))
    real = GaussianLoss(100 / math.sqrt(5)).delta("0.05")
    assert real.lower <= loss.delta("0.05").upper <= 1.01 * real.upper


def test_the_vector_bound_takes_the_best_of_three() -> None:
    reach = of_clipped_sum(lower=0, upper=5, rows=1, groups=4, relation=AddRemove)
    loss = DiscreteGaussianLoss(900, reach)
    assert loss.rho == Fraction(100, 1800)
    assert loss.delta(1).upper <= ConcentratedLoss(loss.rho).delta(1).upper
    assert loss.delta(1).upper <= shift_delta(Fraction(900), 20, Fraction(1)).upper
    assert loss.delta(1).upper <= gaussian_delta(loss.mu_squared, Fraction(1)).upper
    narrow = DiscreteGaussianLoss("1/20", reach)
    assert narrow.mu_squared is None
    assert narrow.delta(1).upper <= 1


def test_unbounded_unless_nothing_moves() -> None:
    assert DiscreteGaussianLoss(4, ONE).epsilon(0).lower == math.inf
    still = DiscreteGaussianLoss(4, of_clipped_sum(lower=0, upper=0, rows=1, groups=1, relation=AddRemove))
    assert still.epsilon(0).upper == 0
    assert still.charge().mu_squared == 0
    assert still.charge().rho == 0


def test_extremes_are_answered() -> None:
    for sigma_squared in (Fraction(1, 100), Fraction(1), Fraction(10**18), Fraction(10**24)):
        for shift in (1, 10**6, 10**12):
            for epsilon in (Fraction(0), Fraction(1), Fraction(10**6)):
                found = shift_delta(sigma_squared, shift, epsilon)
                assert 0 <= found.lower <= found.upper <= 1
