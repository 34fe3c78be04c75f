"""The law of added noise, against sums of the weights that the docstrings name, in mpmath."""

from collections.abc import Callable
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from deniable.mechanisms import Gaussian, Laplace, Staircase, TruncatedLaplace
from deniable.mechanisms.additive.base import AdditiveNoise

F = Fraction
CASES: list[tuple[AdditiveNoise, int, Callable[[int], mp.mpf]]] = [
    (Laplace(scale=F(3, 2)), 400, lambda k: mp.exp(-mp.mpf(k) * 2 / 3)),
    (Gaussian(sigma_squared=F(5)), 200, lambda k: mp.exp(-(mp.mpf(k) ** 2) / 10)),
    (Gaussian(sigma_squared=F(1, 8)), 40, lambda k: mp.exp(-(mp.mpf(k) ** 2) * 4)),
    (Staircase(rate=F(1, 2), step=4, centre=2), 600, lambda k: mp.exp(-mp.mpf((k + 2) // 4) / 2)),
    (TruncatedLaplace(scale=F(2), bound=9), 9, lambda k: mp.exp(-mp.mpf(k) / 2)),
]


@pytest.mark.parametrize(("mechanism", "reach", "weight"), CASES, ids=lambda value: getattr(value, "kind", ""))
def test_probabilities_are_those_of_the_weights(
    mechanism: AdditiveNoise, reach: int, weight: Callable[[int], mp.mpf]
) -> None:
    law = mechanism.law(F(1, 4))
    with mp.workdps(40):
        mass = [weight(k) for k in range(reach + 1)]
        total = 2 * mp.fsum(mass) - mass[0]
        for k in range(12):
            x = F(k, 4)
            one = mass[k] / total if k <= reach else mp.mpf(0)
            above = mp.fsum(mass[k + 1 :]) / total
            for found, truth in (
                (law.pmf(x), one),
                (law.pmf(-x), one),
                (law.cdf(x), 1 - above),
                (law.cdf(-x), one + above),
                (law.cdf(x + F(1, 8)), 1 - above),
                (law.tail(x), 2 * above),
            ):
                assert found.lower <= truth * (1 + mp.mpf(10) ** -20)
                assert found.upper >= truth * (1 - mp.mpf(10) ** -20)
                assert found.width <= 1e-13 * found.upper
    assert law.pmf(F(1, 8)).upper == 0
    assert law.tail(-1).lower == 1


WIDE: list[AdditiveNoise] = [
    *(Laplace(scale=scale) for scale in (F(1, 5), F(10**9), F(2**57))),
    *(Gaussian(sigma_squared=variance) for variance in (F(63**2), F(65**2), F(10**7), F(10**18), F(2**114))),
    Staircase(rate=F(1, 10**6), step=1000, centre=3),
    TruncatedLaplace(scale=F(10**9), bound=2**40),
    TruncatedLaplace(scale=F(10**9), bound=5),
]


@pytest.mark.parametrize("mechanism", [case[0] for case in CASES] + WIDE)
def test_half_widths_and_quantiles_are_those_of_the_tails(mechanism: AdditiveNoise) -> None:
    law = mechanism.law()
    for level in (F(1, 2), F(19, 20), F(999, 1000), 1 - F(1, 10**12)):
        half = mechanism.half_width(level)
        assert law.tail(half).lower <= 1 - level  # an interval sharp to 1e-14
        assert half == 0 or law.tail(half - 1).upper > 1 - level
    for p in (0.1, 0.5, 0.9):
        k = int(law.quantile(np.array([p]))[0])
        assert law.cdf(k).upper >= p - 1e-12 > law.cdf(k - 1).lower - 1e-9


def test_far_tails_are_told_from_nothing() -> None:
    tail = Laplace(scale=10).law().tail(5000)
    assert 0 < tail.lower <= tail.upper < 1e-200
    assert Gaussian(sigma_squared=F(2**60)).law().tail(40 * 2**30).upper < 1e-300


def test_errors_are_in_the_unit_of_the_answer() -> None:
    mechanism, p = Laplace(scale=8), np.array([0.1, 0.9])
    law = mechanism.law(F(1, 4))
    assert np.array_equal(law.quantile(p), mechanism.quantile(p) / 4)
    assert law.half_width(0.9) == mechanism.half_width(0.9) / 4
    assert law.standard_deviation() == mechanism.standard_deviation() / 4
