"""Randomised response: published epsilons, the law, what a unit is, wrong answers that must not tell."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from deniable.errors import InvalidParameterError, UnprovedError
from deniable.mechanisms import Laplace, RandomizedResponse, Shares
from deniable.noise.bits import SECURE, DeterministicBits
from deniable.privacy import AddRemove, of_count


def epsilon_of(mechanism: RandomizedResponse) -> float:
    return mechanism.privacy_loss(mechanism.sensitivity()).epsilon(0).upper


@pytest.mark.parametrize(("gamma", "truth"), [("0.1", 0.405465), ("0.3", 1.386294), ("0.45", 2.944439)])
def test_epsilon_is_above_four_gamma(gamma: str, truth: float) -> None:
    """E03: the notes say "4 gamma-DP", which is false for every gamma > 0: epsilon = 2 atanh(2 gamma)."""
    found = epsilon_of(RandomizedResponse.of_bias(gamma))
    assert found == pytest.approx(2 * math.atanh(2 * float(gamma)), rel=1e-9)
    assert found == pytest.approx(truth, abs=1e-6)
    assert found > 4 * float(gamma)


def test_golden_epsilons() -> None:
    """Golden G1: gamma = 0.1; G3: truth with probability 1/2, otherwise a fair coin, is ln 3."""
    assert epsilon_of(RandomizedResponse.of_bias("0.1")) == pytest.approx(0.40546510810816438198, rel=1e-9)
    assert epsilon_of(RandomizedResponse.of_coin("1/2")) == pytest.approx(1.0986122886681096914, rel=1e-9)
    assert RandomizedResponse.of_coin("1/2") == RandomizedResponse.of_bias("1/4")


@pytest.mark.parametrize(("epsilon", "truth"), [(8, 0.99966), (4, 0.98201)])
def test_at_epsilon_8_an_answer_is_as_good_as_the_truth(epsilon: int, truth: float) -> None:
    """E73; 10^6 reports, five standard deviations: one seed in 10^6."""
    told = RandomizedResponse(epsilon=epsilon).release(np.ones(10**6, dtype=int), bits=DeterministicBits(1)).value
    assert told.mean() == pytest.approx(truth, abs=5 * math.sqrt(truth * (1 - truth) / 1e6) + 5e-6)


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomizedResponse.of_bias("1/5"),
        RandomizedResponse.of_coin("1/4", choices=5),
        RandomizedResponse(choices=4, truth="1/10"),  # lies more often than not
        RandomizedResponse(choices=3, epsilon="1/2"),
        RandomizedResponse(epsilon="3/2"),
    ],
    ids=str,
)
@pytest.mark.parametrize("answer", [0, 1])
def test_reports_follow_the_law_for_every_answer(mechanism: RandomizedResponse, answer: int) -> None:
    """Chi-square, one seed in 10^6; the same counts are rejected at a truth that is 0.02 larger."""
    told = mechanism.release(np.full(200_000, answer), bits=DeterministicBits(2)).value.astype(np.int64)
    counts = np.bincount(told, minlength=mechanism.choices)
    odds = math.exp(float(mechanism.epsilon)) if mechanism.epsilon else None
    truth = odds / (odds + mechanism.choices - 1) if odds else float(mechanism.truth or 0)

    def p_value(p: float) -> float:
        law = np.full(mechanism.choices, (1 - p) / (mechanism.choices - 1))
        law[answer] = p
        return float(stats.chisquare(counts, 200_000 * law).pvalue)

    assert p_value(truth) > 1e-6
    assert p_value(truth + 0.02) < 1e-9


def test_a_set_of_reports_is_no_worse_than_the_worst_report() -> None:
    """Inventory 52, exercise 3 of the notes: sums over sets of outcomes keep the ratio e^epsilon."""
    mechanism = RandomizedResponse(choices=4, truth="7/10")
    law = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    limit = math.exp(epsilon_of(mechanism))
    for size in range(1, 5):
        for chosen in combinations(range(4), size):
            sums = law[:, list(chosen)].sum(axis=1)
            assert sums.max() <= limit * sums.min() * (1 + 1e-9)


def test_one_person_with_several_reports_pays_for_each() -> None:
    """The defect in the style guide: a hundred randomised responses booked as one."""
    mechanism = RandomizedResponse(choices=3, epsilon=1)
    assert mechanism.privacy_loss(mechanism.sensitivity(reports=100)).charge().epsilon == 100


def test_add_remove_and_unbounded_reports_are_refused() -> None:
    mechanism = RandomizedResponse(epsilon=1)
    with pytest.raises(UnprovedError, match="proved for Replace"):
        mechanism.privacy_loss(of_count(rows=1, groups=1, relation=AddRemove))
    with pytest.raises(InvalidParameterError, match="coordinates must say"):
        mechanism.privacy_loss(replace(mechanism.sensitivity(), coordinates=None))


def test_answers_that_do_not_exist_are_moved_and_not_told() -> None:
    mechanism = RandomizedResponse(choices=3, epsilon=30)
    told = mechanism.release(np.array([-5, 0, 2, 3, 2**62]), bits=DeterministicBits(3))
    assert told.value.tolist() == [0, 0, 2, 2, 2]
    assert not told.safe
    assert mechanism.release(1, bits=SECURE).safe
    assert mechanism.release([[1, 2], None, 1.2], bits=DeterministicBits(3)).value.tolist() == [0, 0, 1]
    assert mechanism.release(None, bits=DeterministicBits(3)).value.tolist() == 0
    with pytest.raises(InvalidParameterError, match="exact must hold integers"):
        mechanism.release(np.array(["yes"]))


def test_local_noise_costs_a_factor_that_grows_with_the_square_root_of_n() -> None:
    """Inventory 51: at epsilon = 1 the deviation of a share is 0.96/sqrt(n) here and 1.36/n for a central count."""
    mechanism = RandomizedResponse(epsilon=1)
    ratios = []
    for n in (10_000, 1_000_000):
        tally = (n // 2, n // 2)
        own = math.sqrt(Shares(mechanism=mechanism, tally=tally).variance()[0])
        ratios.append(own / (Laplace(scale=1).standard_deviation() / n))
    assert ratios[1] / ratios[0] == pytest.approx(10, rel=1e-6)
    assert ratios[0] > 50


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "give either truth"),
        ({"truth": "1/2", "epsilon": 1}, "give either truth"),
        ({"truth": 1}, "truth must be in"),
        ({"truth": float("nan")}, "truth must be"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"choices": 1, "truth": "1/2"}, "choices must be"),
        ({"choices": 2.0, "truth": "1/2"}, "choices must be"),
        ({"choices": 2**32, "epsilon": 1}, r"choices must be <= 2\^31"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        RandomizedResponse(**given)


def test_bad_bias_and_share_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="gamma must be"):
        RandomizedResponse.of_bias(Fraction(1, 2))
    with pytest.raises(InvalidParameterError, match="share must be"):
        RandomizedResponse.of_coin(1)
