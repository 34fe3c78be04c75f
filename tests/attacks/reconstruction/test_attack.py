"""The whole attack: everybody from exact answers, nobody from noise, and the truth only to mark it.

Least squares, against dense linear algebra and Bayes' rule.
"""

import numpy as np
import pytest

from deniable.attacks import attack_by_reconstruction, estimate_by_least_squares, estimate_by_linear_program
from deniable.attacks.reconstruction import (
    Subsets,
    answer_exactly,
    answer_rounded,
    answer_unless_small,
    answer_with_gaussian,
    answer_with_laplace,
    choose_subsets,
    hadamard_subsets,
    random_subsets,
    sparse_subsets,
)
from deniable.errors import InvalidParameterError

SECRETS = np.random.default_rng(5).random(300) < 0.4
BITS = np.random.default_rng(5).integers(0, 2, 60)
GROUPS = random_subsets(people=60, queries=150)


def test_exact_and_rounded_counts_give_everybody_away() -> None:
    exact = attack_by_reconstruction(answer_exactly(SECRETS), SECRETS)
    assert exact.success.value == 1
    assert (exact.learned == SECRETS).all()
    assert exact.baseline == 1 - SECRETS.mean()
    assert exact.facts is not None
    assert exact.facts["queries"] == 1200
    few = SECRETS[:80]
    rounded = attack_by_reconstruction(
        answer_rounded(few, base=3), few, estimate=lambda groups, told: estimate_by_linear_program(groups, told)
    )
    assert rounded.success.value == 1


def test_noise_of_small_epsilon_gives_nobody_away() -> None:
    """Laplace noise of total epsilon 1 over 1,200 queries."""
    result = attack_by_reconstruction(answer_with_laplace(SECRETS, scale=1200), SECRETS)
    assert not result.succeeded
    assert 0.4 < result.success.value < 0.6


def test_the_truth_only_marks() -> None:
    """Against other answers the same bits are learned, whatever the truth is said to be."""
    answerer = answer_exactly(SECRETS)
    lied = attack_by_reconstruction(answerer, ~SECRETS)
    assert lied.learned is not None
    assert (lied.learned == SECRETS).all()
    assert lied.success.value == 0


def test_many_people_are_asked_about_by_halves() -> None:
    assert choose_subsets(people=512).shape == (2048, 512)
    assert choose_subsets(people=513).shape == (1024, 513)


def test_wrong_shapes_are_named() -> None:
    def three(subsets: Subsets, answers: np.ndarray) -> np.ndarray:
        return np.zeros(3)

    with pytest.raises(InvalidParameterError, match="300 numbers"):
        attack_by_reconstruction(answer_exactly(SECRETS), SECRETS, estimate=three)
    with pytest.raises(InvalidParameterError, match="one number for each of"):
        attack_by_reconstruction(lambda subsets: np.zeros(3), SECRETS)


def test_the_estimate_is_that_of_dense_least_squares() -> None:
    told = answer_with_gaussian(BITS, sigma=2)(GROUPS)
    assert estimate_by_least_squares(GROUPS, told) == pytest.approx(np.linalg.lstsq(GROUPS * 1.0, told)[0], abs=1e-6)


def test_noise_and_share_make_it_the_mean_of_bayes_rule() -> None:
    told = answer_with_gaussian(BITS, sigma=20)(GROUPS)
    precision = GROUPS.T @ (GROUPS * 1.0) / 400 + np.eye(60) / (0.3 * 0.7)
    mean = np.linalg.solve(precision, GROUPS.T @ told / 400 + 0.3 / (0.3 * 0.7))
    assert estimate_by_least_squares(GROUPS, told, share=0.3, noise=20) == pytest.approx(mean, abs=1e-6)


def test_withheld_answers_are_left_out() -> None:
    groups = sparse_subsets(people=60, queries=300, size=9)
    told = answer_unless_small(BITS, below=4)(groups)
    assert 10 < np.isnan(told).sum() < 200
    kept = ~np.isnan(told)
    dense = np.linalg.lstsq(groups.toarray()[kept], told[kept])[0]
    assert estimate_by_least_squares(groups, told) == pytest.approx(dense, abs=1e-5)


def test_thousands_of_people_come_back_exactly() -> None:
    secrets = np.random.default_rng(6).integers(0, 2, 20_000)
    for groups in (hadamard_subsets(people=20_000), sparse_subsets(people=20_000, queries=60_000, size=20)):
        found = estimate_by_least_squares(groups, answer_exactly(secrets)(groups))
        assert (found.round() == secrets).all()


@pytest.mark.parametrize(
    ("answers", "other", "message"),
    [
        (np.zeros(3), {}, "one number for each of"),
        (np.full(150, np.nan), {}, "at least one that was not withheld"),
        (np.full(150, np.inf), {}, "finite"),
        (np.zeros(150), {"share": 1}, "share"),
        (np.zeros(150), {"noise": np.nan}, "noise"),
    ],
)
def test_what_says_nothing_is_refused(answers: np.ndarray, other: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        estimate_by_least_squares(GROUPS, answers, **other)
