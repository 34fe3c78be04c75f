"""Divergences of sampled Gaussian noise: by sums, by certified quadrature and by mpmath."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.privacy import GaussianLoss
from deniable.privacy.notions import sampled_normal
from deniable.privacy.notions.renyi import directed
from deniable.privacy.notions.sampled_normal import sampled_normal_divergence


def mp(number: object) -> mpmath.mpf:
    value = Fraction(str(number))
    return mpmath.mpf(value.numerator) / value.denominator


def sampled_by_quadrature(mu: mpmath.mpf, rate: mpmath.mpf, order: str, *, added: bool) -> mpmath.mpf:
    """E_Q[(mix/Q)^a], or E_mix[(Q/mix)^a], by mpmath."""
    a = mp(order)

    def term(x: mpmath.mpf) -> mpmath.mpf:
        density = mpmath.npdf(x)
        ratio = 1 - rate + rate * mpmath.exp(mu * x - mu * mu / 2)
        if a == 1:
            return density * (-mpmath.log(ratio) if added else ratio * mpmath.log(ratio))
        return density * ratio ** (1 - a if added else a)

    end = a * mu + 12
    value = mpmath.quad(term, mpmath.linspace(-12, end, 12))
    return value if a == 1 else mpmath.log(value) / (a - 1)


@pytest.mark.parametrize("order", ["1", "11/10", "9/2"])
@pytest.mark.parametrize(("noise", "rate"), [("1", "1/100"), ("1/2", "1/3")])
def test_sampled_gaussian_noise_is_its_integral(noise: str, rate: str, order: str) -> None:
    """inventory.md 131; and the other direction is never larger."""
    with mpmath.workdps(22):
        mu = 1 / mp(noise)
        removed = sampled_by_quadrature(mu, mp(rate), order, added=False)
        added = sampled_by_quadrature(mu, mp(rate), order, added=True)
        found = sampled_normal_divergence(1 / Fraction(noise) ** 2, Fraction(rate), Fraction(order))
        assert float(abs(removed - found.lower)) <= 1e-13 * float(removed) + 1e-20
        assert added <= removed
        assert directed(GaussianLoss(noise).poisson_sampled(rate=rate).statement, Fraction(order))[1].upper >= added


@given(
    st.fractions(Fraction(1, 10), 5, max_denominator=20),
    st.fractions(Fraction(1, 50), Fraction(19, 20), max_denominator=50),
    st.integers(2, 6),
)
@settings(max_examples=10)
def test_whole_orders_by_sum_and_by_quadrature(noise: Fraction, rate: Fraction, order: int) -> None:
    """Two routes: the binomial sum, and the certified integral at an order 1e-12 away on either side."""
    exact = sampled_normal_divergence(1 / noise**2, rate, Fraction(order))
    below, above = (
        sampled_normal_divergence(1 / noise**2, rate, order + move)
        for move in (-Fraction(1, 10**12), Fraction(1, 10**12))
    )
    assert below.lower <= exact.upper
    assert exact.lower <= above.upper
    assert above.upper - below.lower <= 1e-9 * above.upper


@pytest.mark.parametrize("order", ["1", "1.01", "1.5", "3.25"])
def test_bounds_for_little_noise_hold_the_integral(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At mu = 12 by quadrature."""
    integral = sampled_normal_divergence(Fraction(144), Fraction(1, 100), Fraction(order))
    monkeypatch.setattr(sampled_normal, "_HUGE_MU_SQUARED", 0)
    sampled_normal_divergence.cache_clear()
    bounds = sampled_normal_divergence(Fraction(144), Fraction(1, 100), Fraction(order))
    sampled_normal_divergence.cache_clear()
    assert bounds.lower <= integral.upper
    assert integral.lower <= bounds.upper
    assert bounds.width <= 0.1 * bounds.upper


@pytest.mark.parametrize("order", ["5000", "5000.5", "200000", "200000.5"])
def test_large_orders_take_no_integral(order: str) -> None:
    """The unit in every draw outweighs all else: order (mu^2/2 + ln(rate)/(order - 1)); the rest is below e^-1000."""
    a = Fraction(order)
    found = sampled_normal_divergence(Fraction(1), Fraction(1, 10**5), a)
    exact = float(a) * (0.5 - math.log(10**5) / (float(a) - 1))
    assert found.lower <= exact * (1 + 1e-12)
    assert exact * (1 - 1e-12) <= found.upper
    assert found.width <= 3e-4 * found.upper
