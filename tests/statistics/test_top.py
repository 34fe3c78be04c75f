from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms import ExponentialMechanism, PermuteAndFlip
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.top import Mode, TopK, mode, top_k

LETTERS = ["a"] * 300 + ["b"] * 200 + ["c"] * 100 + ["d"] * 10


def test_the_most_frequent_values_come_first() -> None:
    answer = top_k(LETTERS, k=3, keys=["d", "c", "b", "a", "x"], epsilon=1, bits=DeterministicBits(1))
    assert answer["key"].tolist() == ["a", "b", "c"]
    assert np.abs(answer["count"] - [300, 200, 100]).max() < 20
    assert answer.intervals()["count"].lower[0] < answer["count"][0]
    private = top_k(LETTERS, k=2, epsilon=1, delta=1e-6, bits=DeterministicBits(1))
    assert private["key"].tolist() == ["a", "b"]
    assert len(top_k(LETTERS, k=9, epsilon=1, delta=1e-6, bits=DeterministicBits(1))) == 3
    assert len(top_k([], k=9, epsilon=1, delta=1e-6, bits=DeterministicBits(1))) == 0


def test_all_places_cost_what_one_count_does() -> None:
    assert TopK(k=4, keys=range(9), epsilon=1).privacy_loss.charge().epsilon == 1
    assert TopK(k=4, keys=range(9), epsilon=1).expected_error(0) == pytest.approx(1.36, abs=0.01)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0, "keys": ["a"]},
        {"k": 2, "keys": ["a"]},
        {"k": 1, "keys": ["a", "a"]},
        {"k": 1},
        {"k": 1, "keys": ["a"], "groups": 2},
        {"k": 1, "keys": ["a"], "epsilon": 0},
    ],
    ids=str,
)
def test_bad_parameters_of_top_k_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        TopK(**{"epsilon": 1, **wrong})


def test_the_mode_is_the_most_frequent_value() -> None:
    for price in ({"epsilon": 1}, {"rho": "1/8"}, {"epsilon": 1, "delta": 1e-6}):
        answer = mode(LETTERS, keys=["d", "c", "b", "a"], bits=DeterministicBits(1), **price)  # type: ignore[arg-type]
        assert answer["mode"].tolist() == ["a"]
        ((lower, upper),) = answer.intervals().values()
        assert lower[0] == 0
        assert upper[0] < 60


def test_the_choice_is_behind_by_what_was_expected() -> None:
    """Ten values, one row apart: 300 runs are behind by less than the bound on average, and within it in 95%."""
    values = np.repeat(np.arange(10), np.arange(20, 30))
    for relation in (AddRemove, Replace):
        plan = Mode(keys=range(10), epsilon=1, relation=relation)
        answers = [plan(values, bits=DeterministicBits(seed)) for seed in range(300)]
        behind = np.array([9 - answer["mode"][0] for answer in answers])
        assert behind.mean() <= plan.expected_error(len(values))
        assert (behind <= answers[0].intervals()["behind"].upper[0]).mean() >= 0.91
        assert behind.mean() > 0.2


def test_the_mechanism_follows_the_price() -> None:
    assert isinstance(Mode(keys=[1], epsilon=1).mechanism, PermuteAndFlip)
    assert isinstance(Mode(keys=[1], rho=1).mechanism, ExponentialMechanism)
    assert (
        Mode(keys=[1, 2], epsilon=1).mechanism.rate == 2 * Mode(keys=[1, 2], epsilon=1, relation=Replace).mechanism.rate
    )
    assert Mode(keys=[1, 2], epsilon=1, rows=3).mechanism.rate * 3 == Mode(keys=[1, 2], epsilon=1).mechanism.rate
    loss = Mode(keys=[1, 2], rho="1/8").privacy_loss
    assert loss.rho is not None
    assert 0.124 < loss.rho <= 0.125


def test_bad_parameters_of_the_mode_are_refused() -> None:
    for wrong in ({"keys": []}, {"keys": ["a", "a"]}, {"keys": ["a"], "epsilon": 0}):
        with pytest.raises(InvalidParameterError):
            Mode(**{"epsilon": 1, **wrong})
    assert mode([], keys=["a", "b"], epsilon=1, bits=DeterministicBits(1))["mode"][0] in {"a", "b"}


def test_mode_says_what_it_needs() -> None:
    with pytest.raises(InvalidParameterError, match="mode needs keys"):
        mode([1], keys=None, epsilon=1)  # type: ignore[arg-type]
