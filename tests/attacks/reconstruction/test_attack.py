"""The whole attack: everybody from exact answers, nobody from noise, and the truth only to mark it."""

import numpy as np
import pytest

from deniable.attacks import (
    Subsets,
    answer_exactly,
    answer_rounded,
    answer_with_laplace,
    attack_by_reconstruction,
    choose_subsets,
    estimate_by_linear_program,
)
from deniable.errors import InvalidParameterError

SECRETS = np.random.default_rng(5).random(300) < 0.4


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
    with pytest.raises(InvalidParameterError, match="as many answers"):
        attack_by_reconstruction(lambda subsets: np.zeros(3), SECRETS)
