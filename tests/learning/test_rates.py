"""Rates against the formulas that they simplify, integrals, and the checks of the errata E28, E37 and E48."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from deniable.errors import InvalidParameterError
from deniable.learning.rates import (
    _rho,
    descent_bound,
    exponential_excess_risk,
    noisy_descent_excess_risk,
    noisy_descent_steps,
    optimal_rate,
)
from deniable.privacy import AddRemove, ConcentratedLoss, Replace


def test_rho_is_private_and_at_least_that_of_the_simple_conversion() -> None:
    """epsilon = rho + 2 sqrt(rho ln(1/delta)) of Bun and Steinke (2016) is the loosest in use."""
    for epsilon, delta in [(0.1, 1e-5), (1, 1e-6), (20, 1e-2)]:
        rho, log = _rho(epsilon, delta), math.log(1 / delta)
        assert ConcentratedLoss(rho).epsilon(delta).upper <= epsilon * (1 + 1e-9)
        assert epsilon < rho + 2 * math.sqrt(rho * log) < 2 * epsilon


def test_the_risk_of_noisy_descent_is_that_of_its_moments() -> None:
    """R sqrt((G^2 + d s^2) / T) with s^2 = T (2 G / n)^2 / (2 rho), step by step."""
    rho = _rho(2, "1e-5")
    variance = 30 * (2 * 3 / 500) ** 2 / (2 * rho)
    found = noisy_descent_excess_risk(radius=2, lipschitz=3, columns=7, size=500, epsilon=2, delta="1e-5", steps=30)
    assert found == pytest.approx(2 * math.sqrt((9 + 7 * variance) / 30))
    assert found > descent_bound(radius=2, lipschitz=3, steps=30)


def test_the_risk_at_the_balanced_steps_has_the_optimal_order() -> None:
    """E37, E48: within a constant of R G sqrt(d ln(1/delta)) / (n epsilon), and more steps gain less than sqrt(2)."""
    for columns, size in [(10, 10**4), (1000, 10**5)]:
        public = {"radius": 1, "lipschitz": 1, "columns": columns, "size": size, "epsilon": 1, "delta": 1e-6}
        found = noisy_descent_excess_risk(**public)
        assert 1 < found / optimal_rate(**public) < 6
        steps = noisy_descent_steps(columns=columns, size=size, epsilon=1, delta=1e-6)
        assert noisy_descent_excess_risk(**public, steps=1000 * steps) > found / math.sqrt(2.01)


def test_the_bound_of_the_exponential_mechanism_is_that_of_the_erratum() -> None:
    """E28: R = G = 1, d = 5, n epsilon = 1000: 0.06498, where the notes' second term is 4.31e6."""
    public = {"radius": 1, "lipschitz": 1, "columns": 5, "size": 1000, "epsilon": 1}
    assert exponential_excess_risk(**public) == pytest.approx(0.06498, abs=5e-6)
    assert (1000 / 5) ** 5 * math.exp(-5) * 2 / 1000 == pytest.approx(4.31e6, rel=0.01)
    assert exponential_excess_risk(**public, relation=Replace) == exponential_excess_risk(
        **public | {"size": 500}, relation=AddRemove
    )
    assert exponential_excess_risk(**public | {"size": 2}) == 2


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_the_exponential_mechanism_is_within_its_bound(columns: int, relation: object) -> None:
    """L = G |x| over the ball: the norm has density ~ t^(d - 1) exp(-k t), whose mean is found by quadrature."""
    size, epsilon = 300, 2.0
    scale = 2 * (1 if relation is AddRemove else 2) / (epsilon * size)
    mass, _ = quad(lambda t: t ** (columns - 1) * math.exp(-t / scale), 0, 1, points=[scale, 10 * scale])
    mean, _ = quad(lambda t: t**columns * math.exp(-t / scale), 0, 1, points=[scale, 10 * scale])
    bound = exponential_excess_risk(
        radius=1, lipschitz=1, columns=columns, size=size, epsilon=epsilon, relation=relation
    )
    assert mean / mass <= bound <= 20 * mean / mass


def test_optimal_rates_are_those_of_the_table() -> None:
    """E48: for d = 10^4 the dependence on d of the notes is 100 times that on sqrt(d)."""
    public = {"radius": 3, "lipschitz": 2, "columns": 10**4, "size": 10**7, "epsilon": 1}
    log = math.log(1e6)
    assert optimal_rate(**public) == pytest.approx(6 * 1e-3)
    assert optimal_rate(**public, delta="1e-6") == pytest.approx(6 * 1e-5 * math.sqrt(log))
    assert optimal_rate(**public, strong_convexity=0.5) == pytest.approx(4 * 1e-6 / 0.5)
    assert optimal_rate(**public, delta="1e-6", strong_convexity=0.5) == pytest.approx(4 * 1e-10 * log / 0.5)
    assert optimal_rate(**public | {"size": 1}, delta="1e-6") == 6


def test_single_rows_a_step_would_not_be_private_at_the_steps_of_a_full_batch() -> None:
    """E37: d = 1000, n = 10^4: T = epsilon^2 n^2 / d = 10^5 steps use every row at least once with chance 0.99995."""
    assert -math.expm1(1e5 * math.log1p(-1e-4)) == pytest.approx(0.99995, abs=1e-5)
    assert math.sqrt(2 * math.log(1e6) / 1000) == pytest.approx(0.166, abs=1e-3)
    assert noisy_descent_steps(columns=1000, size=10**4, epsilon=1, delta=1e-6) < 1e5


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        noisy_descent_steps(columns=1, size=1, epsilon=1, delta=0)
    with pytest.raises(InvalidParameterError, match="radius must be a finite number"):
        descent_bound(radius=np.nan, lipschitz=1, steps=1)
    with pytest.raises(InvalidParameterError, match="strong_convexity must be > 0"):
        optimal_rate(radius=1, lipschitz=1, columns=1, size=1, epsilon=1, strong_convexity=0)
