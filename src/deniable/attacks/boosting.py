"""Boosting of a leaderboard: labels of a holdout from its scores alone."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from deniable.attacks.numbers import read_bits, real, start_dice, whole
from deniable.attacks.result import AttackResult, Share

Leaderboard = Callable[[NDArray[np.bool_]], float]


def boost_leaderboard(
    score: Leaderboard, *, labels: ArrayLike, questions: int, seed: int, baseline: float = 0.5
) -> AttackResult:
    """Vote with random guesses, inverted where they score below one half.

    Against exact scores the vote is right on about a share Phi(sqrt(2 questions / (pi rows))) of the holdout, and no
    better than a coin on fresh rows: a leaderboard that was overfitted.

    Args:
        score: takes one guess, booleans of shape (rows,), and returns its score as the leaderboard publishes it: the
            share of rows that are right. It is called `questions` times, and once more with the vote.
        labels: of the holdout, shape (rows,), 0 or 1: used to judge the vote, and for nothing else.
        questions: number of random guesses.
        seed: of the attacker's draws.
        baseline: share of labels that a guesser has right.

    Raises: InvalidParameterError for labels other than 0 and 1. What `score` raises.
    Source: Blum, Hardt (2015), arXiv:1502.04585, section 1.

    >>> hidden = np.random.default_rng(0).random(2000) < 0.5
    >>> attack = boost_leaderboard(lambda guess: float((guess == hidden).mean()), labels=hidden, questions=400, seed=1)
    >>> attack.succeeded, attack.success.value > 0.6
    (True, True)
    """
    truth = read_bits(labels)
    dice = start_dice(seed)
    votes = np.zeros(len(truth))
    for _ in range(whole("questions", questions)):
        guess = dice.random(len(truth)) < 0.5
        published = real("score", score(guess))
        votes += np.sign(published - 0.5) * np.where(guess, 1.0, -1.0)
    vote = np.where(votes == 0, dice.random(len(truth)) < 0.5, votes > 0)
    exact = 0.5 * math.erfc(-math.sqrt(questions / (math.pi * len(truth))))
    return AttackResult(
        attack="Boosting a leaderboard",
        target="label of a holdout's row",
        success=Share(right=int((vote == truth).sum()), attempts=len(truth)),
        baseline=real("baseline", baseline),
        guess="a coin",
        learned=vote,
        facts={"score of the vote": real("score", score(vote)), "expected against exact scores": round(exact, 4)},
    )
