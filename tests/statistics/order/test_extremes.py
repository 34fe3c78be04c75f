import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.statistics.order import Maximum, Minimum, maximum, minimum

VALUES = np.random.default_rng(1).uniform(20, 60, 2000)


def test_extremes_are_near_the_ends() -> None:
    low = minimum(VALUES, bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    high = maximum(VALUES, bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    assert 19 < low.scalar() < 22
    assert 58 < high.scalar() < 61


def test_an_extreme_is_known_from_one_side() -> None:
    """At level 0.95: fewer than 44 of 60 has chance 1e-8; measured are all."""
    covered = np.zeros(2)
    for seed in range(60):
        values = np.random.default_rng(seed).uniform(20, 60, 300)
        low = Minimum(bounds=(0, 100), epsilon=1)(values, bits=DeterministicBits(seed)).intervals()["minimum"]
        high = Maximum(bounds=(0, 100), epsilon=1)(values, bits=DeterministicBits(seed)).intervals()["maximum"]
        assert low.lower[0] == 0
        assert high.upper[0] == pytest.approx(100)
        covered += [low.upper[0] >= values.min(), high.lower[0] <= values.max()]
    assert covered.min() >= 44


@pytest.mark.parametrize("size", [0, 1, 50])
@pytest.mark.parametrize("statistic", [Minimum, Maximum])
@pytest.mark.parametrize("epsilon", ["1/1000000", 1, 1000])
@pytest.mark.filterwarnings("error")
def test_fewer_rows_than_ranks_aimed_aside_have_an_expected_error(
    statistic: type[Minimum], size: int, epsilon: object
) -> None:
    assert 0 <= statistic(bounds=(0, 1), epsilon=epsilon).expected_error(size) <= size


@pytest.mark.parametrize("statistic", [Minimum, Maximum])
def test_the_expected_error_counts_the_ranks_aimed_aside(statistic: type[Minimum]) -> None:
    plan = statistic(bounds=(0, 1000), epsilon=1, interval=None)
    values = np.arange(1000) + 0.5
    ranks = [np.searchsorted(values, plan(values, bits=DeterministicBits(seed)).scalar()) for seed in range(300)]
    truth = 0 if statistic is Minimum else 1000
    # the error is a constant of 16 ranks and a deviation of 3: its relative standard error is 1%
    assert np.sqrt(np.mean((np.array(ranks) - truth) ** 2)) == pytest.approx(plan.expected_error(1000), rel=0.06)


@pytest.mark.parametrize("values", [[], [5.0], [5.0] * 3, [np.nan]])
def test_few_rows_give_an_answer(values: list[float]) -> None:
    for question in (minimum, maximum):
        assert 0 <= question(values, bounds=(0, 10), epsilon=1, bits=DeterministicBits(1)).scalar() <= 10
