"""The approximation has its published values, lies below the truth where errata.md says so, and is no bound."""

import math

import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import GaussianLoss, Interval, PureLoss
from deniable.privacy.notions.central_limit import (
    Approximation,
    approximate_delta,
    approximate_epsilon,
    sampled_gaussian_mu,
)


@pytest.mark.parametrize(
    ("noise", "rate", "count", "epsilon", "claimed", "truth"),
    [("0.8", "0.004", 2000, 2, 6.5e-10, 1.96e-6), ("1", "0.01", 1000, 3, 5.6e-14, 1.24e-9)],
)
def test_it_understates(noise: str, rate: str, count: int, epsilon: int, claimed: float, truth: float) -> None:
    """errata.md E70, whose truth is a pessimistic estimate."""
    mu = sampled_gaussian_mu(noise, rate=rate, count=count)
    assert approximate_delta(mu, epsilon).approximately == pytest.approx(claimed, rel=0.02)
    exact = (GaussianLoss(noise).poisson_sampled(rate=rate) * count).delta(epsilon, tolerance=0.05)
    assert 1000 * claimed < exact.lower <= exact.upper < truth


def test_published_mu() -> None:
    """errata.md E70: mu = 0.3474."""
    assert sampled_gaussian_mu("0.8", rate="0.004", count=2000).approximately == pytest.approx(0.3474, abs=1e-4)


def test_exact_composition_is_another_theorem() -> None:
    """errata.md E68: Gaussian losses compose exactly, by the root of the sum of mu^2."""
    assert (GaussianLoss(2) * 4).delta(1) == GaussianLoss(1).delta(1)


def test_it_cannot_be_mistaken_for_a_bound() -> None:
    mu = sampled_gaussian_mu(1, rate="1/100", count=1000)
    assert not isinstance(mu, Interval)
    assert not hasattr(mu, "upper")
    with pytest.raises(InvalidParameterError, match="proves nothing"):
        float(mu)
    with pytest.raises(InvalidParameterError):
        PureLoss(mu)
    with pytest.raises(InvalidParameterError):
        PureLoss(1).delta(approximate_epsilon(mu, "1e-5"))
    assert "not a bound" in str(mu)
    with pytest.raises(TypeError):
        _ = mu < 1  # type: ignore[operator]


def test_epsilon_inverts_delta() -> None:
    mu = sampled_gaussian_mu(1, rate="1/100", count=1000)
    epsilon = approximate_epsilon(mu, "1e-5")
    assert math.isclose(approximate_delta(mu, epsilon.approximately).approximately, 1e-5, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("noise", "rate", "count"), [(0, "1/2", 1), (1, 0, 1), (1, 2, 1), (1, "1/2", 0), ("1/100", 1, 1)]
)
def test_bad_parameters_are_refused(noise: object, rate: object, count: int) -> None:
    with pytest.raises(InvalidParameterError):
        sampled_gaussian_mu(noise, rate=rate, count=count)


def test_only_a_mu_is_taken() -> None:
    with pytest.raises(InvalidParameterError, match="mu must be"):
        approximate_delta(Approximation(1.0, "delta", "somewhere"), 1)
    with pytest.raises(InvalidParameterError, match="delta must be > 0"):
        approximate_epsilon(sampled_gaussian_mu(1, rate=1, count=1), 0)
