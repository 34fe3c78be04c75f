import numpy as np
import pytest

from deniable.attacks.implementation.worlds import doubles, judge_exclusions
from deniable.errors import InvalidParameterError

ALL, NONE = np.ones(4, dtype=bool), np.zeros(4, dtype=bool)


def test_what_only_one_input_can_give_names_it() -> None:
    result = judge_exclusions("Test", (ALL, NONE), (NONE, ALL), {})
    assert (result.success.right, result.success.attempts, result.succeeded) == (8, 8, True)


def test_nothing_excluded_is_the_baseline() -> None:
    result = judge_exclusions("Test", (ALL, ALL), (ALL, ALL), {"further": 3})
    assert result.success.value == result.baseline == 0.5
    assert not result.succeeded
    assert result.facts is not None
    assert result.facts["further"] == 3


def test_what_both_can_give_names_the_input_that_leaves_more_of_it() -> None:
    """By hand: half of the first outputs are impossible for the second input. 2 + 4 of 8 are right, not 2 + 2."""
    half = np.array([True, True, False, False])
    result = judge_exclusions("Test", (ALL, half), (ALL, ALL), {})
    assert result.success.right == 6
    assert result.learned is not None
    assert result.learned.tolist() == [1, 1, 0, 0, 1, 1, 1, 1]


def test_wrong_exclusions_are_wrong_answers() -> None:
    assert judge_exclusions("Test", (NONE, ALL), (ALL, NONE), {}).success.right == 0


@pytest.mark.parametrize("bad", [[], [np.nan, 1], [np.inf], ["x"], [None], [10**400]])
def test_what_is_not_a_finite_number_is_refused(bad: list[object]) -> None:
    with pytest.raises(InvalidParameterError, match="outputs must hold"):
        doubles("outputs", bad)
