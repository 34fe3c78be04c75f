"""Least squares, against dense linear algebra and Bayes' rule."""

import numpy as np
import pytest

from deniable.attacks import (
    answer_exactly,
    answer_unless_small,
    answer_with_gaussian,
    estimate_by_least_squares,
    hadamard_subsets,
    random_subsets,
    sparse_subsets,
)
from deniable.errors import InvalidParameterError

SECRETS = np.random.default_rng(5).integers(0, 2, 60)
GROUPS = random_subsets(people=60, queries=150)


def test_the_estimate_is_that_of_dense_least_squares() -> None:
    told = answer_with_gaussian(SECRETS, sigma=2)(GROUPS)
    assert estimate_by_least_squares(GROUPS, told) == pytest.approx(np.linalg.lstsq(GROUPS * 1.0, told)[0], abs=1e-6)


def test_noise_and_share_make_it_the_mean_of_bayes_rule() -> None:
    told = answer_with_gaussian(SECRETS, sigma=20)(GROUPS)
    precision = GROUPS.T @ (GROUPS * 1.0) / 400 + np.eye(60) / (0.3 * 0.7)
    mean = np.linalg.solve(precision, GROUPS.T @ told / 400 + 0.3 / (0.3 * 0.7))
    assert estimate_by_least_squares(GROUPS, told, share=0.3, noise=20) == pytest.approx(mean, abs=1e-6)


def test_withheld_answers_are_left_out() -> None:
    groups = sparse_subsets(people=60, queries=300, size=9)
    told = answer_unless_small(SECRETS, below=4)(groups)
    assert 10 < np.isnan(told).sum() < 200
    kept = ~np.isnan(told)
    dense = np.linalg.lstsq(groups.toarray()[kept], told[kept])[0]
    assert estimate_by_least_squares(groups, told) == pytest.approx(dense, abs=1e-5)


def test_thousands_of_people_come_back_exactly() -> None:
    secrets = np.random.default_rng(6).integers(0, 2, 20_000)
    for groups in (hadamard_subsets(people=20_000), sparse_subsets(people=20_000, queries=60_000, size=20)):
        found = estimate_by_least_squares(groups, answer_exactly(secrets)(groups))
        assert (found.round() == secrets).all()


@pytest.mark.parametrize(
    ("answers", "other", "message"),
    [
        (np.zeros(3), {}, "need as many answers"),
        (np.full(150, np.nan), {}, "no query was answered"),
        (np.full(150, np.inf), {}, "finite"),
        (np.zeros(150), {"share": 1}, "share"),
        (np.zeros(150), {"noise": np.nan}, "noise"),
    ],
)
def test_what_says_nothing_is_refused(answers: np.ndarray, other: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        estimate_by_least_squares(GROUPS, answers, **other)
