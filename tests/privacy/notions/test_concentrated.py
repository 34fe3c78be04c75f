from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy.notions.concentrated import concentrated_delta, largest_rho
from deniable.privacy.notions.gaussian_dp import gaussian_delta

rhos = st.fractions(min_value=Fraction(1, 10**4), max_value=20)
epsilons = st.fractions(min_value=0, max_value=40)


def reference(rho: float, epsilon: float) -> float:
    """The bound on a grid of orders, smallest first: an upper bound on the minimum that is close to it."""
    with mpmath.workdps(30):
        orders = (1 + mpmath.mpf(10) ** (mpmath.mpf(k) / 200 - 4) for k in range(1600))
        values = (mpmath.exp((a - 1) * (a * rho - epsilon) + a * mpmath.log1p(-1 / a)) / (a - 1) for a in orders)
        return float(min(1, *values))


@pytest.mark.parametrize(("rho", "epsilon"), [(0.5, 4.7283869849433139), (2.63, 17.43), (0.01, 1), (5, 3)])
def test_the_minimum_over_orders_is_found(rho: float, epsilon: float) -> None:
    found = concentrated_delta(Fraction(rho), Fraction(epsilon))
    assert found <= reference(rho, epsilon) * (1 + 1e-12)
    assert found >= reference(rho, epsilon) * (1 - 1e-3)


def test_golden_values() -> None:
    """golden.md G21 and G23, both minimised over real orders."""
    assert concentrated_delta(Fraction("0.5"), Fraction("4.7283869849433139")) == pytest.approx(1e-5, rel=1e-6)
    assert concentrated_delta(Fraction("2.63"), Fraction("17.430584487345112315")) == pytest.approx(1e-10, rel=1e-6)


@given(rhos, epsilons)
def test_the_conversion_is_never_below_the_gaussian_mechanism(rho: Fraction, epsilon: Fraction) -> None:
    """The Gaussian with mu^2 = 2 rho is rho-zCDP, so its exact curve is a floor."""
    assert concentrated_delta(rho, epsilon) >= gaussian_delta(2 * rho, epsilon).lower


@given(st.fractions(min_value=Fraction(1, 1000), max_value=30), st.integers(min_value=1, max_value=40))
def test_the_largest_rho_is_private_and_a_little_more_is_not(epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    rho = largest_rho(epsilon, delta)
    assert 0 < Fraction(concentrated_delta(rho, epsilon)) <= delta
    assert Fraction(concentrated_delta(rho * (1 + Fraction(1, 10**9)), epsilon)) > delta


def test_extremes_stay_bounds() -> None:
    assert concentrated_delta(Fraction(0), Fraction(1)) == 0
    assert concentrated_delta(Fraction(10**6), Fraction(1)) == 1
    assert concentrated_delta(Fraction(1, 10**9), Fraction(10**6)) < 1e-300
