import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.notions.gaussian_dp import gaussian_delta, largest_mu_squared, mu_squared_of_pure


def reference_delta(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """By quadrature of (p - e^epsilon q)_+ from the point where the loss is epsilon."""
    start = epsilon / mu + mu / 2
    density = lambda x: mpmath.npdf(x, mu) - mpmath.exp(epsilon) * mpmath.npdf(x, 0)  # noqa: E731
    return mpmath.quad(density, [start, start + 4, start + 12, start + 40])


@pytest.mark.parametrize(("mu", "epsilon"), [("1", "1"), ("1/2", "2"), ("3", "0"), ("3", "10"), ("1/10", "1/5")])
def test_the_curve_is_the_integral(mu: str, epsilon: str) -> None:
    with mpmath.workdps(50):
        m, e = (mpmath.mpf(f.numerator) / f.denominator for f in (Fraction(mu), Fraction(epsilon)))
        truth = reference_delta(m, e)
        found = gaussian_delta(Fraction(mu) ** 2, Fraction(epsilon))
        assert mpmath.mpf(found.lower) <= truth <= mpmath.mpf(found.upper)
    assert found.width <= 3e-15 * found.upper


def test_golden_values() -> None:
    """golden.md G15, G7, G9, G11."""
    assert gaussian_delta(Fraction(1), Fraction(1)).upper == pytest.approx(0.1269367375066439458, rel=1e-9)
    for sigma, epsilon, delta in (
        ("3.7306316348159418322", 1, 1e-5),
        ("0.49988861970900851464", 10, 1e-5),
        ("39.893183581616519141", 0, 0.01),
    ):
        found = gaussian_delta(1 / Fraction(sigma) ** 2, Fraction(epsilon))
        assert found.lower == pytest.approx(delta, rel=1e-9)


def test_tiny_deltas_keep_their_digits_until_the_floats_end() -> None:
    found = gaussian_delta(Fraction(1), Fraction(30))
    assert 0 < found.lower < found.upper < 1e-190
    assert found.width < 1e-13 * found.upper
    assert gaussian_delta(Fraction(1), Fraction(100)).upper <= 1e-323
    assert gaussian_delta(Fraction(0), Fraction(0)).upper == 0


@given(st.fractions(min_value=Fraction(1, 1000), max_value=30))
def test_the_mu_of_a_bounded_loss_is_just_enough(epsilon: Fraction) -> None:
    """At the corner of randomised response the Gaussian trade-off curve must lie below, and for less mu it does not."""
    mu_squared = mu_squared_of_pure(epsilon)
    with mpmath.workdps(60):
        corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator))
        z = -mpmath.sqrt(2) * mpmath.erfinv(2 * corner - 1)  # Phi(-z) = corner
        mu = mpmath.sqrt(mpmath.mpf(mu_squared.numerator) / mu_squared.denominator)
        assert mpmath.ncdf(z - mu) <= corner
        assert mpmath.ncdf(z - mu * (1 - mpmath.mpf("1e-10"))) > corner


@pytest.mark.parametrize("epsilon", ["1/10", "1", "5", "200", "201"])
def test_the_gaussian_curve_lies_below_randomised_response(epsilon: str) -> None:
    """At twenty levels; the closed form against the polygon max(0, 1 - e^x a, e^-x (1 - a))."""
    x = Fraction(epsilon)
    with mpmath.workdps(220):
        mu_squared = mu_squared_of_pure(x)
        mu = mpmath.sqrt(mpmath.mpf(mu_squared.numerator) / mu_squared.denominator)
        e = mpmath.exp(mpmath.mpf(x.numerator) / x.denominator)
        for k in range(1, 21):
            level = mpmath.mpf(k) / (21 * (e if k % 2 else 1))
            z = mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * level)
            assert mpmath.ncdf(z - mu) <= max(mpmath.mpf(0), 1 - e * level, (1 - level) / e)


@given(st.fractions(min_value=Fraction(1, 1000), max_value=30), st.integers(min_value=1, max_value=40))
def test_the_largest_mu_is_private_and_a_little_more_is_not(epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    mu_squared = largest_mu_squared(epsilon, delta)
    assert 0 < Fraction(gaussian_delta(mu_squared, epsilon).upper) <= delta
    assert Fraction(gaussian_delta(mu_squared * (1 + Fraction(1, 10**9)), epsilon).lower) > delta


def test_mu_of_nothing_is_nothing() -> None:
    assert mu_squared_of_pure(Fraction(0)) == 0
    assert math.sqrt(mu_squared_of_pure(Fraction(1, 10))) == pytest.approx(0.125309, rel=1e-5)
