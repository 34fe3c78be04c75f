import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.sums import Sum
from deniable.statistics.sums import sum as private_sum


@pytest.mark.parametrize(
    ("bounds", "relation", "rows", "reach"),
    [
        ((0, 10), AddRemove, 1, 10),
        ((4, 10), AddRemove, 1, 10),
        ((4, 10), Replace, 1, 6),
        ((4, 10), Replace, 2, 20),
        ((-10, -4), AddRemove, 3, 30),
        ((-10, 4), AddRemove, 1, 10),
        ((-10, 4), Replace, 2, 28),
    ],
)
def test_noise_is_that_of_what_one_unit_moves(
    bounds: tuple[int, int], relation: Relation, rows: int, reach: int
) -> None:
    statistic = Sum(bounds=bounds, relation=relation, rows=rows, epsilon=1)
    assert statistic.expected_error(99) == pytest.approx(reach * np.sqrt(2), rel=1e-6)


def test_sums_of_many_rows_are_exact_up_to_the_noise() -> None:
    values = np.random.default_rng(1).normal(size=100_003)
    for bounds in ((-1, 2), (0, 2), (-3, 1)):
        answer = private_sum(values, bounds=bounds, epsilon=10_000, bits=DeterministicBits(1))
        assert answer.scalar() == pytest.approx(np.clip(values, *bounds).sum(), abs=0.01)


def test_a_sum_of_one_sign_is_never_of_the_other() -> None:
    for seed in range(20):
        assert private_sum([], bounds=(0, 9), epsilon="0.1", bits=DeterministicBits(seed)).scalar() >= 0
        assert private_sum([], bounds=(-9, -2), epsilon="0.1", bits=DeterministicBits(seed)).scalar() <= 0
    negative = [private_sum([], bounds=(-1, 9), epsilon=1, bits=DeterministicBits(s)).scalar() < 0 for s in range(20)]
    assert any(negative)


def test_under_replace_a_sum_lies_between_those_of_the_bounds() -> None:
    for seed in range(20):
        answer = private_sum([5] * 3, bounds=(4, 6), epsilon="0.1", relation=Replace, bits=DeterministicBits(seed))
        assert 12 <= answer.scalar() <= 18
