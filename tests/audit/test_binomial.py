"""Confidence bounds of a probability, by the binomial law itself."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.audit import binomial, divergences, events
from deniable.audit.binomial import epsilon_of, lower_rate, runs_for, upper_rate, wilson
from deniable.audit.outputs import encode
from deniable.audit.scores import fit


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


@pytest.mark.parametrize(("hits", "others"), [(20, 0), (17, 3), (9, 2), (20, 20)])
def test_the_bound_on_epsilon_is_made_of_two_sided_intervals(hits: int, others: int) -> None:
    """scipy's, which leave half of the failure to either side."""
    ends = [stats.binomtest(count, 20).proportion_ci(0.95, method="exact") for count in (hits, others)]
    truth = max(0.0, math.log(max(ends[0].low - 0.05, 1e-300) / ends[1].high))
    assert epsilon_of(hits, others, 20, delta=0.05, failure=0.05) == pytest.approx(truth, rel=1e-9)


def test_failures_of_all_bounds_add_up_to_what_was_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    failures: list[float] = []

    def heard(bound: Callable[..., Any], intervals: Callable[[Any], int]) -> Callable[..., Any]:
        def record(*given: Any) -> Any:
            found = bound(*given)
            failures.extend([given[-1]] * intervals(found))
            return found

        return record

    for module in (binomial, events):
        for name in {"upper_rate", "lower_rate"} & set(vars(module)):
            monkeypatch.setattr(module, name, heard(getattr(module, name), lambda _: 1))
    monkeypatch.setattr(divergences, "_means", heard(divergences._means, lambda found: 2 * found[0].size))
    dice = np.random.default_rng(1)
    both = encode(dice.normal(1, 1, 400), dice.normal(0, 1, 400), low_bits=False)
    event = events.choose(fit(*both), *both, goals=[events.AuditGoal(0.0, 0.0)], runs=400, failure=0.1)
    assert event is not None
    for run in (
        lambda: epsilon_of(30, 2, 40, delta=0.0, failure=0.1),
        lambda: events.measured(event, both, both, 0.1),
        lambda: divergences.estimate_divergences(
            lambda data, runs: dice.normal(data, 1, runs), 0, 1, log_density=lambda x, data: -((x - data) ** 2) / 2,
            epsilons=[0.0, 1.0, 2.0], confidence=0.9, runs=50, batched=True),
    ):  # fmt: skip
        failures.clear()
        run()
        assert 0.09 < sum(failures) <= 0.1 * (1 + 1e-9)


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
