"""Audits of mechanisms whose truth is known: never above it more often than stated, close to it, and no crash."""

import json
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from deniable.audit import measure
from deniable.audit.binomial import epsilon_of
from deniable.audit.black_box import _split
from deniable.audit.events import AuditGoal, choose
from deniable.audit.outputs import encode
from deniable.audit.scores import fit
from deniable.errors import InvalidParameterError
from deniable.privacy import ApproximateLoss, GaussianLoss, PureLoss
from tests.audit.test_outputs import ODD


def laplace(scale: float, seed: int) -> Callable[[list[int], int], Any]:
    rng = np.random.default_rng(seed)
    return lambda rows, runs: sum(rows) + rng.laplace(scale=scale, size=runs)


def gaussian(sigma: float, seed: int) -> Callable[[list[int], int], Any]:
    rng = np.random.default_rng(seed)
    return lambda rows, runs: sum(rows) + rng.normal(scale=sigma, size=runs)


def response(epsilon: float, seed: int) -> Callable[[int, int], Any]:
    rng = np.random.default_rng(seed)
    return lambda bit, runs: bit ^ (rng.random(runs) < 1 / (1 + math.exp(epsilon)))


def audited(mechanism: Callable[..., Any], pair: tuple[Any, Any] = ([1], []), **options: Any) -> Any:
    return measure(mechanism, *pair, **{"batched": True, "low_bits": False, **options})


def test_bounds_exceed_the_truth_as_seldom_as_stated() -> None:
    """300 audits at confidence 0.9 of mechanisms whose epsilon is 1. More than 47 alarms: one seed in 1,000."""
    found = [audited(laplace(1, seed), runs=400, epsilon=1, confidence=0.9).violated for seed in range(150)]
    found += [audited(response(1, seed), (0, 1), runs=400, epsilon=1, confidence=0.9).violated for seed in range(150)]
    assert sum(found) <= stats.binom.isf(1e-3, 300, 0.1) == 47


def test_an_event_tested_on_the_runs_that_chose_it_is_wrong_too_often() -> None:
    """The twin of the test above, with nothing to be found at all: 40 audits at confidence 0.9."""
    wrong = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        same = encode(rng.normal(size=400), rng.normal(size=400), low_bits=False)
        event = choose(fit(*same), *same, goals=[AuditGoal(0.0, 0.0)], runs=400, failure=0.1)
        assert event is not None
        wrong += epsilon_of(*event.hits(*same), 400, delta=0.0, failure=0.1) > 0
    assert wrong > 15


@pytest.mark.parametrize(
    ("mechanism", "pair", "delta", "truth"),
    [
        (laplace(1, 1), ([1], []), 0, 1.0),
        (response(2, 2), (0, 1), 0, 2.0),
        (gaussian(1, 3), ([1], []), 0.05, GaussianLoss(noise_multiplier=1).epsilon(0.05).upper),
    ],
)
def test_bounds_come_close_to_the_truth(mechanism: Any, pair: Any, delta: float, truth: float) -> None:
    found = audited(mechanism, pair, delta=delta, runs=400_000)
    assert 0.96 * truth < found.epsilon <= truth
    assert found.claim is None
    assert not found.violated


@pytest.mark.parametrize("mechanism", [laplace(0.7, 4), gaussian(0.7, 5)])
def test_less_noise_than_claimed_is_caught(mechanism: Any) -> None:
    claim = GaussianLoss(noise_multiplier=1)
    found = audited(mechanism, claim=claim)
    assert found.violated
    assert found.measured is not None
    assert found.epsilon > found.claimed
    assert not audited(gaussian(1, 6), claim=claim).violated


def test_the_low_bits_of_float_noise_are_an_event() -> None:
    """Laplace noise on 1 and on 1/3: the noise itself is private, the floats are not."""
    noise = laplace(1, 7)
    found = measure(noise, [1.0], [1 / 3], epsilon=1, batched=True)
    assert found.violated
    assert "power of two" in found.event
    assert "low bits of floats" in found.tried
    assert any("sampling cannot show that it is impossible" in limit for limit in found.limits)
    assert not audited(noise, ([1.0], [1 / 3]), epsilon=1).violated


def test_a_likelihood_ratio_chooses_the_event() -> None:
    """Noise of two orders: no single column shows the difference, the density does. A wrong one costs power alone."""
    rng = np.random.default_rng(8)

    def pairs(sign: int, runs: int) -> Any:
        first = rng.choice([-1, 1], runs)
        return np.column_stack([first, sign * first * np.where(rng.random(runs) < 0.25, -1, 1)])

    def density(outputs: Any, sign: int) -> Any:
        return np.where(outputs[:, 0] * outputs[:, 1] == sign, math.log(0.75), math.log(0.25))

    found = measure(pairs, 1, -1, batched=True, log_density=density, runs=20_000)
    assert 1.0 < found.epsilon <= math.log(3)
    assert "likelihood ratio" in found.tried
    wrong = measure(pairs, 1, -1, batched=True, log_density=lambda outputs, sign: np.arange(len(outputs)), runs=5000)
    assert wrong.epsilon <= math.log(3)


def test_text_none_nan_and_errors_are_outputs() -> None:
    rng = np.random.default_rng(9)

    def odd(rows: list[int]) -> object:
        if rows and rng.random() < 0.2:
            raise KeyError("a private value")
        return [None, "text", math.nan, [1.0] * int(rng.integers(3)), (1, "a")][rng.integers(5)]

    found = measure(odd, [1], [], epsilon=1, runs=2000)
    assert found.violated
    assert found.event == "the output is an error of type KeyError"
    assert "private" not in str(found)


def test_a_mechanism_that_always_fails_is_told() -> None:
    found = measure(lambda rows: 1 / 0, [1], [], epsilon=1, runs=20)
    assert found.epsilon == 0
    assert "all runs raised ZeroDivisionError" in str(found)


def test_too_few_runs_say_what_they_cannot_conclude() -> None:
    found = audited(laplace(1, 10), epsilon=8, runs=1000)
    assert not found.violated
    assert "any epsilon above 4.5" in found.limits[0]
    assert "500 runs that test cannot certify so much; it takes more than" in found.sentence


def test_a_mechanism_that_hangs_gets_a_result_that_concludes_nothing() -> None:
    import threading

    free = threading.Event()
    found = measure(lambda rows: free.wait(), [1], [], epsilon=1, seconds=0.05)
    free.set()
    assert found.epsilon == 0
    assert found.sentence.startswith("Nothing can be concluded about epsilon=1: an audit needs at least")


@pytest.mark.parametrize("epsilon", [0, math.inf])
def test_claims_of_no_privacy_and_of_all_of_it(epsilon: float) -> None:
    found = audited(response(1, 11), (0, 1), epsilon=epsilon)
    assert found.violated == (epsilon == 0)
    assert json.loads(found.to_json())["violated"] == (epsilon == 0)
    assert not audited(lambda bit, runs: np.random.default_rng(12).random(runs), (0, 1), epsilon=0).violated


def test_a_curve_that_is_infinite_at_small_deltas_is_tested_at_others() -> None:
    assert audited(gaussian(0.5, 13), claim=GaussianLoss(noise_multiplier=1)).delta > 0


def test_the_same_runs_and_seed_give_the_same_result() -> None:
    first, again = (audited(laplace(1, 14), epsilon=1, seed=3, runs=1000) for _ in range(2))
    assert first.to_json() == again.to_json()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": 0}, "confidence must be in"), ({"confidence": 1}, "confidence must be in"),
        ({"runs": 7}, "runs must be >= 8"), ({"delta": 1}, "delta must be in"), ({"epsilon": -1}, "epsilon"),
        ({"seconds": 0}, "seconds must be > 0"), ({"epsilon": 1, "claim": PureLoss(epsilon=1)}, "not as both"),
    ],
)  # fmt: skip
def test_parameters_outside_their_domain_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        measure(len, [1], [], **options)


@given(seed=st.integers(0, 2**32 - 1), outcomes=st.lists(st.sampled_from(ODD), min_size=2, max_size=6))
def test_a_correct_mechanism_raises_no_alarm_whatever_its_outputs_are(seed: int, outcomes: list[object]) -> None:
    """Randomized response with any outputs: an alarm is one example in ten million."""
    rng = np.random.default_rng(seed)

    def respond(choice: int) -> object:
        odds = np.where(np.arange(len(outcomes)) == choice, math.e, 1.0)
        return outcomes[rng.choice(len(outcomes), p=odds / odds.sum())]

    assert not measure(respond, 0, 1, epsilon=1, confidence=1 - 1e-7, runs=200, seed=seed).violated


def test_a_claim_with_a_delta_of_its_own_is_tested_at_that_delta() -> None:
    """The output is the secret itself with probability 0.05, as if delta were 1e-6, which its list of deltas misses."""

    def name_and_shame(bit: int, runs: int) -> Any:
        return np.where(np.random.default_rng(bit).random(runs) < 0.05, bit, 2)

    found = audited(name_and_shame, (0, 1), claim=ApproximateLoss(epsilon=1, delta="1e-6"))
    assert found.violated
    assert found.delta == pytest.approx(1e-6)
    assert not audited(name_and_shame, (0, 1), claim=ApproximateLoss(epsilon=1, delta="0.051")).violated


def test_a_mechanism_that_counts_its_calls_tells_no_inputs_apart() -> None:
    calls = iter(range(10_000))
    assert measure(lambda _: next(calls), 0, 1, epsilon=0.1, runs=2000).epsilon == 0


@pytest.mark.parametrize(
    ("mechanism", "said"),
    [
        (lambda _: 1 / 0, "all runs failed"),
        (lambda _: sys.exit(3), "all runs raised SystemExit"),
        (lambda rows: (row for row in rows), "outputs of type generator hold"),
        (lambda rows: 10 ** (5000 + len(rows)), "No violation found of epsilon=4"),
    ],
)
def test_what_cannot_be_read_is_said(mechanism: Any, said: str) -> None:
    assert said in str(measure(mechanism, [], [], epsilon=4, runs=200 if said[0] != "N" else 2000))


def test_a_density_of_another_shape_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="one number for each output"):
        measure(lambda exact: exact, 0, 1, runs=50, log_density=lambda outputs, exact: np.zeros(3))


def test_a_density_that_throws_dice_of_its_own_raises_no_alarm() -> None:
    rng = np.random.default_rng(1)
    for seed in range(10):
        found = measure(
            laplace(1, seed), [1], [], epsilon=1, runs=400, batched=True, low_bits=False, seed=seed,
            log_density=lambda outputs, exact: np.asarray(outputs) * rng.normal() + rng.normal(),
        )  # fmt: skip
        assert not found.violated


def test_outputs_that_are_all_unreadable_conclude_nothing() -> None:
    assert "type object cannot be read" in measure(lambda _: object(), 0, 1, epsilon=1, runs=2000).inconclusive
    told = measure(lambda bit: object() if bit else None, 0, 1, epsilon=1, runs=2000)
    assert (told.violated, told.inconclusive) == (True, "")


def test_a_mapping_that_may_be_a_law_is_pointed_out() -> None:
    law, other = (measure(lambda _, p=p: {"a": p, "b": 0.75}, 0, 1, runs=1000).limits for p in (0.25, 0.5))
    assert "measure_exactly" in " ".join(law)
    assert "measure_exactly" not in " ".join(other)


@pytest.mark.parametrize("bad", [{"seed": -1}, {"seed": math.nan}, {"seed": 0.5}, {"runs": 10**30}, {"runs": "many"}])
def test_bad_seeds_and_runs_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError, match=r"(seed|runs) must be"):
        measure(len, [1], [2], **{"runs": 10, **bad})


def test_runs_that_fit_choose_and_test_come_from_all_times() -> None:
    """So that a mechanism that changes as it runs is the same in all three, on either input."""
    outputs = encode(np.arange(4000.0), np.arange(4000.0), low_bits=False)
    parts = _split(outputs, seed=0)
    assert [len(one) for one, _ in parts] == [1000, 1000, 2000]
    for which in (0, 1):
        times = [part[which].columns[:, 0] for part in parts]
        assert np.array_equal(np.sort(np.concatenate(times)), np.arange(4000.0))
        assert all(abs(each.mean() - 2000) < 150 for each in times)  # 4 standard deviations
