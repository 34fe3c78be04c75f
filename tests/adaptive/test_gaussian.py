"""Gaussian answers: both proofs of their error, and an adversary that spends all of its questions."""

import math

import numpy as np
import pytest

from deniable.adaptive import GaussianAnswers
from deniable.errors import UnprovedError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget


def test_the_last_answer_of_an_attack_is_within_the_error_and_above_a_sixth_of_it() -> None:
    """Boosting: the vote of all columns that the answers favoured, on exact means far outside of the error."""
    rows, questions = 2000, 200
    random = np.random.default_rng(7)
    holdout = GaussianAnswers(rows=rows, questions=questions, budget=Budget(rho=50), bits=DeterministicBits(5))
    votes = np.zeros(rows)
    for _ in range(questions - 1):
        values = random.random(rows) < 0.5
        answer = holdout.ask(values)
        assert abs(answer.value - 0.5) <= answer.error
        votes += np.sign(answer.value - 0.5) * np.where(values, 1, -1)
    last = holdout.ask(votes > 0)
    assert holdout.error / 6 < last.value - 0.5 <= last.error
    assert holdout.left == 0


def test_the_better_proof_is_taken() -> None:
    """Second route: all conversations of 3 questions with 12 answers each; then a size where privacy is better."""
    few = GaussianAnswers(rows=100, questions=3, budget=Budget(rho=1000))
    gap = math.sqrt(math.log(2 * (1 + 12 + 144) / 0.025) / 200)
    assert gap < few.error < gap * 1.35
    many = GaussianAnswers(rows=10**6, questions=10**4, budget=Budget(rho="0.002"))
    assert math.sqrt(10**4 * math.log(1002) / (2 * 10**6)) > 0.18
    assert many.error < min(0.12, GaussianAnswers.split_error(rows=10**6, questions=10**4) / 2)
    assert GaussianAnswers.split_error(rows=10, questions=100) == 1


def test_gaussian_noise_needs_a_budget_that_it_fits() -> None:
    with pytest.raises(UnprovedError):
        GaussianAnswers(rows=100, questions=3, budget=Budget(epsilon=1))
    assert GaussianAnswers(rows=100, questions=3, budget=Budget(mu=1)).privacy_loss.rho == pytest.approx(0.5, rel=0.01)
    assert GaussianAnswers(rows=100, questions=3, budget=Budget(epsilon=1, delta="1e-6")).error <= 1
