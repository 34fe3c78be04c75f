"""The private learner: against counting by hand, its excess kept, its law that of the exponential mechanism."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from deniable.adaptive import learn_class, learn_interval, learn_threshold
from deniable.adaptive.learner import Learned
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget, Filter, Replace


def test_errors_of_thresholds_and_intervals_are_those_of_a_loop() -> None:
    """At a huge epsilon the choice is a hypothesis of fewest errors."""
    random = np.random.default_rng(1)
    for seed in range(12):
        values, labels = random.integers(0, 6, 25), random.integers(0, 2, 25)
        found = learn_threshold(values, labels, domain=6, epsilon=400, bits=DeterministicBits(seed)).hypothesis
        by_hand = [int(((values >= t) != labels).sum()) for t in range(7)]
        assert by_hand[found] == min(by_hand)
        ends = learn_interval(values, labels, domain=6, epsilon=400, bits=DeterministicBits(seed)).hypothesis
        pairs = {
            (a, b): int((((values >= a) & (values < b)) != labels).sum())
            for a, b in itertools.combinations(range(7), 2)
        }
        assert pairs[ends] == min(pairs.values())
        table = np.stack([values >= t for t in range(7)], axis=1)
        assert by_hand[learn_class(table, labels, hypotheses=7, epsilon=400).hypothesis] == min(by_hand)


def test_the_law_is_that_of_the_exponential_mechanism_on_errors() -> None:
    """600 choices; six standard errors."""
    values, labels, epsilon = [0, 1, 1, 2], [0, 0, 1, 1], 1.0
    chosen = Counter(
        learn_threshold(values, labels, domain=3, epsilon="1", bits=DeterministicBits(seed)).hypothesis
        for seed in range(600)
    )
    weights = np.exp(-epsilon / 2 * np.array([2, 1, 1, 2]))
    for place, share in enumerate(weights / weights.sum()):
        assert abs(chosen[place] / 600 - share) < 6 * math.sqrt(share * (1 - share) / 600)


def test_excess_is_kept_and_comes_within_five_times() -> None:
    """Random labels on 1000 values: 100 choices, each against the best on the sample and on the population."""
    random, excesses = np.random.default_rng(2), []
    for seed in range(100):
        values = random.integers(0, 1000, 300)
        labels = (values >= 500) ^ (random.random(300) < 0.1)
        learned = learn_threshold(values, labels, domain=1000, epsilon=1, failure="0.1", bits=DeterministicBits(seed))
        errors = [((values >= t) != labels).mean() for t in range(1001)]
        excesses.append(errors[learned.hypothesis] - min(errors))
        assert 0.8 * abs(learned.hypothesis - 500) / 1000 <= learned.population_excess
    assert (np.array(excesses) > learned.excess).mean() <= 0.05
    assert learned.excess < 5 * np.quantile(excesses, 0.95)


def test_the_choice_is_paid_and_rows_are_read_one_by_one() -> None:
    account = Filter(Budget(epsilon=1), relation=Replace)
    learned = learn_threshold([1, None, 99, "x"], [1, 0, None, 2], domain=4, epsilon=1, ledger=account)
    assert isinstance(learned, Learned)
    assert account.spent.epsilon == 1
    with pytest.raises(BudgetExceededError):
        learn_threshold([1], [1], domain=4, epsilon=1, ledger=account)
    fresh = Filter(Budget(epsilon=1), relation=Replace)
    for call in (
        lambda: learn_threshold([1, 2], [1], domain=4, epsilon=1, ledger=fresh),
        lambda: learn_class([[1, 0]], [1, 0], hypotheses=2, epsilon=1, ledger=fresh),
        lambda: learn_interval([1], [1], domain=5000, epsilon=1, ledger=fresh),
        lambda: learn_threshold([1], [1], domain=4, epsilon=0, ledger=fresh),
        lambda: learn_threshold([1], [1], domain=4, epsilon=1, failure=0, ledger=fresh),
        lambda: learn_threshold([], [], domain=4, epsilon=1, ledger=fresh),
    ):
        with pytest.raises(InvalidParameterError):
            call()
    assert fresh.spent.epsilon == 0


def test_a_learned_hypothesis_says_what_it_cost() -> None:
    learned = learn_class([[0, 1, 1]] * 500, [1] * 500, hypotheses=3, epsilon=1, bits=DeterministicBits(1))
    assert learned.cost.epsilon(0).upper == 1
    said = f"hypothesis {learned.hypothesis}; excess error at most {learned.population_excess:.3f} on the population"
    assert repr(learned) == f"<Learned: {said} (95%); cost epsilon=1, safe=False>"
