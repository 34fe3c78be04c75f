"""The discrete Laplace law: draws against the exact law, closed forms against mpmath, bad input."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise import laplace
from deniable.noise.bits import DeterministicBits
from tests.noise.goodness import ALARM, laplace_cdf, laplace_mass, p_value

SCALES = [Fraction(1, 3), Fraction(1), Fraction(29, 3), Fraction(10_000), Fraction(10**9), Fraction(2**55)]


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_draws_follow_the_law_and_no_other_scale(scale: Fraction) -> None:
    draws = laplace.sample(scale=scale, size=1_000_000, bits=DeterministicBits(1))
    spread, reach = float(scale), 9 * float(scale) + 1
    assert draws.dtype == np.int64
    assert p_value(draws, lambda k: laplace_cdf(spread, k), reach) > ALARM
    for twin in (0.7, 1.02, 1.3):
        assert p_value(draws, lambda k, twin=twin: laplace_cdf(spread * twin, k), reach) < ALARM


def test_low_bits_are_uniform_at_a_large_scale() -> None:
    draws = laplace.sample(scale=10**9, size=1_000_000, bits=DeterministicBits(2))
    for shift in (0, 6, 12, 18):
        counts = np.bincount((draws >> shift) & 63, minlength=64)
        assert ((counts - draws.size / 64) ** 2).sum() / (draws.size / 64) < 140  # chi-square, 63: 140 is 10^-7


def test_golden_probability_of_zero() -> None:
    """Golden G51: tanh(1/4) at epsilon = 1/2. A million draws: 5 standard errors are 0.0022."""
    golden = 0.24491866240370912928
    assert float(laplace_mass(Fraction(2), 0)) == pytest.approx(golden, rel=1e-12)
    draws = laplace.sample(scale=2, size=1_000_000, bits=DeterministicBits(4))
    assert (draws == 0).mean() == pytest.approx(golden, abs=0.0022)


def test_published_variance_and_probability_of_zero() -> None:
    draws = laplace.sample(scale=1, size=1_000_000, bits=DeterministicBits(3))
    assert laplace.standard_deviation(1) ** 2 == pytest.approx(1.8413471884, abs=1e-10)  # 2q / (1 - q)^2
    assert float(laplace_mass(Fraction(1), 0)) == pytest.approx(0.4621171573, abs=1e-10)
    assert draws.var() == pytest.approx(1.8413471884, rel=0.02)
    assert (draws == 0).mean() == pytest.approx(0.4621171573, abs=0.003)


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(29, 3)], ids=str)
def test_quantile_agrees_with_the_summed_law(scale: Fraction) -> None:
    k = np.arange(-400, 401)
    cdf = np.cumsum([float(laplace_mass(scale, int(x))) for x in k])
    p = np.linspace(0.001, 0.999, 777)
    assert np.array_equal(laplace.quantile(scale, p), k[np.searchsorted(cdf, p)])
    assert laplace.quantile(scale, np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


def test_size_gives_the_shape() -> None:
    assert laplace.sample(scale=3).shape == ()
    assert laplace.sample(scale=3, size=0).shape == (0,)
    assert laplace.sample(scale=3, size=(2, 5)).shape == (2, 5)


@pytest.mark.parametrize("scale", [0, -1, 0.5, True, "1", float("nan"), 2**58, Fraction(1, 2**60), None])
def test_wrong_scale_is_refused(scale: object) -> None:
    with pytest.raises(InvalidParameterError, match="scale must be"):
        laplace.sample(scale=scale)  # type: ignore[arg-type]
