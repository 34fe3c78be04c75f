"""Snapping: the grid, the law by real integrals, what the original pays for floats, bad input."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace, Snapping
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, LaplaceLoss, Replace, Sensitivity, of_count

COUNT = of_count(rows=1, groups=1, relation=AddRemove)


@pytest.mark.parametrize(
    ("scale", "grid"),
    [("1/3", 1), ("1", 1), ("1.01", 2), ("2", 2), ("2.5", 4), ("4", 4), ("1000", 1024), ("1025", 2048)],
)
def test_the_grid_is_the_least_power_of_two_that_is_not_below_the_scale(scale: str, grid: int) -> None:
    assert Snapping(scale=scale, bound=9).grid == grid


@pytest.mark.parametrize(("scale", "bound", "exact"), [("5/2", 30, 7), ("1/3", 3, -2), ("3", 1000, 1)])
def test_the_law_is_that_of_a_rounded_real_number(scale: str, bound: int, exact: int) -> None:
    """Integrals over the cells; 200,000 draws, each cell within six deviations and 10^-4: one seed in 10^7."""
    mechanism = Snapping(scale=scale, bound=bound)
    draws = mechanism.release(np.full(200_000, exact), bits=DeterministicBits(1)).value

    def cdf(x: float) -> float:
        z = (x - exact) / float(mechanism.scale)
        return 0.5 * np.exp(z) if z < 0 else 1 - 0.5 * np.exp(-z)

    grid = mechanism.grid
    inside = [k for k in range(-(bound // grid) * grid, bound + 1, grid) if abs(k) < bound]
    cells = {k: cdf(k + grid / 2) - cdf(k - grid / 2) for k in inside}
    cells[bound] = 1 - cdf(inside[-1] + grid / 2)
    cells[-bound] = cdf(inside[0] - grid / 2)
    assert set(np.unique(draws)) <= set(cells)
    for value, chance in cells.items():
        assert (draws == value).mean() == pytest.approx(chance, abs=6 * np.sqrt(chance / 200_000) + 1e-4)


def test_epsilon_is_not_inflated_by_the_bound() -> None:
    """Mironov's guarantee for floats grows with the bound; whole numbers pay nothing."""
    for bound in (10, 2**58):
        mechanism = Snapping.calibrated(COUNT, epsilon="1/2", bound=bound)
        assert mechanism.privacy_loss(COUNT).pure_epsilon == Fraction(1, 2)
        assert mechanism.privacy_loss(COUNT).delta("1/4") == LaplaceLoss(2).delta("1/4")


def test_the_loss_holds_for_the_relation_of_the_sensitivity() -> None:
    reach = of_count(rows=2, groups=1, relation=Replace)
    assert Snapping(scale=4, bound=9).privacy_loss(reach).relations == {Replace}
    assert Snapping(scale=4, bound=9).privacy_loss(reach).pure_epsilon == 1


def test_rounding_costs_accuracy_that_laplace_does_not_pay() -> None:
    exact = np.arange(-5000, 5000)
    snapped = Snapping(scale=33, bound=10**6).release(exact, bits=DeterministicBits(2)).value - exact
    plain = Laplace(scale=33).release(exact, bits=DeterministicBits(2)).value - exact
    assert snapped.std() > 1.05 * plain.std()


def test_inputs_and_outputs_are_clamped() -> None:
    mechanism = Snapping(scale="1/10", bound=5)
    noisy = mechanism.release(np.array([2**90, -(2**90), 3], dtype=object), bits=DeterministicBits(3))
    assert noisy.value.tolist() == [5, -5, 3]
    assert not noisy.safe
    wide = Snapping(scale=2**56, bound=2**58).release(np.zeros(2000, dtype=int), bits=DeterministicBits(4)).value
    assert wide.dtype == np.int64
    assert np.abs(wide).max() == 2**58
    assert not (wide % 2**56).any()


@pytest.mark.parametrize("given", [{"scale": 0}, {"scale": 2**57}, {"bound": 0}, {"bound": 2**59}, {"bound": 1.5}])
def test_bad_parameters_are_refused_before_anything_is_spent(given: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError, match=f"{next(iter(given))} must be"):
        Snapping(**{"scale": 1, "bound": 5, **given})


def test_no_change_needs_no_noise() -> None:
    still = Sensitivity(l1=0, l2_squared=0, linf=0, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="sensitivity is 0"):
        Snapping.calibrated(still, epsilon=1, bound=5)


@pytest.mark.parametrize(("scale", "bound"), [("5/2", 30), ("1/3", 3), ("3", 1000), ("7", 10)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_error_bars_hold_for_every_secret_value(scale: str, bound: int, level: float) -> None:
    """By integrals over the cells. The twin: a t that is smaller by grid + 2 steps fails for some value."""
    mechanism = Snapping(scale=scale, bound=bound)
    grid, scale_, t = mechanism.grid, float(mechanism.scale), mechanism.half_width(level)

    def within(exact: int, t: int) -> float:
        inside = np.arange(-(bound // grid) * grid, bound + 1, grid)
        inside = inside[np.abs(inside) < bound]
        edges = stats.laplace.cdf(np.append(inside - grid / 2, inside[-1] + grid / 2) - exact, scale=scale_)
        masses = np.concatenate([[edges[0]], np.diff(edges), [1 - edges[-1]]])
        places = np.concatenate([[-bound], inside, [bound]])
        return float(masses[np.abs(places - exact) <= t].sum())

    chances = [within(exact, t) for exact in range(-bound, bound + 1)]
    assert min(chances) >= level - 1e-12
    if t < 2 * bound:
        assert min(within(exact, t - grid - 2) for exact in range(-bound, bound + 1)) < level
