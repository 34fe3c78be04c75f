"""Whole numbers are the nearest of all that have the given sums."""

from itertools import product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats, Integers
from deniable.synthesis.hierarchy.integers import nearest_with_margins, nearest_with_sum


def test_lists_are_the_nearest_with_their_sum() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        points = 2 * random.normal(size=(1, random.integers(1, 5)))
        total = int(random.integers(0, 6))
        found, shift = nearest_with_sum(points, np.array([total]))
        every = [each for each in product(range(total + 1), repeat=points.shape[1]) if sum(each) == total]
        least = min(((np.array(each) - points[0]) ** 2).sum() for each in every)
        assert found.sum() == total
        assert ((found - points) ** 2).sum() == pytest.approx(least)
        moved = points + shift[:, None]  # rounds to the numbers
        assert np.all((np.abs(found - moved) <= 0.5 + 1e-9) | ((found == 0) & (moved <= 0.5)))


def minimum_distance(points: Floats, rows: Integers, columns: Integers) -> float:
    """Squared distance of the nearest table, found by trying all."""
    lists = [
        [each for each in product(range(total + 1), repeat=len(columns)) if sum(each) == total]
        for total in rows.tolist()
    ]
    tables = (np.array(each) for each in product(*lists))
    return min(((table - points) ** 2).sum() for table in tables if np.array_equal(table.sum(axis=0), columns))


@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (3, 2), (1, 3), (3, 1)])
def test_tables_are_the_nearest_with_their_margins(shape: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    for _ in range(40):
        true = random.integers(0, 3, size=shape)
        points = 1.5 * random.normal(size=shape) + true * random.integers(0, 2)
        found = nearest_with_margins(points[None], true.sum(axis=1)[None], true.sum(axis=0)[None])[0]
        assert found.min() >= 0
        assert np.array_equal(found.sum(axis=1), true.sum(axis=1))
        assert np.array_equal(found.sum(axis=0), true.sum(axis=0))
        least = minimum_distance(points, true.sum(axis=1), true.sum(axis=0))
        assert ((found - points) ** 2).sum() == pytest.approx(least)


def cheapest_cycle(points: Floats, numbers: Integers) -> float:
    """Least cost of moving one unit around columns of a table and back: below 0 if a nearer table has its margins."""
    more = numbers - points + 0.5
    less = np.where(numbers > 0, points - numbers + 0.5, np.inf)
    costs = (less[:, :, None] + more[:, None, :]).min(axis=0)
    for middle in range(costs.shape[0]):  # Floyd and Warshall
        costs = np.minimum(costs, costs[:, middle, None] + costs[None, middle, :])
    return float(costs.diagonal().min())


@pytest.mark.parametrize("noise", [0.5, 3, 30])
def test_no_unit_can_move_in_a_circle_for_less(noise: float) -> None:
    """Large tables, by the certificate of least cost; one unit moved around three columns is noticed."""
    random = np.random.default_rng(4)
    true = random.poisson(2.0, size=(6, 40, 25)) * (random.random((6, 40, 25)) < 0.5)
    points = true + noise * random.normal(size=true.shape)
    nearest = nearest_with_margins(points, true.sum(axis=2), true.sum(axis=1))
    for table, numbers in zip(points, nearest, strict=True):
        assert cheapest_cycle(table, numbers) > -1e-9
    moved = nearest[0].copy()
    first, second = np.argwhere(moved > 0)[[0, -1]]
    moved[tuple(first)] -= 1
    moved[first[0], second[1]] += 1
    moved[tuple(second)] -= 1
    moved[second[0], first[1]] += 1
    assert cheapest_cycle(points[0], moved) < 0


def test_many_tables_at_once_are_found_one_by_one() -> None:
    random = np.random.default_rng(2)
    true = random.poisson(1.0, size=(20, 12, 9)) * (random.random((20, 12, 9)) < 0.4)
    points = true + random.normal(size=true.shape)
    together = nearest_with_margins(points, true.sum(axis=2), true.sum(axis=1))
    for index in range(20):
        table = true[index][None]
        alone = nearest_with_margins(points[index][None], table.sum(axis=2), table.sum(axis=1))[0]
        distances = [((each - points[index]) ** 2).sum() for each in (alone, together[index])]
        assert distances[0] == pytest.approx(distances[1])
    assert np.array_equal(together.sum(axis=2), true.sum(axis=2))
    assert np.array_equal(together.sum(axis=1), true.sum(axis=1))


@pytest.mark.parametrize("scale", [1, 10**6, 2**40])
@pytest.mark.parametrize("spread", [0, 1, 10**6])
def test_points_that_are_far_from_the_margins_are_moved_there(scale: int, spread: int) -> None:
    """Few large counts anywhere, points that know nothing of them: units would move one by one for hours."""
    random = np.random.default_rng(3)
    true = (random.random((2, 30, 20)) < 0.05) * random.integers(1, scale + 1, size=(2, 30, 20))
    points = spread * random.normal(size=true.shape) - scale
    found = nearest_with_margins(points, true.sum(axis=2), true.sum(axis=1))
    assert found.min() >= 0
    assert np.array_equal(found.sum(axis=2), true.sum(axis=2))
    assert np.array_equal(found.sum(axis=1), true.sum(axis=1))


@pytest.mark.parametrize(("rows", "columns"), [([1, 2], [2, 2]), ([-1, 2], [0, 1])])
def test_margins_that_no_table_has_are_refused(rows: list[int], columns: list[int]) -> None:
    with pytest.raises(InvalidParameterError, match="equal in total"):
        nearest_with_margins(np.zeros((1, 2, 2)), np.array([rows]), np.array([columns]))


def test_entries_that_must_be_zero_are() -> None:
    points = np.array([[[2.0, -np.inf], [1.0, 1.0]]])
    found = nearest_with_margins(points, np.array([[3, 2]]), np.array([[4, 1]]))
    assert found.tolist() == [[[3, 0], [1, 1]]]
    assert nearest_with_sum(np.array([[-np.inf, -np.inf]]), np.array([0]))[0].tolist() == [[0, 0]]
