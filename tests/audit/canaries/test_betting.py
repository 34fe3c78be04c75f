"""Bets never win against a private mechanism more often than Ville's inequality allows."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

from deniable.audit.canaries.betting import by_bets, log_wealth
from deniable.audit.canaries.guesses import Guesses


def guesses(right: np.ndarray | list[bool]) -> Guesses:
    return Guesses(right=np.asarray(right, dtype=np.bool_), canaries=len(right))


@pytest.mark.parametrize("right", [[1, 1, 0, 1], [0, 0], [1] * 30])
def test_wealth_is_the_average_over_all_bets(right: list[int]) -> None:
    chance, wins = 0.7, sum(right)
    losses = len(right) - wins
    average = quad(lambda s: (s / chance) ** wins * ((1 - s) / (1 - chance)) ** losses, chance, 1)[0] / (1 - chance)
    assert log_wealth(np.array(right, dtype=np.bool_), chance)[-1] == pytest.approx(math.log(average), rel=1e-9)


def test_wealth_is_fair_at_the_chance_that_is_allowed() -> None:
    """The mean over all outcomes is 1 at every number of guesses, and below 1 where guesses are right less often."""
    for truth, mean in ((0.6, 1.0), (0.55, None)):
        outcomes = np.array(list(itertools.product([False, True], repeat=8)))
        weights = np.prod(np.where(outcomes, truth, 1 - truth), axis=1)
        wealth = np.exp([log_wealth(one, 0.6) for one in outcomes])
        means = weights @ wealth
        assert means == pytest.approx(np.ones(8)) if mean else bool(np.all(means < 1))


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_false_alarms_stay_at_their_level(epsilon: float) -> None:
    """300 runs at nominal 5%: more than 36 alarms have chance 1e-6 if the level holds.

    The twin takes the best of all numbers of guesses in a normal test without paying for the choice: over 20% alarms.
    """
    dice = np.random.default_rng(7)
    chance = 1 / (1 + math.exp(-epsilon))
    runs = dice.random((300, 1000)) < chance
    alarms = sum(float(log_wealth(run, chance).max()) >= math.log(20) for run in runs)
    assert 3 <= alarms <= 36
    counts = np.arange(1, 1001)
    scores = (np.cumsum(runs, axis=1) - chance * counts) / np.sqrt(counts * chance * (1 - chance))
    assert int((scores[:, 50:].max(axis=1) > 1.645).sum()) > 60


def test_rejected_epsilons_are_all_those_below_the_bound() -> None:
    dice = np.random.default_rng(3)
    made = guesses(np.concatenate([dice.random(100) < 0.95, dice.random(400) < 0.5]))
    bound, count = by_bets(made, level=0.05, delta=0)
    assert 1 < bound < 3
    assert 50 < count < 160
    for epsilon in np.linspace(0, 10, 301):
        wealth = log_wealth(made.right, 1 / (1 + math.exp(-epsilon))).max()
        assert (wealth >= math.log(20)) == (epsilon <= bound)


def test_delta_costs_half_of_it_for_each_canary() -> None:
    made = guesses(np.ones(100, dtype=np.bool_))
    plain = by_bets(made, level=0.05, delta=0)[0]
    assert by_bets(made, level=0.05, delta=4e-4)[0] == pytest.approx(by_bets(made, level=0.03, delta=0)[0])
    assert plain > by_bets(made, level=0.05, delta=4e-4)[0] > 0
    assert by_bets(made, level=0.05, delta=1e-3) == (0.0, 100)


def test_delta_is_paid_for_where_coins_are_published_outright() -> None:
    """Each coin is published with probability delta, and else nothing is: (0, delta)-DP, and many guesses are certain.

    Without the payment for delta these runs would show an epsilon of 2.
    """
    dice, delta = np.random.default_rng(5), 0.02
    shown = dice.random(2000) < delta
    made = guesses(np.concatenate([np.ones(shown.sum()), dice.random(2000 - shown.sum()) < 0.5]) > 0)
    assert by_bets(made, level=0.05, delta=0)[0] > 2
    assert by_bets(made, level=0.05, delta=delta)[0] == 0
