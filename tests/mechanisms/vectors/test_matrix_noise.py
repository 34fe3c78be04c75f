from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import erfc

from deniable.mechanisms import Gaussian, Laplace
from deniable.mechanisms.additive.base import AdditiveNoise
from deniable.mechanisms.vectors.matrix_noise import MatrixNoise, _laplace

WEIGHTS = [(1, 0, 0, 0), (1, 1, 0, 0), (3, 1, 0, 0), (1, 1, 1, 1), (5, 3, 2, 1)]
LAWS: list[AdditiveNoise] = [
    Laplace(scale=Fraction(3)),
    Laplace(scale=Fraction(1)),
    Gaussian(sigma_squared=Fraction(9)),
]


def law(mechanism: AdditiveNoise, weight: int, reach: int) -> np.ndarray:
    """The chances of weight times the noise, on integers from -reach to reach."""
    points = np.arange(-reach, reach + 1)
    if isinstance(mechanism, Laplace):
        chances = np.exp(-np.abs(points) / float(mechanism.scale))
    else:
        assert isinstance(mechanism, Gaussian)
        chances = np.exp(-(points**2) / (2 * float(mechanism.sigma_squared)))
    spread = np.zeros(2 * weight * reach + 1)
    spread[::weight] = chances / chances.sum()
    return spread


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("mechanism", LAWS)
@pytest.mark.parametrize("chance", [0.5, 0.2, 0.05, 0.001])
def test_no_combination_exceeds_the_bound_more_often(
    weights: tuple[int, ...], mechanism: AdditiveNoise, chance: float
) -> None:
    """The law of the combination by convolution of the exact laws of its four entries."""
    found = np.ones(1)
    for weight in weights:
        if weight:
            found = np.convolve(found, law(mechanism, weight, 60))
    points = np.arange(len(found)) - len(found) // 2
    noise = MatrixNoise(mechanism, 2)
    reach = noise.of_sum(chance) * noise.deviation * np.linalg.norm(weights)
    assert found[np.abs(points) > reach].sum() <= chance


@pytest.mark.parametrize("chance", [0.2, 0.05, 0.01])
@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0], [1.0, 0.3, 0.3], [1.0] * 40])
def test_the_bound_for_laplace_noise_holds_and_is_close(chance: float, weights: list[float]) -> None:
    """P(|X| > t) by the inversion of the characteristic function prod 1 / (1 + w^2 u^2 / 2); a bound that is 12% less
    is broken by one combination at least."""
    unit = np.array(weights) / np.linalg.norm(weights)

    def beyond(t: float) -> float:
        def integrand(u: float) -> float:
            return float(np.sin(u * t) / u / np.prod(1 + unit**2 * u**2 / 2))

        return 1 - 2 / np.pi * quad(integrand, 1e-12, 400, limit=4000)[0]

    assert beyond(_laplace(chance)) <= chance + 1e-6
    less = 0.88 * _laplace(chance)
    assert max(np.exp(-np.sqrt(2) * less), erfc(less / np.sqrt(2))) > chance  # one variable, or infinitely many


def test_a_discrete_law_is_within_one_step_of_its_continuous_one() -> None:
    """What the slack stands on: P(Z >= k) <= P(X >= k) <= P(Z >= k - 1) for every integer k >= 1."""
    from scipy.stats import laplace, norm

    k = np.arange(1, 60)
    for mechanism in LAWS:
        tails = law(mechanism, 1, 400)[::-1].cumsum()[::-1][400 + k]  # P(X >= k)
        if isinstance(mechanism, Laplace):
            continuous = laplace(scale=float(mechanism.scale))
        else:
            assert isinstance(mechanism, Gaussian)
            continuous = norm(scale=float(mechanism.sigma_squared) ** 0.5)
        seen = continuous.sf(k) > 1e-14
        assert (tails <= continuous.sf(k - 1) * (1 + 1e-9))[seen].all()
        assert (tails >= continuous.sf(k) * (1 - 1e-9))[seen].all()
