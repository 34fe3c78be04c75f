"""The Ladder: a coin stays a coin under attack, and a real improvement is seen."""

import numpy as np
import pytest

from deniable.adaptive import Ladder
from deniable.attacks import boost_leaderboard
from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget


def board(rows: int, **given: object) -> Ladder:
    promise = {"questions": 401, "improvements": 10, "budget": Budget(epsilon=20), "bits": DeterministicBits(1)}
    return Ladder(rows=rows, **{**promise, **given})


def test_boosting_overfits_exact_scores_and_leaves_the_ladder_a_coin() -> None:
    hidden = np.random.default_rng(1).random(2000) < 0.5
    exact = boost_leaderboard(lambda guess: float((guess == hidden).mean()), labels=hidden, questions=400, seed=2)
    ladder = board(2000)
    private = boost_leaderboard(
        lambda guess: ladder.submit(guess == hidden).value, labels=hidden, questions=400, seed=2
    )
    assert exact.success.value > 0.6
    assert private.success.value < 0.54
    assert abs(float(ladder.best) - 0.5) <= ladder.error


def test_the_value_follows_the_best_true_score_within_its_error() -> None:
    """20 leaderboards of submissions that get better; every value against the best share on the population so far."""
    broken = seen = 0
    for seed in range(20):
        random, best = np.random.default_rng(seed), 0.0
        ladder = board(2000, questions=30, failure="0.1", bits=DeterministicBits(seed))
        for share in np.linspace(0.5, 0.8, 8):
            best, answer = max(best, share), ladder.submit(random.random(2000) < share)
            broken += abs(answer.value - best) > answer.error
        seen += abs(answer.value - 0.8) < 0.06
    assert broken == 0
    assert seen == 20


def test_a_ladder_never_goes_down_and_needs_a_step() -> None:
    ladder = board(100)
    values = [ladder.submit([place < share for place in range(100)]).value for share in (50, 90, 10, 90, 0)]
    assert values == sorted(values)
    for step in (0, 1.5):
        with pytest.raises(InvalidParameterError, match="step"):
            board(100, step=step)
