"""The staircase law: draws against the enumerated law, closed forms against sums, the best centre by brute force."""

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.noise.staircase import Stairs
from tests.noise.test_truncated_laplace import ALARM, p_value

CASES = [
    Stairs(rate=Fraction(1), step=5, centre=2),
    Stairs(rate=Fraction(3), step=4, centre=1),
    Stairs(rate=Fraction(1, 10), step=3, centre=3),
    Stairs(rate=Fraction(2), step=1, centre=1),
    Stairs(rate=Fraction(8), step=1000, centre=20),
]


def law(stairs: Stairs) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    reach = 40_000
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-float(stairs.rate) * ((np.abs(k) + stairs.step - stairs.centre) // stairs.step))
    return k, weights / weights.sum()


@pytest.mark.parametrize("stairs", CASES, ids=str)
def test_draws_follow_the_law(stairs: Stairs) -> None:
    draws = stairs.sample(size=300_000, bits=DeterministicBits(1))
    assert p_value(draws.astype(np.int64), *law(stairs)) > ALARM


@pytest.mark.parametrize(
    "twin",
    [
        Stairs(rate=Fraction(13, 10), step=5, centre=2),
        Stairs(rate=Fraction(1), step=5, centre=3),
        Stairs(rate=Fraction(1), step=4, centre=2),
    ],
    ids=str,
)
def test_another_staircase_is_rejected(twin: Stairs) -> None:
    draws = CASES[0].sample(size=300_000, bits=DeterministicBits(2)).astype(np.int64)
    assert p_value(draws, *law(twin)) < ALARM


@pytest.mark.parametrize("stairs", CASES, ids=str)
def test_closed_forms_agree_with_the_summed_law(stairs: Stairs) -> None:
    k, chances = law(stairs)
    assert stairs.standard_deviation() == pytest.approx(math.sqrt((chances * k**2).sum()))
    assert stairs.mean_size() == pytest.approx((chances * np.abs(k)).sum())
    p = np.linspace(0.0013, 0.9987, 501)
    assert np.array_equal(stairs.quantile(p), k[np.searchsorted(np.cumsum(chances), p)])
    for t in range(60):
        assert float(stairs.above(t)) == pytest.approx(chances[np.abs(k) > t].sum(), rel=1e-9)
        assert (stairs.above(t + 1) + 2 * stairs.mass(t + 1)).overlaps(stairs.above(t))
    assert stairs.quantile(np.array([0.0, 1.0])).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1), Fraction(3), Fraction(8)], ids=str)
@pytest.mark.parametrize("step", [1, 2, 7, 60])
def test_the_best_centre_is_that_of_brute_force(rate: Fraction, step: int) -> None:
    sizes = [Stairs(rate=rate, step=step, centre=centre).mean_size() for centre in range(1, step + 1)]
    assert Stairs.best(rate=rate, step=step).mean_size() == pytest.approx(min(sizes), rel=1e-12)


@pytest.mark.parametrize("epsilon", [1, 3, 8])
def test_many_integers_to_a_step_give_the_real_staircase(epsilon: int) -> None:
    """Golden: gamma = 1 / (1 + e^(epsilon/2)), E|X| = e^(epsilon/2) / (e^epsilon - 1) steps (noise.md section 3)."""
    step = 10**6
    best = Stairs.best(rate=Fraction(epsilon), step=step)
    assert best.centre / step == pytest.approx(1 / (1 + math.exp(epsilon / 2)), abs=2 / step)
    assert best.mean_size() / step == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon), rel=1e-6)


def test_large_steps_give_python_ints() -> None:
    draws = Stairs(rate=Fraction(1, 2**57), step=2**60, centre=5).sample(size=3, bits=DeterministicBits(3))
    assert draws.dtype == object
    assert all(type(value) is int for value in draws)


def test_a_steep_staircase_is_its_top_step() -> None:
    stairs = Stairs(rate=Fraction(2**57), step=2**60, centre=5)
    assert set(stairs.sample(size=400, bits=DeterministicBits(4)).tolist()) == set(range(-4, 5))
    assert stairs.sample().shape == ()
    assert stairs.mean_size() == pytest.approx(20 / 9)


@pytest.mark.parametrize(
    "given",
    [
        {"rate": 0.5},
        {"rate": Fraction(0)},
        {"step": 0},
        {"step": 2.0},
        {"step": 2**60 + 1},
        {"centre": 0},
        {"centre": 6},
        {"centre": True},
    ],
)
def test_wrong_parameters_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(given))} must be"):
        Stairs(**{"rate": Fraction(1), "step": 5, "centre": 2, **given})
