"""Groups of people: as random, as sparse, as structured as they say."""

import numpy as np
import pytest

from deniable.attacks import estimate_by_linear_program, estimate_exhaustively
from deniable.attacks.reconstruction import answer_exactly, hadamard_subsets, random_subsets, sparse_subsets
from deniable.attacks.reconstruction.queries import as_rows
from deniable.errors import InvalidParameterError


def test_random_groups_hold_half_and_follow_the_seed() -> None:
    groups = random_subsets(people=200, queries=300)
    assert set(np.unique(groups)) == {0, 1}
    assert groups.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(60_000))  # five standard errors
    assert (groups == random_subsets(people=200, queries=300)).all()
    assert (groups != random_subsets(people=200, queries=300, seed=1)).any()


@pytest.mark.parametrize(("people", "queries", "size"), [(10, 7, 3), (5, 4, 5), (9, 20, 1), (1, 2, 1), (100, 50, 60)])
def test_sparse_groups_have_their_size_and_nobody_twice(people: int, queries: int, size: int) -> None:
    groups = sparse_subsets(people=people, queries=queries, size=size).toarray()
    assert groups.shape == (queries, people)
    assert (groups.sum(axis=1) == size).all()
    assert set(np.unique(groups)) <= {0, 1}


@pytest.mark.parametrize("people", [1, 2, 3, 8, 100, 128, 129])
def test_hadamard_groups_are_the_signs_of_common_digits(people: int) -> None:
    operator = hadamard_subsets(people=people)
    groups = operator @ np.eye(people)
    size = len(groups)
    assert size >= people > size // 2 or people == 1
    places = np.random.default_rng(0).permutation(size)[:people]
    common = [[(query & place).bit_count() % 2 for place in places.tolist()] for query in range(size)]
    assert (groups == 1 - np.array(common)).all()
    assert (operator.T @ np.eye(size) == groups.T).all()


def test_a_structured_matrix_is_written_out() -> None:
    operator = hadamard_subsets(people=20)
    assert (as_rows(operator) == operator @ np.eye(20)).all()
    told = answer_exactly(np.arange(20) % 2)(operator)
    assert (estimate_by_linear_program(operator, told).round() == np.arange(20) % 2).all()
    assert (estimate_exhaustively(operator, told) == np.arange(20) % 2).all()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True])
def test_a_number_of_people_is_whole(wrong: int) -> None:
    with pytest.raises(InvalidParameterError, match="people must be"):
        random_subsets(people=wrong, queries=3)
    with pytest.raises(InvalidParameterError, match="people must be"):
        hadamard_subsets(people=wrong)
    with pytest.raises(InvalidParameterError, match=r"size must be in 1\.\.4"):
        sparse_subsets(people=4, queries=3, size=5)
