"""The discrete Gaussian law: draws against the exact law, closed forms against mpmath, bad input."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise import gaussian
from deniable.noise.bits import DeterministicBits
from tests.noise.goodness import ALARM, gaussian_cdf, gaussian_mass, p_value

VARIANCES = [Fraction(1, 3), Fraction(1), Fraction(100), Fraction(10**8), Fraction(10**18), Fraction(2**110)]


@pytest.mark.parametrize("variance", VARIANCES, ids=str)
def test_draws_follow_the_law_and_no_other_scale(variance: Fraction) -> None:
    draws = gaussian.sample(sigma_squared=variance, size=1_000_000, bits=DeterministicBits(1))
    sigma, reach = float(variance) ** 0.5, 5 * float(variance) ** 0.5 + 1
    assert draws.dtype == np.int64
    assert p_value(draws, lambda k: gaussian_cdf(sigma, k), reach) > ALARM
    for twin in (0.7, 1.02, 1.3):
        assert p_value(draws, lambda k, twin=twin: gaussian_cdf(sigma * twin, k), reach) < ALARM


def test_low_bits_are_uniform_at_a_large_sigma() -> None:
    draws = gaussian.sample(sigma_squared=10**18, size=1_000_000, bits=DeterministicBits(2))
    for shift in (0, 6, 12, 18):
        counts = np.bincount((draws >> shift) & 63, minlength=64)
        assert ((counts - draws.size / 64) ** 2).sum() / (draws.size / 64) < 140  # chi-square, 63: 140 is 10^-7


def test_published_variance() -> None:
    # sigma^2 = 1: sum of k^2 exp(-k^2 / 2) over the sum of exp(-k^2 / 2)
    assert gaussian.standard_deviation(1) ** 2 == pytest.approx(0.999999788768, abs=1e-12)
    assert gaussian.standard_deviation(10**18) == 1e9
    draws = gaussian.sample(sigma_squared=1, size=1_000_000, bits=DeterministicBits(3))
    assert draws.var() == pytest.approx(1.0, abs=0.007)


@pytest.mark.parametrize("variance", [Fraction(1, 5), Fraction(1), Fraction(40)], ids=str)
def test_quantile_agrees_with_the_summed_law(variance: Fraction) -> None:
    k = np.arange(-80, 81)
    cdf = np.cumsum([float(gaussian_mass(variance, int(x))) for x in k])
    p = np.linspace(0.001, 0.999, 777)
    assert np.array_equal(gaussian.quantile(variance, p), k[np.searchsorted(cdf, p)])
    assert gaussian.quantile(variance, np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


def test_quantile_at_large_sigma_is_the_normal_one() -> None:
    assert gaussian.quantile(10**12, np.array([0.5, 0.975])).tolist() == [0.0, 1959964.0]
    p = np.linspace(0.001, 0.499, 300)  # the law is symmetric, and so are its quantiles
    assert np.array_equal(gaussian.quantile(5000, p), -gaussian.quantile(5000, 1 - p))


@pytest.mark.parametrize("variance", [0, -1, 0.5, True, "1", float("inf"), 2**115, Fraction(1, 2**60), None])
def test_wrong_sigma_squared_is_refused(variance: object) -> None:
    with pytest.raises(InvalidParameterError, match="sigma_squared must be"):
        gaussian.sample(sigma_squared=variance)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [-1, 1.5, (3, -1), "3", True])
def test_wrong_size_is_refused(size: object) -> None:
    with pytest.raises(InvalidParameterError, match="size must"):
        gaussian.sample(sigma_squared=1, size=size)  # type: ignore[arg-type]
