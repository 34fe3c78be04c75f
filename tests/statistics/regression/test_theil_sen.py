import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.regression import SufficientRegression, TheilSen
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
    """Even targets at two places, where the line is read: half of the pairs are vertical and give the mean of two
    targets, half give one target. 120 heights: a standard deviation is off by 6.5%, and its prediction is rough."""
    plan = TheilSen(bounds=[(0, 1)], target_bounds=(0, 1), epsilon="0.5", interval=None, matchings=4)
    places = []
    for seed in range(60):
        y = GENERATOR.uniform(0, 1, 4000)
        answer = plan((np.where(np.arange(4000) % 2, 0.25, 0.75), y), bits=DeterministicBits(seed))
        intercept, slope = answer["coefficient"]
        places.extend(float(intercept + slope * place) for place in (0.25, 0.75))
    spread = np.std(places)
    # the density of heights at the median: half of pairs vertical (triangular, 2), half even (1): 1.5
    assert spread * 1.5 == pytest.approx(np.hypot(plan.expected_error(4000), 0.5 / np.sqrt(4000)), rel=0.4)


def test_outliers_hardly_move_the_line() -> None:
    x, y = rows(4000, 1)
    y[:400] = 30
    robust = TheilSen(**PUBLIC, epsilon=2)((x, y), bits=DeterministicBits(1))["coefficient"]  # type: ignore[arg-type]
    squares = SufficientRegression(**PUBLIC, epsilon=2)((x, y), bits=DeterministicBits(1))["coefficient"]  # type: ignore[arg-type]
    middle = np.array([1, 5])
    assert abs(robust @ middle - 10.5) < abs(squares @ middle - 10.5) / 2


def test_the_reach_is_that_of_the_matchings() -> None:
    options = {**PUBLIC, "epsilon": 1, "matchings": 7, "rows": 2}
    assert TheilSen(**options)._reach == TheilSen(**options, relation=Replace)._reach == 14  # type: ignore[arg-type]


def test_one_row_moves_the_distance_of_every_point_by_at_most_the_reach() -> None:
    """Pairs before and after: one exchanged or one added, over all heights of a small grid."""
    grid = np.arange(6)

    def distances(heights: np.ndarray) -> np.ndarray:
        below, upto = (heights[:, None] < grid).sum(axis=0), (heights[:, None] <= grid).sum(axis=0)
        return np.maximum(0, np.maximum(below - len(heights) / 2, len(heights) / 2 - upto))

    largest = 0.0
    for _ in range(3000):
        before = GENERATOR.integers(0, 6, size=GENERATOR.integers(1, 6))
        added, exchanged = np.append(before, GENERATOR.integers(0, 6)), before.copy()
        exchanged[0] = GENERATOR.integers(0, 6)
        for after in (added, exchanged):
            largest = max(largest, float(np.abs(distances(before) - distances(after)).max()))
    assert largest == 1


@pytest.mark.parametrize("wrong", [{"bounds": [(0, 1)] * 2}, {"matchings": 0}, {"interval": 1.0}, {"interval": True}])
def test_bad_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        TheilSen(**{**PUBLIC, "epsilon": 1, **wrong})  # type: ignore[arg-type]


def test_rows_on_one_line_find_it() -> None:
    """400 rows at y = 2 x + 1: their heights are one point of 2^31, and slopes were -3, 3.4, -1.6. Half of all answers
    are within 1/512 of half the bounds, and all intervals hold, the line's ends included."""
    errors = []
    for seed in range(15):
        x = GENERATOR.uniform(0, 10, 400)
        answer = TheilSen(**PUBLIC, epsilon=1)((x[:, np.newaxis], 2 * x + 1), bits=DeterministicBits(seed))  # type: ignore[arg-type]
        intercept, slope = answer["coefficient"]
        errors.append(max(abs(intercept + slope * place - 1 - 2 * place) for place in (2.5, 7.5)))
        lower, upper = answer.intervals(0.95)["coefficient"]
        assert (lower <= [1, 2]).all()
        assert (upper >= [1, 2]).all()
    assert np.median(errors) < 20 / 512


def test_heights_move_by_a_five_hundredth_of_half_the_bounds_at_most() -> None:
    """At a large epsilon the medians of the moved heights come out: within the move of the line, and not on it."""
    x = GENERATOR.uniform(0, 10, 400)
    plan = TheilSen(**PUBLIC, epsilon=10_000, interval=None)  # type: ignore[arg-type]
    answer = plan((x[:, np.newaxis], 2 * x + 1), bits=DeterministicBits(1))
    intercept, slope = answer["coefficient"]
    away = [abs(intercept + slope * place - 1 - 2 * place) for place in (2.5, 7.5)]
    assert 1e-6 < max(away) < 20 / 512 / 10
