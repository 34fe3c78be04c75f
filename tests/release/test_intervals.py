"""Coverage tests: 10,000 runs are the 10,000 rows of one release, with noise from a fixed numpy stream.

At level 0.95 the covered share has standard deviation 0.0022, so the window 0.935 to 0.965 is 6.9 of them to each side:
a correct interval fails with probability below 1e-11. A law with 0.7 times the true scale covers at most 0.88 and a law
with 1.3 times at least 0.97; the twins show that these are caught, each with the same error rate.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.privacy import PureLoss
from deniable.release import Release
from deniable.release.columns import Bounds, Measure, Noisy
from deniable.release.intervals import _spread, of_measure
from tests.release.conftest import ScipyLaw, average, gaussian, laplace, one

RUNS = 10_000
LAWS = {"laplace": (laplace, 1.0), "gaussian": (gaussian, 1.0)}


def draws(seed: int, family: str, scale: float) -> Any:
    return getattr(np.random.default_rng(seed), {"laplace": "laplace", "gaussian": "normal"}[family])(0, scale, RUNS)


def covered(bounds: Bounds, truth: float) -> float:
    return float(np.mean((bounds.lower <= truth) & (truth <= bounds.upper)))


def of(measure: Measure, *noisy: Noisy, level: float = 0.95) -> Bounds:
    return Release(parts=(measure,), noisy=noisy, cost=PureLoss(1)).intervals(level)[measure.name]


def noisy(name: str, truth: float, family: str, scale: float, *, seed: int, stated: float = 1.0) -> Noisy:
    """A truth under noise of one scale, with a law that states `stated` times this scale."""
    law: Callable[[float], ScipyLaw] = {"laplace": laplace, "gaussian": gaussian}[family]
    return Noisy(name=name, values=truth + draws(seed, family, scale), law=law(stated * scale))


# --- coverage ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", LAWS)
def test_a_single_value_is_covered_at_its_level(family: str) -> None:
    count = noisy("n", 1000, family, 50, seed=1)
    assert 0.935 <= covered(of(Measure(name="n", bases=("n",)), count), 1000) <= 0.965


@pytest.mark.parametrize("family", LAWS)
def test_an_average_is_covered_at_its_level(family: str) -> None:
    bounds = of(average(), noisy("total", 30_000, family, 900, seed=2), noisy("n", 1000, family, 30, seed=3))
    assert 0.935 <= covered(bounds, 30) <= 0.965


@pytest.mark.parametrize("family", LAWS)
def test_an_average_over_a_small_group_is_covered_at_its_level(family: str) -> None:
    # The count is five to seven standard deviations above 0: the interval is far from symmetric here.
    bounds = of(average(), noisy("total", 4500, family, 900, seed=4), noisy("n", 150, family, 22, seed=5))
    assert 0.935 <= covered(bounds, 30) <= 0.965


def test_an_average_with_a_count_lost_in_the_noise_is_covered_at_least() -> None:
    bounds = of(average(), noisy("total", 300, "laplace", 900, seed=6), noisy("n", 10, "laplace", 22, seed=7))
    assert covered(bounds, 30) >= 0.95
    assert np.mean(np.isinf(bounds.lower) & np.isinf(bounds.upper)) > 0.5


@pytest.mark.parametrize("family", LAWS)
def test_a_difference_of_two_values_is_covered_at_its_level(family: str) -> None:
    measure = Measure(name="d", bases=("a", "b"), evaluate=lambda b: b["a"] - 2 * b["b"])
    bounds = of(measure, noisy("a", 70, family, 10, seed=8), noisy("b", 90, family, 10, seed=9))
    assert 0.935 <= covered(bounds, -110) <= 0.965


@pytest.mark.parametrize("family", LAWS)
@pytest.mark.parametrize("truth", [5.0, 50.0])
def test_a_clamped_count_is_covered_at_its_level(family: str, truth: float) -> None:
    count = noisy("n", truth, family, 50, seed=10)
    assert np.mean(count.values < 0) > 0.1
    assert 0.935 <= covered(of(Measure(name="n", bases=("n",), lower=0), count), truth) <= 0.965


def test_a_clamped_count_of_nobody_is_covered_at_least() -> None:
    count = noisy("n", 0, "laplace", 50, seed=11)
    bounds = of(Measure(name="n", bases=("n",), lower=0), count)
    assert covered(bounds, 0) >= 0.965  # a bound that the truth touches can only help
    assert bounds.lower.min() == 0


@pytest.mark.parametrize("family", LAWS)
def test_a_rounded_and_clamped_average_is_covered_at_its_level(family: str) -> None:
    total, n = noisy("total", 30_000, family, 900, seed=12), noisy("n", 1000, family, 30, seed=13)
    bounds = of(average(lower=0, upper=100, digits=2), total, n)
    assert 0.935 <= covered(bounds, 30) <= 0.965
    assert np.allclose(bounds.lower * 100, np.round(bounds.lower * 100), atol=1e-6)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_other_levels_are_covered_too(level: float) -> None:
    tolerance = 7 * (level * (1 - level) / RUNS) ** 0.5
    total, n = noisy("total", 30_000, "laplace", 900, seed=14), noisy("n", 1000, "laplace", 30, seed=15)
    assert abs(covered(of(average(), total, n, level=level), 30) - level) <= tolerance
    assert abs(covered(of(Measure(name="n", bases=("n",)), n, level=level), 1000) - level) <= tolerance


@pytest.mark.parametrize("family", LAWS)
@pytest.mark.parametrize(("stated", "seen"), [(0.7, (0.0, 0.935)), (1.3, (0.965, 1.0))])
def test_a_law_of_the_wrong_scale_is_caught(family: str, stated: float, seen: tuple[float, float]) -> None:
    total = noisy("total", 30_000, family, 900, seed=16, stated=stated)
    n = noisy("n", 1000, family, 30, seed=17, stated=stated)
    for bounds, truth in ((of(average(), total, n), 30), (of(Measure(name="n", bases=("n",)), n), 1000)):
        assert seen[0] < covered(bounds, truth) < seen[1]


# --- against formulas --------------------------------------------------------------------------------------------


def test_a_single_value_has_the_half_width_of_its_law() -> None:
    bounds = one([100.0, 7.0], laplace(10)).intervals(0.9)["n"]
    half = -10 * np.log(0.1)  # P(|X| > t) = exp(-t / scale)
    assert bounds.lower == pytest.approx([100 - half, 7 - half])
    assert bounds.upper == pytest.approx([100 + half, 7 + half])


@pytest.mark.parametrize("n", [1000.0, 120.0, -120.0])
def test_the_interval_of_a_gaussian_ratio_is_fieller_s(n: float) -> None:
    total, sigma_total, sigma_n = 3000.0, 900.0, 20.0
    z2 = stats.norm.ppf(0.975) ** 2
    # Fieller: (total - t n)^2 = z^2 (sigma_total^2 + t^2 sigma_n^2)
    ends = np.sort(np.roots([n**2 - z2 * sigma_n**2, -2 * total * n, total**2 - z2 * sigma_total**2]).real)
    a = Noisy(name="total", values=np.array([total]), law=gaussian(sigma_total))
    b = Noisy(name="n", values=np.array([n]), law=gaussian(sigma_n))
    bounds = of(average(), a, b)
    tolerance = 0.02 * (ends[1] - ends[0])
    assert bounds.lower[0] == pytest.approx(ends[0], abs=tolerance)
    assert bounds.upper[0] == pytest.approx(ends[1], abs=tolerance)


def test_the_interval_of_a_gaussian_sum_is_the_textbook_one() -> None:
    parts = [Noisy(name=name, values=np.array([1.0]), law=gaussian(3.0)) for name in "abcd"]
    measure = Measure(name="s", bases=tuple("abcd"), evaluate=lambda b: b["a"] + b["b"] + b["c"] - b["d"])
    bounds = of(measure, *parts)
    half = stats.norm.ppf(0.975) * 6
    assert [bounds.lower[0], bounds.upper[0]] == pytest.approx([2 - half, 2 + half], abs=0.03 * half)


def test_a_function_of_one_value_takes_the_image_of_its_interval() -> None:
    square = Measure(name="x", bases=("n",), evaluate=lambda b: b["n"] ** 2)
    inside = Noisy(name="n", values=np.array([7.0, 50.0]), law=laplace(10))
    half = -10 * np.log(0.05)
    bounds = of(square, inside)
    assert bounds.lower == pytest.approx([0, (50 - half) ** 2], abs=0.3)  # between the ends of the first is 0
    assert bounds.upper == pytest.approx([(7 + half) ** 2, (50 + half) ** 2])


def test_rounding_takes_nothing_from_an_interval() -> None:
    plain, rounded = (Measure(name="x", bases=("n",), digits=digits) for digits in (None, 1))
    base = Noisy(name="n", values=np.arange(100) * 0.173, law=laplace(1))
    exact, found = of(plain, base), of(rounded, base)
    assert (found.lower <= exact.lower).all()
    assert (found.upper >= exact.upper).all()
    assert np.abs(np.subtract(found, exact)).max() < 0.1


def test_a_divisor_whose_sign_is_open_leaves_the_value_open() -> None:
    share = Measure(name="x", bases=("n",), evaluate=lambda b: 100 / b["n"], denominators=(lambda b: b["n"],))
    bounds = of(share, Noisy(name="n", values=np.array([5.0, 500.0, 0.0, -500.0]), law=laplace(10)))
    assert np.isinf(bounds.lower).tolist() == np.isinf(bounds.upper).tolist() == [True, False, True, False]
    clamped = Measure(name="x", bases=share.bases, evaluate=share.evaluate, denominators=share.denominators, lower=0)
    assert of(clamped, Noisy(name="n", values=np.array([5.0]), law=laplace(10))).lower[0] == 0


def test_a_value_that_most_draws_are_below_is_in_its_interval() -> None:
    """q - m^2 at m = 0, as a variance is published; without the widening the interval ends below it."""
    measure = Measure(name="v", bases=("q", "m"), evaluate=lambda b: b["q"] - b["m"] ** 2)
    q, m = (Noisy(name=name, values=np.array([0.0]), law=laplace(scale)) for name, scale in (("q", 0.1), ("m", 2.0)))
    bounds = of(measure, q, m, level=0.5)
    at = _spread(4096, 2)
    below = q.law.quantile(at[0]) - m.law.quantile(at[1]) ** 2
    assert np.quantile(below, 0.75) < -0.1
    assert bounds.upper[0] == 0
    assert bounds.lower[0] == pytest.approx(np.quantile(below, 0.25), rel=0.01)


# --- how it is done ----------------------------------------------------------------------------------------------


def test_intervals_do_not_change_from_one_look_to_the_next() -> None:
    total = Noisy(name="total", values=np.array([3000.0]), law=laplace(900))
    n = Noisy(name="n", values=np.array([100.0]), law=laplace(22))
    assert of(average(), total, n) == of(average(), total, n)


def test_many_rows_give_what_each_row_gives_alone() -> None:
    values = np.arange(1000.0, 3000.0)
    total, n = Noisy(name="total", values=30 * values, law=laplace(900)), Noisy(name="n", values=values, law=laplace(9))
    together = of_measure(average(), {"total": total, "n": n}, level=0.95)
    for row in (0, 777, 1999):
        alone = Release(parts=(average(),), noisy=(total, n), cost=PureLoss(1)).take([row]).intervals()["average"]
        assert (alone.lower[0], alone.upper[0]) == (together.lower[row], together.upper[row])


def test_no_rows_give_no_intervals() -> None:
    bounds = one(np.empty(0), laplace(1)).intervals()["n"]
    assert bounds.lower.shape == bounds.upper.shape == (0,)


@pytest.mark.parametrize("dimensions", [2, 3, 6])
def test_points_are_spread_evenly(dimensions: int) -> None:
    points = _spread(4096, dimensions)
    assert points.shape == (dimensions, 4096)
    assert points.min() > 0
    assert points.max() < 1
    assert np.sort(points[0]) == pytest.approx((np.arange(4096) + 0.5) / 4096, abs=2e-3)
    # Half of the points of any two coordinates lie below their diagonal, up to a few in a thousand.
    assert np.mean(points[0] < points[1]) == pytest.approx(0.5, abs=5e-3)


@pytest.mark.parametrize("level", [0, 1, 1.0, 95, -0.1, True, "0.95", float("nan")])
def test_a_level_is_a_probability(level: Any) -> None:
    with pytest.raises(InvalidParameterError, match="between 0 and 1"):
        one([1.0], laplace(1)).intervals(level)


def test_draws_do_not_reach_extreme_levels() -> None:
    n, total = (Noisy(name=name, values=np.array([100.0]), law=laplace(1)) for name in ("n", "total"))
    with pytest.raises(InvalidParameterError, match="lower level"):
        of(average(), total, n, level=0.99999)
    assert np.isfinite(one([1.0], laplace(1)).intervals(0.99999)["n"].upper[0])
