"""Data that come later, against what was published before."""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog

from deniable.attacks import learn_from_later_data
from deniable.errors import InvalidParameterError

SECRETS = np.random.default_rng(0).random(300) < 0.5
GROUPS = np.arange(300) // 6


def exact(bits: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.bincount(GROUPS, bits)


def test_the_last_member_of_a_k_anonymous_group_is_given_away() -> None:
    result = learn_from_later_data(exact, SECRETS, GROUPS, runs=3)
    assert result.success.right == result.success.attempts == 150
    assert result.facts == {"people in the smallest group": 6}


def test_rounding_delays_the_attack_without_stopping_it() -> None:
    result = learn_from_later_data(lambda bits: np.round(exact(bits) / 2) * 2, SECRETS, GROUPS)
    assert result.success.value > 0.6
    assert result.success.value < 1


def test_a_private_release_keeps_the_attack_below_its_claim() -> None:
    """Laplace noise of scale 1/epsilon; the lower 99.9999% end is above the limit with probability below 1e-6."""
    dice = np.random.default_rng(1)
    for epsilon, limit in ((0.5, 1 / (1 + math.exp(-0.5))), (2.0, 1 / (1 + math.exp(-2.0)))):
        result = learn_from_later_data(
            lambda bits, scale=1 / epsilon: exact(bits) + scale * dice.laplace(size=50),  # type: ignore[misc]
            SECRETS, GROUPS, runs=40, epsilon=epsilon,
        )  # fmt: skip
        assert result.facts is not None
        assert result.facts["most that any attack expects, by the claim"] == f"{limit:.1%}"
        assert result.success.value < limit + 5 * math.sqrt(0.25 / 2000)
        # This attack on Laplace noise is right with probability 1 - exp(-epsilon / 2) / 2.
        assert result.success.value == pytest.approx(1 - math.exp(-epsilon / 2) / 2, abs=5 * math.sqrt(0.25 / 2000))
    # The twin: exact counts with the same claim break the limit.
    assert learn_from_later_data(exact, SECRETS, GROUPS, epsilon=0.5).success.lower > 1 / (1 + math.exp(-0.5))


@pytest.mark.parametrize(
    ("rate", "epsilon", "delta"), [(0.5, 1.0, 0.0), (0.1, 0.5, 0.01), (0.8, 3.0, 0.1), (0.3, 0, 0.5)]
)
def test_the_limit_is_the_optimum_of_its_linear_program(rate: float, epsilon: float, delta: float) -> None:
    secrets = np.arange(1000) < 1000 * rate
    groups = np.arange(1000)
    result = learn_from_later_data(lambda bits: bits, secrets, groups, epsilon=epsilon, delta=delta)
    odds = math.exp(epsilon)
    best = linprog(
        [-rate, rate - 1], A_ub=[[1, odds], [odds, 1]], b_ub=[odds + delta, odds + delta], bounds=[(0, 1), (0, 1)]
    )
    assert result.facts is not None
    assert result.facts["most that any attack expects, by the claim"] == f"{-best.fun:.1%}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"secrets": [0, 2]},
        {"secrets": [0]},
        {"groups": [0]},
        {"groups": [0, 2]},
        {"groups": [0, -1]},
        {"groups": [0.0, 1.0]},
        {"runs": 0},
        {"epsilon": math.nan},
        {"epsilon": 1, "delta": 2},
        {"release": lambda bits: [1]},
    ],
)
def test_bad_input_is_refused(wrong: dict[str, Any]) -> None:
    given: dict[str, Any] = {"release": lambda bits: bits, "secrets": [0, 1], "groups": [0, 1]} | wrong
    with pytest.raises(InvalidParameterError):
        learn_from_later_data(**given)
