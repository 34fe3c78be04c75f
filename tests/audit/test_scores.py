"""Scores rank outputs by how much more likely they are on the first input."""

import numpy as np
import pytest

from deniable.audit.outputs import Outputs, encode
from deniable.audit.scores import OutputScore, fit, shrunk_log_ratio


def scores_of(ours: object, theirs: object) -> tuple[dict[str, OutputScore], Outputs, Outputs]:
    encoded = encode(ours, theirs, low_bits=False)  # type: ignore[arg-type]
    return {score.family: score for score in reversed(fit(*encoded))}, *encoded


def test_outcomes_are_ranked_by_their_ratio() -> None:
    scores, ours, _ = scores_of(["a"] * 70 + ["b"] * 20 + ["c"] * 10, ["a"] * 10 + ["b"] * 20 + ["c"] * 70)
    found = scores["outcomes"].of(ours)
    assert found[0] > found[80] == 0 > found[95]
    assert scores["outcomes"].words(found[0], True) == "the output is 'a'"


def test_rare_outcomes_rank_behind_those_that_are_sure() -> None:
    found = shrunk_log_ratio(np.array([1, 1000]), np.array([0, 500]))
    assert 0 == found[0] < found[1] < np.log(2)


def test_kinds_are_told_apart() -> None:
    scores, _, theirs = scores_of([1.5, None] * 50, [1.5] * 100)
    assert set(scores["kinds of output"].of(theirs)) == {scores["kinds of output"].of(theirs).min()}
    assert scores["kinds of output"].words(0.5, True) == "the output is None"


def test_an_interval_is_found_that_no_threshold_shows() -> None:
    rng = np.random.default_rng(1)
    scores, ours, _ = scores_of(rng.uniform(-1, 1, 4000), rng.choice([-1, 1], 4000) * rng.uniform(0.5, 1, 4000))
    inside = scores["intervals"].of(ours) > 1
    assert (inside == (np.abs(ours.columns[:, 0]) < 0.5)).mean() > 0.97
    assert scores["intervals"].words(1.0, True).startswith("output in [")


def test_a_classifier_adds_up_what_each_coordinate_shows() -> None:
    """Product of eight shifted normal laws: the best score is the sum."""
    rng = np.random.default_rng(2)
    scores, ours, theirs = scores_of(rng.normal(0.3, 1, (4000, 8)), rng.normal(0, 1, (4000, 8)))
    score = scores["classifier"]
    for one in (ours, theirs):
        assert np.corrcoef(score.of(one), one.columns[:, :8].sum(axis=1))[0, 1] > 0.95


def test_scores_read_each_output_by_itself() -> None:
    rng = np.random.default_rng(3)
    table = rng.normal(size=(300, 3)).round(1)
    table[::7, 0] = np.nan
    scores, ours, _ = scores_of(table, table[::-1] + 0.1)
    order = rng.permutation(300)
    for score in scores.values():
        assert score.of(ours)[order] == pytest.approx(score.of(ours[order]), nan_ok=True)


def test_which_events_there_are_does_not_depend_on_other_runs() -> None:
    """One vector or one fraction among later runs brings new columns; those that fit scores hold nothing in them."""
    old = [float(number) for number in np.random.default_rng(4).integers(0, 5, 200)]
    for later in ([1.0], [0.5], [(1, 2)], [None]):
        ours, theirs = encode(old + later, old[::-1] + later)
        plain = encode(old, old[::-1])
        found = fit(ours[slice(len(old))], theirs[slice(len(old))])
        wanted = fit(*plain)
        assert [score.family for score in found] == [score.family for score in wanted]
        for one, other in zip(found, wanted, strict=True):
            assert one.of(ours[slice(len(old))]) == pytest.approx(other.of(plain[0]), nan_ok=True)
