"""What stewards answer: each kind against its own definition."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable.attacks.reconstruction import (
    answer_adversarially,
    answer_exactly,
    answer_rounded,
    answer_unless_small,
    answer_with_gaussian,
    answer_with_laplace,
    answer_within,
    random_subsets,
)
from deniable.errors import InvalidParameterError

SECRETS = np.array([1, 0, 1, 1, 0, 0, 1, 0, 1, 1])
GROUPS = random_subsets(people=10, queries=2000)
EXACT = np.array([sum(SECRETS[np.flatnonzero(group)]) for group in GROUPS])


def test_exact_counts_are_counts() -> None:
    assert (answer_exactly(SECRETS)(GROUPS) == EXACT).all()


def test_rounded_counts_are_the_nearest_multiples() -> None:
    told = answer_rounded(SECRETS, base=3)(GROUPS)
    assert (told == [min(range(0, 12, 3), key=lambda multiple: abs(multiple - count)) for count in EXACT]).all()


def test_small_counts_are_withheld_and_zero_is_told() -> None:
    told = answer_unless_small(SECRETS, below=3)(GROUPS)
    assert (np.isnan(told) == np.isin(EXACT, (1, 2))).all()
    assert (told[~np.isnan(told)] == EXACT[~np.isnan(told)]).all()
    assert 0 in told


@pytest.mark.parametrize(
    ("answer", "law"),
    [
        (lambda: answer_within(SECRETS, error=2.5), stats.uniform(-2.5, 5)),
        (lambda: answer_with_laplace(SECRETS, scale=3), stats.laplace(0, 3)),
        (lambda: answer_with_gaussian(SECRETS, sigma=3), stats.norm(0, 3)),
    ],
)
def test_errors_have_the_law_that_they_claim(answer: Callable[[], Any], law: Any) -> None:
    """One seed, false alarm 1%; a scale off by 1.3 is refused by the same test."""
    errors = answer()(GROUPS) - EXACT
    assert stats.kstest(errors, law.cdf).pvalue > 0.01
    assert stats.kstest(1.3 * errors, law.cdf).pvalue < 0.01


def test_the_adversary_makes_the_decoy_fit_as_well_as_the_truth() -> None:
    """Two ones and two zeros are flipped: 4 * error = 4 bits, as many as Theorem 1 admits."""
    told = answer_adversarially(SECRETS, error=1)(GROUPS)
    decoy = np.array([0, 1, 0, 1, 1, 0, 1, 0, 1, 1])
    assert np.abs(told - EXACT).max() == 1
    assert np.abs(told - GROUPS @ decoy).max() == 1
    assert (answer_adversarially(SECRETS, error=2, decoy=decoy)(GROUPS) == GROUPS @ decoy).all()


@pytest.mark.parametrize("secrets", [[], [0, 2], [0, np.nan], [[0, 1]], ["yes", "no"], [None, 1]])
def test_secrets_are_bits(secrets: object) -> None:
    with pytest.raises(InvalidParameterError, match="secrets must"):
        answer_exactly(secrets)  # type: ignore[arg-type]


def test_settings_have_their_domains() -> None:
    for call in (
        lambda: answer_rounded(SECRETS, base=0),
        lambda: answer_unless_small(SECRETS, below=0),
        lambda: answer_within(SECRETS, error=-1),
        lambda: answer_with_laplace(SECRETS, scale=np.nan),
        lambda: answer_with_gaussian(SECRETS, sigma=np.inf),
        lambda: answer_adversarially(SECRETS, error=1, decoy=[0, 1]),
        lambda: answer_exactly(SECRETS)(np.ones((2, 3))),
    ):
        with pytest.raises(InvalidParameterError):
            call()
