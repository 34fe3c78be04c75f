"""Curves of scores against closed forms and brute force, and thresholds that keep their rate."""

import numpy as np
import pytest
from scipy.stats import beta, norm

from deniable.attacks import infer_membership
from deniable.attacks.membership import threshold_at, trace_roc
from deniable.errors import InvalidParameterError

DICE = np.random.default_rng(20_261)


def test_the_area_counts_pairs_and_half_the_ties() -> None:
    members, others = DICE.integers(0, 6, 40), DICE.integers(0, 5, 30)
    pairs = np.subtract.outer(members, others)
    assert trace_roc(members, others).area == pytest.approx(np.mean(np.sign(pairs) / 2 + 0.5))


def test_the_curve_of_shifted_normal_scores_is_the_known_one() -> None:
    roc = trace_roc(DICE.normal(1, 1, 40_000), DICE.normal(0, 1, 40_000))
    for rate in (0.01, 0.1, 0.5):
        assert roc.at(rate) == pytest.approx(norm.sf(norm.isf(rate) - 1), abs=0.02)  # over five standard errors
    assert roc.area == pytest.approx(norm.cdf(1 / np.sqrt(2)), abs=0.01)


def test_the_threshold_is_the_rank_that_the_beta_law_allows() -> None:
    scores = np.arange(1000.0)
    above = int(np.sum(scores > threshold_at(scores, 0.05)))
    assert beta.sf(0.05, above + 1, 1000 - above) <= 0.025 < beta.sf(0.05, above + 2, 999 - above)


def test_the_rate_is_kept_by_the_threshold_and_broken_by_the_plain_quantile() -> None:
    """Of 1,000 thresholds at most 2.5% should err more than 5%; 4% would be three standard errors above."""
    draws = np.sort(DICE.uniform(size=(1000, 400)), axis=1)
    rates = 1 - np.array([threshold_at(row, 0.05) for row in draws])
    assert np.mean(rates > 0.05) <= 0.04
    assert np.mean(1 - draws[:, 380] > 0.05) > 0.3  # twin: the twentieth from above


def test_scores_that_tell_nothing_succeed_at_most_as_often_as_stated() -> None:
    """False alarms at 95%: at most 5% of 200 attacks; 8% would be two standard errors above."""
    draws = DICE.normal(size=(200, 900))
    alarms = [infer_membership(row[:300], row[300:], seed=place).succeeded for place, row in enumerate(draws)]
    assert np.mean(alarms) <= 0.08


def test_ties_accuse_nobody() -> None:
    result = infer_membership(np.zeros(50), np.zeros(400))
    assert (result.success.right, result.succeeded) == (0, False)


def test_one_half_sets_the_threshold_and_the_other_tests_it() -> None:
    others = DICE.normal(size=2000)
    result = infer_membership(DICE.normal(2, 1, 500), others, seed=5)
    aside, tested = np.split(np.random.default_rng(5).permutation(others), 2)
    threshold = threshold_at(aside, 0.05)
    assert result.facts is not None
    assert result.facts["threshold"] == f"{threshold:.6g}, from 1,000 strangers who are not in the test"
    assert str(result.facts["strangers called members"]).startswith(f"{np.mean(tested > threshold):.1%}")


@pytest.mark.parametrize(
    ("members", "others", "rate", "message"),
    [
        ([], [1.0], 0.05, "at least one number"),
        ([np.nan], [1.0], 0.05, "NaN"),
        ([[1.0]], [1.0], 0.05, "vector"),
        (["a"], [1.0], 0.05, "must be numbers"),
        ([1.0], [1.0], 0.05, "at least 72 strangers"),
        ([1.0], [1.0, 2.0], 1.0, "false_positive_rate"),
    ],
)
def test_bad_scores_are_refused(members: list[float], others: list[float], rate: float, message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        infer_membership(members, others, false_positive_rate=rate)


def test_without_false_positives_the_curve_has_the_members_above_all_others() -> None:
    """At a rate of 0 the curve rises before it goes right."""
    roc = trace_roc([5, 4, 1], [3, 2])
    assert [roc.at(rate) for rate in (0, 0.49, 0.5, 1)] == pytest.approx([2 / 3, 2 / 3, 2 / 3, 1])
