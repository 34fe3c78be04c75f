"""Weights in floating point at their limits, and our exact choices there."""

import math
import random

import pytest

from deniable.attacks.implementation import tell_apart_by_choice
from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism
from deniable.noise.bits import DeterministicBits

DICE = random.Random(57)


def textbook(scores: list[int]) -> int:
    """The notes' second program: the first candidate whose cumulated weight reaches a uniform number."""
    weights = [math.exp(0.4 * score) for score in scores]
    at = DICE.random() * sum(weights)
    for index, weight in enumerate(weights):
        at -= weight
        if at <= 0:
            return index
    return len(scores) - 1


def test_errata_e57_weights_underflow() -> None:
    """Published: at epsilon 0.8 a gap of 1,866 gives the weight 0.0."""
    assert math.exp(-0.4 * 1866) == 0.0 < math.exp(-0.4 * 1862)
    result = tell_apart_by_choice(textbook, rate=0.4, runs=100)
    assert result.success.value > 0.9
    assert result.succeeded


def test_errata_e57_an_item_without_weight_is_chosen() -> None:
    assert textbook([-2000, -1999]) == 0


def test_exact_choices_are_as_private_there_as_elsewhere() -> None:
    """False alarm: 2 pairs at 99.99%, before the seed was fixed."""
    mechanism, bits = ExponentialMechanism(rate="0.4"), DeterministicBits(57)
    result = tell_apart_by_choice(lambda scores: mechanism.release(scores, bits=bits).value, rate=0.4, runs=400)
    assert not result.succeeded


def test_a_choice_that_keeps_the_largest_weight_at_one_does_not_break() -> None:
    """The twin: the usual remedy, scores less their maximum."""

    def shifted(scores: list[int]) -> int:
        return textbook([score - max(scores) for score in scores])

    assert not tell_apart_by_choice(shifted, rate=0.4, runs=400).succeeded


@pytest.mark.parametrize(("rate", "runs"), [(0, 40), (math.nan, 40), (math.inf, 40), (1, 3)])
def test_what_cannot_be_compared_is_refused(rate: float, runs: int) -> None:
    with pytest.raises(InvalidParameterError, match="needs finite rate"):
        tell_apart_by_choice(textbook, rate=rate, runs=runs)
