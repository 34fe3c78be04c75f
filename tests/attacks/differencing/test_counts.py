"""Counts of one person, and of groups that differ by one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from deniable.attacks import isolate_people, subtract_counts
from deniable.attacks.differencing.counts import CountAnswers
from deniable.errors import InvalidParameterError

PEOPLE = 120
SECRETS = np.random.default_rng(1).random(PEOPLE) < 0.3


def steward(*, noise: float = 0.0, withheld_below: float = 0.0, smallest_group: int = 0, seed: int = 0) -> CountAnswers:
    dice = np.random.default_rng(seed)

    def answer(groups: NDArray[np.bool_]) -> NDArray[np.float64]:
        counts = groups @ SECRETS.astype(float)
        hidden = (counts < withheld_below) | (groups.sum(axis=1) < smallest_group)
        return np.where(hidden, np.nan, counts + noise * dice.laplace(size=len(counts)))

    return answer


def test_an_exact_count_of_one_person_is_an_answer() -> None:
    result = isolate_people(steward(), SECRETS)
    assert result.success.right == PEOPLE
    assert result.baseline == pytest.approx(1 - SECRETS.mean())


@pytest.mark.parametrize("rule", [{"withheld_below": 5}, {"smallest_group": 10}])
def test_suppression_stops_the_single_count_but_not_the_difference(rule: dict[str, int]) -> None:
    alone = isolate_people(steward(**rule), SECRETS)
    assert not alone.succeeded
    assert alone.facts == {"queries": PEOPLE, "undecided": PEOPLE}
    assert subtract_counts(steward(**rule), SECRETS, deviation=0).success.right == PEOPLE


def test_crossing_the_threshold_is_an_answer_too() -> None:
    """Everybody else has exactly four secrets where the target has the fifth."""
    few = np.arange(40) < 5

    def answer(groups: NDArray[np.bool_]) -> NDArray[np.float64]:
        counts = groups @ few.astype(float)
        return np.where(counts < 5, np.nan, counts)

    result = subtract_counts(answer, few, share=1.0)
    assert result.success.right == 40
    assert result.facts is not None
    assert result.facts["undecided"] == 0


def test_repeated_noisy_answers_average_out_at_the_rate_of_the_theorem() -> None:
    """Laplace noise of scale 2; a miss of all three has probability below 1e-6, a false alarm likewise."""
    one = subtract_counts(steward(noise=2.0), SECRETS, deviation=2 * np.sqrt(2), repeats=1)
    many = subtract_counts(steward(noise=2.0), SECRETS, deviation=2 * np.sqrt(2), repeats=600)
    assert one.success.value < 0.75
    assert many.bound is not None
    assert many.bound.share == pytest.approx(600 / 664)
    assert many.success.value > many.bound.share
    attack, guess = many.curves
    assert attack.y[0] < 0.75 < attack.y[-1]
    assert (guess.y == many.baseline).all()


def test_one_answer_for_all_time_does_not_average_out() -> None:
    """The twin: noise that is fixed for each query, as a ledger answers a repeated question."""
    known: dict[bytes, float] = {}
    fresh = steward(noise=3.0)

    def answer(groups: NDArray[np.bool_]) -> NDArray[np.float64]:
        noisy = fresh(groups)
        return np.array([known.setdefault(group.tobytes(), value) for group, value in zip(groups, noisy, strict=True)])

    assert subtract_counts(answer, SECRETS, repeats=50).success.value < 0.75


def test_batches_change_no_guess(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = subtract_counts(steward(), SECRETS).learned
    monkeypatch.setattr("deniable.attacks.differencing.counts._MAX_CELLS", 1000)
    assert np.array_equal(np.asarray(whole), np.asarray(subtract_counts(steward(), SECRETS).learned))


@pytest.mark.parametrize(
    ("secrets", "other"),
    [
        ([0, 1, 2], {}),
        ([0, np.nan], {}),
        ([1], {}),
        ([], {}),
        ([0, 1], {"targets": []}),
        ([0, 1], {"targets": [2]}),
        ([0, 1], {"share": 0.0}),
        ([0, 1], {"repeats": 0}),
        ([0, 1], {"deviation": np.nan}),
    ],
)
def test_bad_input_is_refused(secrets: list[float], other: dict[str, float]) -> None:
    with pytest.raises(InvalidParameterError):
        subtract_counts(lambda groups: groups.sum(axis=1), secrets, **other)  # type: ignore[arg-type]


def test_an_answer_of_another_shape_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="one number for each of 2 groups"):
        isolate_people(lambda groups: groups, [0, 1])


def test_coins_do_not_beat_the_guess_about_targets_of_the_rarer_value() -> None:
    secrets = np.arange(2000) < 200
    dice = np.random.default_rng(1)
    found = subtract_counts(lambda groups: dice.normal(size=len(groups)), secrets, targets=np.arange(200))
    assert not found.succeeded
