from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.statistics.order.grid import LARGEST_SIZE, ValueGrid


def test_a_declared_step_gives_its_multiples() -> None:
    grid = ValueGrid.between((0.05, 1), 0.1)
    assert grid == ValueGrid(first=Fraction(1, 10), step=Fraction(1, 10), size=10)
    assert grid.values(np.arange(10)).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    assert grid.codes(np.array([-np.inf, 0.0, 0.31, 0.39, 1.0, 1e300, np.inf])).tolist() == [0, 0, 2, 3, 9, 9, 9]


@pytest.mark.parametrize("bounds", [(0, 1), (-1e-9, 1e9), (-1e308, 1e307), (1e6, 1e6 + 1), (-40.0, 64.0)])
def test_an_undeclared_step_is_fine_whatever_the_bounds(bounds: tuple[float, float]) -> None:
    grid = ValueGrid.between(bounds)
    assert 0.9e9 <= grid.size <= 10**10 + 1
    last = grid.first + grid.step * (grid.size - 1)
    assert Fraction(str(bounds[0])) <= grid.first
    assert Fraction(str(bounds[1])) - grid.step <= last <= Fraction(str(bounds[1]))
    points = np.sort(np.random.default_rng(1).uniform(0, 1, 1000)) * (bounds[1] - bounds[0]) + bounds[0]
    codes = grid.codes(points)
    assert np.all(np.diff(codes) >= 0)
    assert np.abs(grid.values(codes) - points).max() <= 1.01 * float(grid.step)


def test_integers_beyond_floats_stay_exact() -> None:
    grid = ValueGrid.between((2**60, 2**60 + 10), 1)
    assert grid.codes(np.array([2**60 + 1, 2**60 + 3, 0, 2**62])).tolist() == [1, 3, 0, 10]
    assert ValueGrid.between((-(2**61), 2**61 - 1), 1).codes(np.array([-(2**61), 0, 2**61 - 1])).tolist() == [
        0,
        2**61,
        2**62 - 1,
    ]
    assert ValueGrid.between((-10, 10), 5).codes(np.array([-9, -8, -7, 0, 3, 4, 100])).tolist() == [0, 0, 1, 2, 3, 3, 4]


def test_integers_on_a_fine_grid_are_read_as_floats() -> None:
    assert ValueGrid.between((0, 1), Fraction(1, 4)).codes(np.array([-5, 0, 1, 7])).tolist() == [0, 0, 4, 4]


def test_a_grid_beyond_floats_clamps_inside() -> None:
    grid = ValueGrid.between((0, 2**61 + 1), 1)
    assert grid.codes(np.array([0.0, np.inf])).tolist() == [0, 2**61]


@pytest.mark.parametrize(("bounds", "step"), [((0.1, 0.9), 1), ((0, LARGEST_SIZE), 1), ((0, 1), 1e-30), ((0, 1), 0)])
def test_a_grid_without_points_or_with_too_many_is_refused(bounds: tuple[float, float], step: object) -> None:
    with pytest.raises(InvalidParameterError, match=r"step|bounds"):
        ValueGrid.between(bounds, step)


def test_found_bounds_never_raise() -> None:
    assert ValueGrid.around((0.25, 0.5), 1) == ValueGrid(first=Fraction(0), step=Fraction(1), size=2)
    assert ValueGrid.around((-(2.0**60), 2.0**60), Fraction(1, 1000)).size < LARGEST_SIZE
    assert ValueGrid.around((0.25, 0.5)) == ValueGrid.between((0.25, 0.5))


def test_the_middle_is_in_the_middle() -> None:
    assert ValueGrid.between((0, 10), 1).middle == 5.0


@pytest.mark.parametrize(
    ("bounds", "levels"), [((0, 100), 7), ((0, 500_000), 7), ((18, 90), 8), ((0, 1), 7), ((0, 990), 7), ((0, 9), 7)]
)
def test_fewer_than_a_hundred_round_points_weigh_more_where_they_are_the_whole_numbers(
    bounds: tuple[float, float], levels: int
) -> None:
    """Multiples of 20,000 between 0 and 500,000 would draw answers from afar: 1.4 times the error on PUMS incomes."""
    grid = ValueGrid.between(bounds)
    assert grid.levels == levels
    assert (grid.step * 10**levels <= Fraction(bounds[1] - bounds[0]) / 10**2) == (levels == 7)
