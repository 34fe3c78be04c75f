"""The reusable holdout: the published experiment in small, its errors kept, and its comparisons private."""

import math

import numpy as np
import pytest

from deniable.adaptive import ReusableHoldout
from deniable.adaptive.holdout import LATTICE_STEPS
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Budget

ROWS, COLUMNS = 1000, 1000


def experiment(signal: float, seed: int) -> tuple[dict[str, float], ReusableHoldout]:
    """Columns whose agreement with the label is alike in training and holdout vote (Dwork and others 2015, figure 1).

    Agreements are whether signs are equal, in place of correlations; 20 columns agree more often by `signal`.
    """
    random = np.random.default_rng(seed)
    agrees = random.random((3, ROWS, COLUMNS)) < 0.5 + signal * (np.arange(COLUMNS) < 20)  # train, holdout, fresh
    means, edge = agrees.mean(axis=1), 0.5 / math.sqrt(ROWS)
    holdout = ReusableHoldout(
        rows=ROWS,
        questions=COLUMNS + 1,
        corrections=60,
        threshold="0.06",
        budget=Budget(rho=20),
        bits=DeterministicBits(seed),
    )
    told = np.array([holdout.ask(means[0, j], agrees[1, :, j]).value for j in range(COLUMNS)])
    found = {}
    for name, known in (("plain", means[1]), ("reusable", told)):
        alike = (np.abs(means[0] - 0.5) > edge) & ((known - 0.5) * np.sign(means[0] - 0.5) > edge)
        chosen = np.flatnonzero(alike)[np.argsort(-np.abs(means[0] - 0.5)[alike])][:101]
        votes = np.where(agrees[:, :, chosen] == (means[0, chosen] > 0.5), 1, -1).sum(axis=2) > 0  # right?
        found[f"{name} fresh"] = votes[2].mean()
        found[name] = votes[1].mean() if name == "plain" else holdout.ask(votes[0].mean(), votes[1]).value
        found[f"{name} train"] = votes[0].mean()
    return found, holdout


@pytest.mark.parametrize("seed", [1, 2])
def test_without_signal_the_plain_holdout_is_fooled_and_the_reusable_one_is_not(seed: int) -> None:
    found, holdout = experiment(0, seed)
    assert found["plain"] > found["plain fresh"] + 0.06  # four standard errors
    assert abs(found["reusable"] - found["reusable fresh"]) < 0.06
    assert abs(found["reusable"] - found["reusable fresh"]) <= holdout.corrected_error
    assert found["reusable train"] > 0.7


def test_with_signal_both_find_it() -> None:
    found, _ = experiment(0.095, 3)
    assert min(found.values()) > 0.6
    assert abs(found["reusable"] - found["reusable fresh"]) < 0.06


def test_no_answer_breaks_its_error_while_somebody_tries_to_overfit() -> None:
    """Random guesses that the training set is said to like; the best of the answers are voted together."""
    wrong = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        holdout = ReusableHoldout(
            rows=400,
            questions=60,
            corrections=20,
            threshold="0.02",
            budget=Budget(epsilon=200),
            failure="0.2",
            bits=DeterministicBits(seed),
        )
        votes = np.zeros(400)
        try:
            while True:
                guess = random.random(400) < 0.5
                answer = holdout.ask(0.5, guess)
                wrong += abs(answer.value - 0.5) > answer.error
                votes += np.sign(answer.value - 0.5) * np.where(guess, 1, -1)
        except BudgetExceededError:
            continue
    assert wrong == 0
    assert holdout.kept_error < 0.45


def test_errors_shrink_with_rows_as_the_root_and_are_of_the_stated_parts() -> None:
    """Second route: the count of conversations by a loop, for a small promise."""
    holdout = ReusableHoldout(rows=900, questions=6, corrections=3, budget=Budget(epsilon=30))
    cells, count = 32, 0
    states = {0: 1}  # corrections so far -> conversations
    for _ in range(6):
        count += sum(number for told, number in states.items() if told < 3)
        after: dict[int, int] = {}
        for told, number in states.items():
            if told < 3:
                after[told] = after.get(told, 0) + number
                after[told + 1] = after.get(told + 1, 0) + number * cells
        states = after
    assert holdout._conversations == pytest.approx(math.log(count))
    gap = math.sqrt(math.log(2 * count / 0.025) / 1800)
    valued = holdout._valuing.half_width(1 - 0.0125 / 3) / (900 * LATTICE_STEPS)
    assert holdout.corrected_error == pytest.approx(gap + valued + 0.5 / 31 + 1 / LATTICE_STEPS, rel=1e-6)
    assert holdout.kept_error > 0.04 + gap


def test_a_promise_of_a_million_corrections_is_counted_too() -> None:
    found = ReusableHoldout(rows=10**7, questions=10**6, corrections=10**6, budget=Budget(rho=1))
    assert math.sqrt(10**6 * math.log(3163) / (2 * 10**7)) < found.corrected_error < 0.9


def test_a_question_is_about_both_directions_and_the_last_correction_ends_it() -> None:
    for train in (0.2, 0.8):
        holdout = ReusableHoldout(
            rows=1000, questions=9, corrections=1, budget=Budget(epsilon=50), bits=DeterministicBits(4)
        )
        kept = holdout.ask(0.5, [0, 1] * 500)
        assert (kept.value, kept.from_holdout) == (0.5, False)
        answer = holdout.ask(train, [0, 1] * 500)
        assert answer.from_holdout
        assert answer.value == pytest.approx(0.5, abs=0.02)
        assert str(answer).endswith("question 2 of 9, test noise)")
        with pytest.raises(BudgetExceededError, match="1 corrections were made"):
            holdout.ask(0.5, [0, 1] * 500)
        assert holdout.left == holdout.corrections_left == 0


def test_comparisons_spend_what_a_fresh_threshold_each_time_costs() -> None:
    """A twin that kept one threshold for all corrections would spend less than its noise reveals."""
    holdout = ReusableHoldout(rows=100, questions=9, corrections=7, budget=Budget(epsilon=7))
    one = ReusableHoldout(rows=100, questions=9, corrections=1, budget=Budget(epsilon=1))
    assert holdout.privacy_loss.pure_epsilon == one.privacy_loss.pure_epsilon * 7
    assert one.privacy_loss.pure_epsilon == pytest.approx(1, rel=0.001)
    comparing = holdout._comparing
    assert float(
        LATTICE_STEPS / comparing.threshold_scale + 2 * LATTICE_STEPS / comparing.query_scale
    ) == pytest.approx(0.75, rel=0.001)


@pytest.mark.parametrize("wrong", [{"threshold": 2}, {"threshold": -1}, {"corrections": 0}])
def test_a_threshold_outside_and_no_corrections_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParameterError):
        ReusableHoldout(**{"rows": 10, "questions": 2, "corrections": 1, "budget": Budget(epsilon=1), **wrong})
