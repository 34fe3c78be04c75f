from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.order import maximum, minimum
from deniable.statistics.order.extremes import Maximum, Minimum
from deniable.statistics.order.quantile import Quantile

VALUES = np.random.default_rng(1).uniform(20, 60, 2000)


def test_extremes_are_near_the_ends() -> None:
    low = minimum(VALUES, bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    high = maximum(VALUES, bounds=(0, 100), epsilon=1, bits=DeterministicBits(1))
    assert 19 < low.scalar(unsafe=True) < 22
    assert 58 < high.scalar(unsafe=True) < 61


def test_an_extreme_is_known_from_one_side() -> None:
    """At level 0.95: fewer than 44 of 60 has chance 1e-8; measured are all."""
    covered = np.zeros(2)
    for seed in range(60):
        values = np.random.default_rng(seed).uniform(20, 60, 300)
        low, high = (
            kind(bounds=(0, 100), epsilon=1, interval=0.95)(values, bits=DeterministicBits(seed)).intervals()[kind.name]
            for kind in (Minimum, Maximum)
        )
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
    ranks = [
        np.searchsorted(values, plan(values, bits=DeterministicBits(seed)).scalar(unsafe=True)) for seed in range(300)
    ]
    truth = 0 if statistic is Minimum else 1000
    # the error is a constant of 18 ranks and a deviation of 3: its relative standard error is 1%
    assert np.sqrt(np.mean((np.array(ranks) - truth) ** 2)) == pytest.approx(plan.expected_error(1000), rel=0.06)


@pytest.mark.parametrize("values", [[], [5.0], [5.0] * 3, [np.nan]])
def test_few_rows_give_an_answer(values: list[float]) -> None:
    for question in (minimum, maximum):
        assert 0 <= question(values, bounds=(0, 10), epsilon=1, bits=DeterministicBits(1)).scalar(unsafe=True) <= 10


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize(("size", "epsilon"), [(1000, 1), (10_000, "1/10"), (10_000, 10)])
def test_bounds_twice_as_wide_as_the_rows_seldom_win(size: int, epsilon: object, relation: Relation) -> None:
    """By one answer in twenty or less: more than 20 of 150 have chance 1e-4. The twin aims at the end itself."""
    plan = Maximum(bounds=(0, 200), epsilon=epsilon, interval=None, relation=relation)
    twin = Quantile(share=1, bounds=(0, 200), epsilon=epsilon, interval=None, relation=relation)
    outside = np.zeros(2)
    for seed in range(150):
        values = np.random.default_rng(seed).uniform(0, 100, size)
        outside += [
            each(values, bits=DeterministicBits(seed)).scalar(unsafe=True) > values.max() for each in (plan, twin)
        ]
    assert outside[0] <= 20 < 60 < outside[1]


@pytest.mark.parametrize("question", [minimum, maximum])
def test_who_knows_that_bounds_are_tight_errs_less(question: Any) -> None:
    """1,000 rows that fill the bounds, epsilon 0.1: about 3 % of the bounds against 12 %, over 60 answers."""
    errors = np.zeros(2)
    for seed in range(60):
        values = np.random.default_rng(seed).uniform(0, 100, 1000)
        answers = [
            question(values, bounds=(0, 100), epsilon="1/10", tight=tight, interval=None, bits=DeterministicBits(seed))
            for tight in (False, True)
        ]
        errors += [(answer.scalar(unsafe=True) - (0 if question is minimum else 100)) ** 2 / 60 for answer in answers]
    assert 2 * np.sqrt(errors[1]) < np.sqrt(errors[0])


def test_tight_is_said_with_a_boolean() -> None:
    with pytest.raises(InvalidParameterError, match="tight"):
        Maximum(bounds=(0, 1), epsilon=1, tight="yes")  # type: ignore[arg-type]
