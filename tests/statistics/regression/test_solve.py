import numpy as np
import pytest

from deniable.statistics.regression.solve import ridge, steady

GENERATOR = np.random.default_rng(1)


def sums_of(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    z = np.column_stack([np.ones(len(x)), x])
    return np.concatenate([(z.T @ z)[np.triu_indices(z.shape[1])], z.T @ y])


X = GENERATOR.uniform(-1, 1, size=(1000, 2))
Y = 0.3 + X @ [0.5, -0.2] + GENERATOR.normal(0, 0.1, 1000)
SUMS = sums_of(X, Y)


def test_without_noise_both_are_least_squares() -> None:
    expected = np.linalg.lstsq(np.column_stack([np.ones(1000), X]), Y, rcond=None)[0]
    assert steady(SUMS, np.eye(9) * 1e-12, 2).coefficients == pytest.approx(expected)
    assert ridge(SUMS, np.eye(9) * 1e-12, 2, 0.0).coefficients == pytest.approx(expected)


@pytest.mark.parametrize("solve", [steady, lambda sums, noise, features: ridge(sums, noise, features, 0.0)])
def test_the_covariance_is_that_of_noisy_sums(solve) -> None:  # type: ignore[no-untyped-def]
    """4,000 draws: standard deviations are off by 1.1%, five of them and curvature 10%."""
    noise = np.diag(np.linspace(1, 4, 9))
    draws = SUMS + GENERATOR.normal(size=(4000, 9)) * np.sqrt(noise.diagonal())
    found = np.array([solve(each, noise, 2).coefficients for each in draws])
    stated = np.sqrt(solve(SUMS, noise, 2).covariance.diagonal())
    assert found.std(axis=0) == pytest.approx(stated, rel=0.1)


def test_where_noise_drowns_the_sums_coefficients_stay_small() -> None:
    for _ in range(100):
        draws = GENERATOR.normal(size=9) * 100
        for fit in (steady(draws, np.eye(9) * 1e4, 2), ridge(draws, np.eye(9) * 1e4, 2, 0.0)):
            assert np.isfinite(fit.coefficients).all()
            assert np.abs(fit.coefficients).max() < 10
            assert fit.covariance.diagonal().min() > 0
