"""LiRA on signals whose best curve is known, RMIA by brute force, and tables from our own mechanism."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from deniable.attacks import infer_membership, score_lira, score_rmia
from deniable.attacks.membership import scale_losses, signals, trace_roc
from deniable.errors import InvalidParameterError
from deniable.mechanisms import Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove
from deniable.privacy.sensitivity.aggregates import of_count

EXAMPLES = 4000


def gaussian_signals(models: int, seed: int, inner: float = 1.0) -> tuple[Any, ...]:
    """Each example has a level of its own; membership adds 1 and multiplies the spread by `inner`."""
    dice = np.random.default_rng(seed)
    level = dice.normal(0, 5, EXAMPLES)
    inside = dice.random((models + 1, EXAMPLES)) < 0.5
    drawn = level + inside + np.where(inside, inner, 1.0) * dice.normal(size=inside.shape)
    return drawn[0], drawn[1:], inside[1:], inside[0]


@pytest.mark.parametrize("online", [True, False])
def test_lira_reaches_the_best_curve_of_normal_signals(online: bool) -> None:
    """Best true-positive rate Phi(1 - z): standard error 0.011, and 256 models cost less than 0.01."""
    target, shadow, inside, members = gaussian_signals(256, seed=1)
    scores = score_lira(target, shadow=shadow, inside=inside, online=online)
    roc, raw = (trace_roc(one[members], one[~members]) for one in (scores, target))
    assert roc.at(0.1) == pytest.approx(norm.sf(norm.isf(0.1) - 1), abs=0.04)
    assert raw.at(0.1) < roc.at(0.1) - 0.15  # twin: one threshold for all levels


def test_lira_uses_the_spread_of_members() -> None:
    """Members have a third of the spread: the log ratio of the two laws, in closed form, is the best score."""
    target, shadow, inside, members = gaussian_signals(400, seed=2, inner=1 / 3)
    level = np.where(inside, 0, shadow).sum(axis=0) / (~inside).sum(axis=0)
    best = norm.logpdf(target, level + 1, 1 / 3) - norm.logpdf(target, level, 1)
    score = score_lira(target, shadow=shadow, inside=inside)
    area = trace_roc(best[members], best[~members]).area
    assert trace_roc(score[members], score[~members]).area == pytest.approx(area, abs=0.01)
    offline = score_lira(target, shadow=shadow, inside=inside, online=False)
    assert trace_roc(offline[members], offline[~members]).area < area - 0.03


def test_few_models_share_their_variance(monkeypatch: pytest.MonkeyPatch) -> None:
    target, shadow, inside, members = gaussian_signals(12, seed=3)
    enough = (inside.sum(axis=0) > 1) & (inside.sum(axis=0) < 11)
    given: Any = {"target": target[enough], "shadow": shadow[:, enough], "inside": inside[:, enough]}
    shared = score_lira(**given)
    monkeypatch.setattr(signals, "MIN_MODELS_FOR_OWN_VARIANCE", 0)
    own, members = score_lira(**given), members[enough]
    rates = [trace_roc(one[members], one[~members]).at(0.05) for one in (shared, own)]
    assert rates[0] > rates[1] + 0.03


def test_lira_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    shadow, inside = [[1.0], [3.0], [0.0], [2.0]], [[1], [1], [0], [0]]
    expected = norm.logpdf(1.5, 2, np.sqrt(2)) - norm.logpdf(1.5, 1, np.sqrt(2))
    for few in (64, 0):
        monkeypatch.setattr(signals, "MIN_MODELS_FOR_OWN_VARIANCE", few)
        assert score_lira([1.5], shadow=shadow, inside=inside) == pytest.approx([expected])
    assert score_lira([1.5], shadow=shadow, inside=inside, online=False) == pytest.approx([0.5 / np.sqrt(2)])


def test_shadow_models_that_all_agree_give_finite_scores() -> None:
    """Twin: without a smallest variance and a smallest probability these are 0/0."""
    agreed: Any = {"shadow": np.zeros((4, 2)), "inside": [[0, 1], [1, 0]] * 2}
    for online in (True, False):
        assert np.isfinite(score_lira([0.0, 1.0], online=online, **agreed)).all()
    crowd: Any = {"population_target": [0.0, 0.5], "population_shadow": np.zeros((4, 2))}
    assert score_rmia([0.0, 0.5], a=1.0, **agreed, **crowd).tolist() == [0, 0.5]


def test_losses_become_logits() -> None:
    p = np.array([0.01, 0.5, 0.999])
    assert scale_losses(-np.log(p)) == pytest.approx(np.log(p / (1 - p)))
    assert np.isfinite(scale_losses([0.0, 1e-300, np.inf])).all()


@pytest.mark.parametrize(("online", "gamma", "a"), [(True, 1.0, 0.3), (False, 2.0, 0.5), (False, 0.7, 0.0)])
def test_rmia_by_brute_force(online: bool, gamma: float, a: float) -> None:
    dice = np.random.default_rng(5)
    x, shadow, z, crowd = dice.random(7), dice.random((6, 7)), dice.random(9), dice.random((6, 9))
    inside = np.tile([[0], [1]], (3, 7))
    found = score_rmia(x, shadow=shadow, inside=inside, population_target=z, population_shadow=crowd,
                       online=online, gamma=gamma, a=a)  # fmt: skip
    for place in range(7):
        out, inner = shadow[::2, place].mean(), shadow[1::2, place].mean()
        usual = (out + inner) / 2 if online else (1 + a) / 2 * out + (1 - a) / 2
        wins = [
            (x[place] / usual) / (z[other] / ((1 + a) / 2 * crowd[:, other].mean() + (1 - a) / 2)) > gamma
            for other in range(9)
        ]
        assert found[place] == pytest.approx(np.mean(wins))


def test_rmia_finds_members_of_a_model_that_remembers() -> None:
    target, shadow, inside, members = gaussian_signals(32, seed=6)
    dice = np.random.default_rng(7)
    crowd = dice.normal(0, 5, 2000) + dice.normal(size=(33, 2000))
    target, shadow, crowd = (1 / (1 + np.exp(-one)) for one in (target, shadow, crowd))
    scores = score_rmia(target, shadow=shadow, inside=inside, population_target=crowd[0],
                        population_shadow=crowd[1:])  # fmt: skip
    result = infer_membership(scores[members], scores[~members])
    assert result.succeeded
    assert trace_roc(scores[members], scores[~members]).area > 0.6


def test_a_histogram_of_ours_hides_members_and_an_exact_one_does_not() -> None:
    dice = np.random.default_rng(8)
    members, strangers = dice.integers(0, 4096, 600), dice.integers(0, 4096, 2000)
    exact = np.bincount(members, minlength=4096)
    mechanism = Laplace.calibrated(of_count(rows=1, groups=1, relation=AddRemove), epsilon="0.1")
    private = np.asarray(mechanism.release(exact, bits=DeterministicBits(2)).value)
    open_result, closed = (
        infer_membership(counts[members], counts[strangers], false_positive_rate=0.2) for counts in (exact, private)
    )
    assert open_result.success.value == 1
    assert not closed.succeeded


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"shadow": [[0.1], [0.2]]}, "shape"),
        ({"shadow": [[0.1, np.nan], [0.2, 0.3]]}, "NaN or infinity"),
        ({"inside": [[0, 2], [1, 1]]}, "must hold booleans"),
        ({"inside": [[1, 1], [1, 1]]}, "without each"),
        ({"target": [np.nan, 1]}, "NaN"),
        ({"shadow": [[0.1, 0.2]], "inside": [[0, 0]]}, "at least 2 models"),
    ],
)
def test_bad_signals_are_refused(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"target": [0.1, 0.2], "shadow": [[0.1, 0.2], [0.3, 0.4]], "inside": [[0, 1], [1, 0]]}
    with pytest.raises(InvalidParameterError, match=message):
        score_lira(**given | change)


def test_bad_probabilities_are_refused() -> None:
    given: dict[str, Any] = {"target": [0.1], "shadow": [[0.1], [0.3]], "inside": [[0], [1]]}
    crowd: dict[str, Any] = {"population_target": [0.2], "population_shadow": [[0.1], [0.2]]}
    for change, message in (
        ({"target": [1.2]}, "probabilities"),
        ({"gamma": 0}, "gamma must"),
        ({"a": 2}, "a in"),
        ({"inside": [[0], [0]]}, "with each"),
    ):
        with pytest.raises(InvalidParameterError, match=message):
            score_rmia(**given | crowd | change)
    with pytest.raises(InvalidParameterError, match="losses must be >= 0"):
        scale_losses([-1.0])
