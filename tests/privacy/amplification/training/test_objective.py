"""Objective perturbation against its formula, published divergences, and densities of one parameter."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import norm

from deniable.privacy import AddRemove, GaussianLoss, PrivacyLoss
from deniable.privacy.amplification.training.objective import HalfNormalLaw
from deniable.privacy.constructors import ObjectivePerturbationLoss


def delta_of(epsilon: float, s: float, shift: float) -> float:
    """The formula of Redberg et al. (2023), with their |ln(1 - beta/lambda)| as `shift`."""

    def h(e: float) -> float:
        return float(norm.cdf(s / 2 - e / s) - math.exp(e) * norm.cdf(-s / 2 - e / s))

    if epsilon > shift + s * s / 2:
        return 2 * h(epsilon - shift)
    u = epsilon - shift - s * s / 2
    return -math.expm1(u) + 2 * math.exp(u) * h(s * s / 2)


@pytest.mark.parametrize(("multiplier", "curvature"), [(4, "1/20"), (1, "1"), (30, "1/1000")])
def test_the_curve_is_the_published_formula(multiplier: int, curvature: str) -> None:
    loss = ObjectivePerturbationLoss(noise_multiplier=multiplier, curvature=curvature)
    shift = math.log1p(float(Fraction(curvature)))
    for epsilon in (0, 0.01, 0.1, 0.5, 1, 3):
        expected = delta_of(epsilon, 1 / multiplier, shift)
        assert expected <= loss.delta(epsilon).upper <= expected * (1 + 1e-4) + 1e-15


def test_the_divergence_of_order_two_is_the_published_one_less_the_better_jacobian() -> None:
    """0.2939564 has -ln(1 - 1/20), ours ln(1 + 1/20); the order two divergence is ln E[exp(L)], here by quadrature."""
    law = HalfNormalLaw(0.25, math.log1p(1 / 20))
    places = np.linspace(law.lowest, law.lowest + 5, 400_001)
    tail = law.above(places).p
    order_two = math.log(math.exp(places[0]) + np.trapezoid(tail * np.exp(places), places))
    assert order_two == pytest.approx(0.2939564 + math.log(0.95) + math.log(1.05), abs=1e-6)


@pytest.mark.parametrize(("multiplier", "curvature"), [(4, "1/20"), (1, "1"), (30, "1/1000")])
def test_divergences_are_those_of_the_bound_on_the_loss(multiplier: int, curvature: str) -> None:
    """Moments by quadrature over |N|; where only laws were known, all of them were [0, inf]."""
    loss, n = ObjectivePerturbationLoss(noise_multiplier=multiplier, curvature=curvature), np.linspace(0, 60, 600_001)
    bound = math.log1p(float(Fraction(curvature))) + 1 / (2 * multiplier**2) + n / multiplier
    law = norm.logpdf(n) + math.log(2)
    assert loss.renyi(1).upper == pytest.approx(np.trapezoid(np.exp(law) * bound, n), rel=1e-8)
    for order in (1.5, 2, 8, 32):
        moment = np.trapezoid(np.exp(law + (order - 1) * bound), n)
        assert loss.renyi(order).upper == pytest.approx(math.log(moment) / (order - 1), rel=1e-8)
    assert loss.renyi("1/2").upper <= loss.renyi(1).upper


def test_the_published_divergences_are_stated() -> None:
    """Redberg et al. (2023) have 0.2939564 at order two, with ln(1 + 1/20) in place of -ln(1 - 1/20)."""
    loss = ObjectivePerturbationLoss(noise_multiplier=4, curvature="1/20")
    found = [loss.renyi(order).upper for order in (2, 8, 32)]
    assert found == pytest.approx([0.29145, 0.39197, 1.07115], abs=5e-6)
    assert (loss * 3).renyi(2).upper == pytest.approx(3 * found[0])


def densities(w: np.ndarray, sigma: float, strength: float) -> tuple[np.ndarray, np.ndarray]:
    """Logarithms, of one parameter with no row, and with one row (x = 1, label 1, logistic)."""
    slope, second = -expit(-w), expit(w) * expit(-w)
    without = norm.logpdf(strength * w, scale=sigma) + math.log(strength)
    return without, norm.logpdf(strength * w + slope, scale=sigma) + np.log(strength + second)


def exact_delta(epsilon: float, sigma: float, strength: float) -> float:
    """delta between no row and one row for one parameter, by its two densities."""
    w = np.linspace(-60, 60, 200_001) * sigma / strength
    without, with_row = map(np.exp, densities(w, sigma, strength))
    gaps = [with_row - math.exp(epsilon) * without, without - math.exp(epsilon) * with_row]
    return max(float(np.trapezoid(np.maximum(gap, 0.0), w)) for gap in gaps)


@pytest.mark.parametrize(("sigma", "strength"), [(4.0, 5.0), (2.0, 0.5), (1.0, 0.25), (8.0, 0.1)])
def test_densities_of_one_parameter_keep_the_curve(sigma: float, strength: float) -> None:
    loss = ObjectivePerturbationLoss(noise_multiplier=Fraction(sigma), curvature=Fraction(1 / 4 / strength))
    for epsilon in (0.0, 0.2, 0.6, 1.2):
        assert exact_delta(epsilon, sigma, strength) <= loss.delta(epsilon).upper
    w = np.linspace(-25, 25, 200_001) * sigma / strength
    one, other = densities(w, sigma, strength)
    for order in (1.5, 2.0, 4.0):
        exact = max(
            math.log(np.trapezoid(np.exp(order * p + (1 - order) * q), w)) / (order - 1)
            for p, q in ((one, other), (other, one))
        )
        assert exact <= loss.renyi(order).upper


def test_without_the_jacobian_the_curve_would_be_broken() -> None:
    """The twin: a weak penalty with much noise is all Jacobian."""
    found = exact_delta(0.6, 8.0, 0.1)
    assert found > 1000 * delta_of(0.6, 1 / 8, 0.0)


def test_it_composes_and_is_read_back_and_holds_under_add_remove() -> None:
    loss = ObjectivePerturbationLoss(noise_multiplier=3, curvature="1/10")
    assert PrivacyLoss.from_json(loss.to_json()) == loss
    assert loss.relations == {AddRemove}
    alone, both = (one.epsilon("1e-6").upper for one in (loss, loss + GaussianLoss(100)))
    assert alone < both < 1.02 * alone
    assert loss.under_replace().epsilon("1e-6").upper > 1.5 * alone


def test_tails_add_up() -> None:
    law = HalfNormalLaw(0.5, 0.1)
    places = law.lowest + np.array([-1.0, 0.0, 1e-6, 0.1, 1.0, 3.0])
    above, below = law.above(places), law.below(places)
    assert np.allclose(above.p + below.p, 1, atol=1e-12)
    assert np.allclose(above.q + below.q, 1 - law.vanishing, atol=1e-12)
