"""The exhaustive search against brute force, and what the theorems promise it against answers chosen to mislead."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from deniable.attacks import attack_by_reconstruction, estimate_exhaustively
from deniable.attacks.reconstruction import (
    AllSubsets,
    Answerer,
    answer_adversarially,
    answer_rounded,
    answer_unless_small,
    answer_within,
    bound_all_queries,
    bound_random_queries,
    random_subsets,
)
from deniable.errors import InvalidParameterError


def bits(number: int, people: int) -> np.ndarray:
    return np.array([number >> place & 1 for place in range(people)])


@pytest.mark.parametrize("people", [1, 2, 5])
def test_all_subsets_are_the_binary_numbers(people: int) -> None:
    groups = np.array([bits(number, people) for number in range(1 << people)])
    column = np.random.default_rng(people).normal(size=people)
    assert AllSubsets(people).shape == groups.shape
    assert AllSubsets(people) @ column == pytest.approx(groups @ column)
    assert (AllSubsets(people)[np.arange(1 << people)] == groups).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_search_finds_the_least_largest_residual(seed: int) -> None:
    """Every candidate is tried, with errors so large that the best is seldom the truth."""
    dice = np.random.default_rng(seed)
    groups = random_subsets(people=9, queries=int(dice.integers(1, 120)), seed=seed)
    told = answer_within(dice.integers(0, 2, 9), error=3, seed=seed)(groups)
    told[1:][dice.random(len(told) - 1) < 0.2] = np.nan
    every = np.array([bits(number, 9) for number in range(512)])
    least = np.nanmin(np.nanmax(np.abs(every @ groups.T - told), axis=1))
    for same in (groups, csr_array(groups)):
        found = estimate_exhaustively(same, told)
        assert np.nanmax(np.abs(groups @ found - told)) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("error", [0, 0.5, 1, 1.5, 2])
def test_all_queries_leave_at_most_four_errors_wrong(error: float) -> None:
    """Theorem 1, against every kind of answer; the decoy attains the bound for one of truth and decoy."""
    groups = AllSubsets(12)
    for truth in (np.arange(12) % 2, 1 - np.arange(12) % 3 // 2):
        other = answer_adversarially(truth, error=error)
        tried: list[Answerer] = [other, answer_within(truth, error=error, seed=3)]
        if error >= 1:
            tried.append(answer_rounded(truth, base=int(2 * error)))
        bound = bound_all_queries(people=12, error=error)
        for answerer in tried:
            found = attack_by_reconstruction(
                answerer, truth, subsets=groups, estimate=estimate_exhaustively, bound=bound
            )
            assert found.success.value >= bound.share


def test_the_bound_of_four_errors_is_attained() -> None:
    """Truth and decoy are 4 bits apart and answered alike: one of the two is missed by at least 2, and here by 4."""
    truth = np.arange(12) % 2
    decoy = truth.copy()
    decoy[:4] = 1 - decoy[:4]
    wrong = []
    for secret, lie in ((truth, decoy), (decoy, truth)):
        told = answer_adversarially(secret, error=1, decoy=lie)(AllSubsets(12))
        wrong.append(int((estimate_exhaustively(AllSubsets(12), told) != secret).sum()))
    assert max(wrong) == 4


def test_random_queries_leave_fewer_wrong_than_theorem_2_says() -> None:
    for seed in range(10):
        truth = np.random.default_rng(seed).integers(0, 2, 14)
        groups = random_subsets(people=14, queries=280, seed=seed)
        for error in (0.06, 0.1, 0.2):
            bound = bound_random_queries(people=14, queries=280, error=error)
            told = answer_adversarially(truth, error=error, decoy=1 - truth)(groups)
            right = (estimate_exhaustively(groups, told) == truth).mean()
            assert right >= bound.share


def test_what_is_withheld_or_too_much_is_said() -> None:
    truth = np.arange(10) % 2
    told = answer_unless_small(truth, below=3)(AllSubsets(10))
    assert (estimate_exhaustively(AllSubsets(10), told) == truth).all()
    with pytest.raises(InvalidParameterError, match="at most 24 people"):
        estimate_exhaustively(random_subsets(people=25, queries=2), [1, 1])
    with pytest.raises(InvalidParameterError, match=r"people must be in 1\.\.24"):
        AllSubsets(25)
