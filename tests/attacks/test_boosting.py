"""Boosting a leaderboard: as much as the theory says against exact scores, nothing against none."""

import numpy as np
import pytest

from deniable.attacks import boost_leaderboard
from deniable.errors import InvalidParameterError

HIDDEN = np.random.default_rng(1).random(4000) < 0.5


@pytest.mark.parametrize("questions", [100, 1000])
def test_exact_scores_give_the_share_of_the_formula(questions: int) -> None:
    """Five standard errors of a share of 4000 are 0.04."""
    attack = boost_leaderboard(
        lambda guess: float((guess == HIDDEN).mean()), labels=HIDDEN, questions=questions, seed=2
    )
    assert attack.success.value == pytest.approx(attack.facts["expected against exact scores"], abs=0.04)
    assert attack.facts["score of the vote"] == attack.success.value
    assert attack.succeeded


def test_a_leaderboard_that_tells_nothing_loses_nothing() -> None:
    attack = boost_leaderboard(lambda guess: 0.5, labels=HIDDEN, questions=50, seed=2)
    assert not attack.succeeded


def test_bad_input_is_refused() -> None:
    for labels, questions in (([0, 2], 5), (HIDDEN, 0)):
        with pytest.raises(InvalidParameterError):
            boost_leaderboard(lambda guess: 0.5, labels=labels, questions=questions, seed=1)
