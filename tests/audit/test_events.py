"""Choosing an event, and the error rates around it."""

import numpy as np
import pytest

from deniable.audit.events import AuditGoal, choose, measured
from deniable.audit.outputs import encode
from deniable.audit.scores import fit

RNG = np.random.default_rng(5)
OLD, LAPLACE = (encode(RNG.laplace(1, 1, 20_000), RNG.laplace(0, 1, 20_000), low_bits=False) for _ in range(2))
GAUSSIAN = encode(RNG.normal(0, 1, 20_000), RNG.normal(1, 1, 20_000), low_bits=False)


def test_the_chosen_event_is_the_best_threshold() -> None:
    """For Laplace noise every cut at or above 1 has the ratio e; the largest probability is best known."""
    event = choose(fit(*OLD), *LAPLACE, goals=[AuditGoal(0.0, 0.0)], runs=20_000, failure=0.01)
    assert event is not None
    assert (event.score.family, event.above, event.swapped) in {
        ("thresholds", True, False),
        ("thresholds", False, True),
    }
    assert 0.85 < event.hoped < 1.05
    assert "output" in str(event)


def test_the_direction_is_chosen_too() -> None:
    event = choose(fit(*GAUSSIAN), *GAUSSIAN, goals=[AuditGoal(0.0, 0.0)], runs=20_000, failure=0.01)
    assert event is not None
    hits, others = event.hits(*GAUSSIAN)
    assert hits > others
    assert event.happens(GAUSSIAN[event.swapped]).sum() == hits


def test_the_delta_is_chosen_where_the_claim_is_weakest() -> None:
    goals = [AuditGoal(0.0, 0.5), AuditGoal(0.1, 5.0)]
    event = choose(fit(*OLD), *LAPLACE, goals=goals, runs=20_000, failure=0.01)
    assert event is not None
    assert event.goal == goals[0]


def test_without_a_difference_there_is_no_event() -> None:
    same = encode([1] * 20, [1] * 20)
    assert choose(fit(*same), *same, goals=[AuditGoal(0.0, 0.0)], runs=20, failure=0.01) is None


def test_measured_rates_are_above_the_true_ones() -> None:
    """The trade-off curve of N(0,1) against N(1,1); failure 0.01, seed fixed; halved rates would be below it."""
    from scipy.stats import norm

    event = choose(fit(*GAUSSIAN), *GAUSSIAN, goals=[AuditGoal(0.05, 0.0)], runs=20_000, failure=0.01)
    assert event is not None
    rates = measured(event, GAUSSIAN, GAUSSIAN, 0.01)
    least = norm.cdf(norm.isf(rates.false_positive) - 1)
    assert (rates.false_negative >= least).all()
    assert (rates.false_negative < least + 0.04).all()
    assert not (rates.false_negative >= norm.cdf(norm.isf(rates.false_positive / 2) - 1)).all()
    assert rates.false_positive == pytest.approx(np.sort(rates.false_positive)[::-1])
