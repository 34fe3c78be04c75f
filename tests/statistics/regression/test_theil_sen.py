from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.regression.sufficient import SufficientRegression
from deniable.statistics.regression.theil_sen import TheilSen, _crossings
from tests.mechanisms.ranks.laws import distances
from tests.statistics.regression.data import GENERATOR, least_squares, line_error, rows

PUBLIC = {"bounds": [(0, 10)], "target_bounds": (-10, 30)}


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_intervals_hold_and_errors_are_small(relation) -> None:  # type: ignore[no-untyped-def]
    plan = TheilSen(**PUBLIC, relation=relation, epsilon=1)  # type: ignore[arg-type]
    without = TheilSen(**PUBLIC, relation=relation, epsilon=1, interval=None)  # type: ignore[arg-type]
    assert without.expected_error(2000) == pytest.approx(plan.expected_error(2000) / 2)
    covered, errors = [], []
    for seed in range(20):
        x, y = rows(2000, 1)
        answer = plan((x, y), bits=DeterministicBits(seed))
        lower, upper = answer.intervals(0.95)["coefficient"]
        covered.append((lower <= [3, 1.5]) & (upper >= [3, 1.5]))
        errors.append(line_error(answer, x, least_squares(x, y), 20))
    assert np.mean(covered) > 0.95  # it is a bound: 1 here
    assert np.sqrt(np.mean(errors)) < 0.01
    assert np.isinf(answer.intervals(0.99)["coefficient"].upper).all()


def test_rank_errors_are_as_expected() -> None:
    """Even targets at two places, where the line is read: half of the pairs have equal features and are left out, so an
    error in ranks is twice the share. 120 heights: a standard deviation is off by 6.5%, and its prediction is rough."""
    plan = TheilSen(bounds=[(0, 1)], target_bounds=(0, 1), epsilon="0.5", interval=None, matchings=4)
    places = []
    for seed in range(60):
        y = GENERATOR.uniform(0, 1, 4000)
        answer = plan((np.where(np.arange(4000) % 2, 0.25, 0.75), y), bits=DeterministicBits(seed))
        intercept, slope = answer["coefficient"]
        places.extend(float(intercept + slope * place) for place in (0.25, 0.75))
    spread = np.std(places)
    assert spread == pytest.approx(np.hypot(2 * plan.expected_error(4000), 0.5 / np.sqrt(2000)), rel=0.4)


def test_outliers_hardly_move_the_line() -> None:
    x, y = rows(4000, 1)
    y[:400] = 30
    robust = TheilSen(**PUBLIC, epsilon=2)((x, y), bits=DeterministicBits(1))["coefficient"]  # type: ignore[arg-type]
    squares = SufficientRegression(**PUBLIC, epsilon=2)((x, y), bits=DeterministicBits(1))["coefficient"]  # type: ignore[arg-type]
    middle = np.array([1, 5])
    assert abs(robust @ middle - 10.5) < abs(squares @ middle - 10.5) / 2


def test_the_price_is_that_of_the_matchings() -> None:
    options = {**PUBLIC, "epsilon": 1, "matchings": 7, "rows": 2, "interval": None}
    assert TheilSen(**options)._draws[0].rate == Fraction(1, 4 * 11)  # type: ignore[arg-type]
    assert TheilSen(**options, relation=Replace)._draws[0].rate == Fraction(1, 4 * 14)  # type: ignore[arg-type]


def from_median(heights: np.ndarray) -> np.ndarray:
    """D of every point of a grid of 41, from the median rank, in parts of ranks as for the estimate."""
    return distances(heights, len(heights) / 2, 41, True)


def test_the_whole_law_keeps_its_promise_for_a_ring_of_four_rows() -> None:
    """All orders of three rows and of four on a small grid, one ring, one median, no moves: the law is the average
    over orders. Logarithms of chances move by at most 2 rate reach; the twin, a reach of 0.9 instead of 3/2, fails."""
    x, y, rate = np.array([0.9, 0.5, 0.6, 0.5]), np.array([0.9, 0.9, -0.9, 1.0]), 2.0

    def law(rows: tuple[int, ...]) -> np.ndarray:
        total = np.zeros(41)
        for order in permutations(rows):
            first, second = np.array(order), np.roll(order, -1)
            apart = x[first] != x[second]
            found = _crossings(x, y, first[apart], second[apart], 0.5)
            chances = np.exp(-rate * from_median(np.rint((np.clip(found, -1, 1) + 1) * 20).astype(np.int64)))
            total += chances / chances.sum()
        return total / total.sum()

    tables = [tuple(row for row in range(4) if row != left) for left in range(4)]
    largest = max(np.abs(np.log(law((0, 1, 2, 3)) / law(table))).max() for table in tables)
    assert 0.9 < largest / (2 * rate) <= 1.5


def test_pairs_with_equal_features_are_left_out() -> None:
    """All rows on one line and half of the pairs without one: the line was lost at this price when they counted."""
    x = np.repeat([0.0, 10.0], 200)
    errors = []
    for seed in range(15):
        answer = TheilSen(**PUBLIC, epsilon=1, interval=None)((x, 2 * x + 1), bits=DeterministicBits(seed))  # type: ignore[arg-type]
        intercept, slope = answer["coefficient"]
        errors.append(max(abs(intercept + slope * place - 1 - 2 * place) for place in (2.5, 7.5)))
    assert np.median(errors) < 20 / 64
    same = TheilSen(**PUBLIC, epsilon=1)((np.full(9, 3.0), np.arange(9.0)), bits=DeterministicBits(1))  # type: ignore[arg-type]
    assert len(same["coefficient"]) == 2


@pytest.mark.parametrize("wrong", [{"bounds": [(0, 1)] * 2}, {"matchings": 0}, {"interval": 1.0}, {"interval": True}])
def test_bad_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        TheilSen(**{**PUBLIC, "epsilon": 1, **wrong})  # type: ignore[arg-type]


def test_rows_on_one_line_find_it() -> None:
    """400 rows at y = 2 x + 1: their heights are one point of 2^31, and slopes were -3, 3.4, -1.6. Half of all answers
    are within 1/100 of half the bounds, and all intervals hold, the line's ends included."""
    errors = []
    for seed in range(15):
        x = GENERATOR.uniform(0, 10, 400)
        answer = TheilSen(**PUBLIC, epsilon=1)((x[:, np.newaxis], 2 * x + 1), bits=DeterministicBits(seed))  # type: ignore[arg-type]
        intercept, slope = answer["coefficient"]
        errors.append(max(abs(intercept + slope * place - 1 - 2 * place) for place in (2.5, 7.5)))
        lower, upper = answer.intervals(0.95)["coefficient"]
        assert (lower <= [1, 2]).all()
        assert (upper >= [1, 2]).all()
    assert np.median(errors) < 20 / 100


def test_heights_move_by_a_64th_of_half_the_bounds_at_most() -> None:
    """At a large epsilon the medians of the moved heights come out: within the move of the line, and not on it."""
    x = GENERATOR.uniform(0, 10, 400)
    plan = TheilSen(**PUBLIC, epsilon=10_000, interval=None)  # type: ignore[arg-type]
    answer = plan((x[:, np.newaxis], 2 * x + 1), bits=DeterministicBits(1))
    intercept, slope = answer["coefficient"]
    away = [abs(intercept + slope * place - 1 - 2 * place) for place in (2.5, 7.5)]
    assert 1e-6 < max(away) < 20 / 64 / 10
