"""Confidence bounds of a probability, by the binomial law itself."""

import math

import numpy as np
import pytest
from scipy import stats

from deniable.audit.binomial import epsilon_of, lower_rate, runs_for, upper_rate, wilson


@pytest.mark.parametrize("hits", [0, 1, 17, 40])
def test_bounds_solve_the_tails_of_the_binomial(hits: int) -> None:
    low, high = lower_rate(hits, 40, 0.01), upper_rate(hits, 40, 0.01)
    assert low == 0 if hits == 0 else stats.binom.sf(hits - 1, 40, low) == pytest.approx(0.01)
    assert high == 1 if hits == 40 else stats.binom.cdf(hits, 40, high) == pytest.approx(0.01)


def test_the_bound_on_epsilon_is_right_as_often_as_it_says() -> None:
    """Exactly, by the law of both counts: P = 0.6, Q = 0.3, twenty runs each, at failure 0.1."""
    laws = [stats.binom.pmf(np.arange(21), 20, rate) for rate in (0.6, 0.3)]
    found = np.array([[epsilon_of(a, b, 20, delta=0.1, failure=0.1) for b in range(21)] for a in range(21)])
    wrong = found > math.log((0.6 - 0.1) / 0.3)
    assert 0 < (np.outer(*laws) * wrong).sum() <= 0.1


def test_an_event_that_shows_nothing_bounds_nothing() -> None:
    assert epsilon_of(10, 10, 20, delta=0.0, failure=0.1) == 0
    assert epsilon_of(0, 0, 20, delta=0.5, failure=0.1) == 0


def test_wilson_is_near_the_exact_bounds() -> None:
    low, high = wilson(np.array([0.3]), 10_000, -stats.norm.ppf(0.005))
    assert low[0] == pytest.approx(lower_rate(3000, 10_000, 0.005), rel=1e-3)
    assert high[0] == pytest.approx(upper_rate(3000, 10_000, 0.005), rel=1e-3)


def test_runs_that_would_do_are_told() -> None:
    needed = runs_for(5.0, delta=0.0, failure=0.01)
    assert epsilon_of(needed, 0, needed, delta=0.0, failure=0.01) > 5
    assert epsilon_of(needed // 4, 0, needed // 4, delta=0.0, failure=0.01) < 5
