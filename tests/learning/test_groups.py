from typing import Any

import numpy as np
import pytest
from scipy import stats

from deniable import Budget, Ledger, PrivacyUnit
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import LogisticRegression, NoisyDescent, Poisson, TrainingPlan, accuracy_by_group
from deniable.learning.losses import Logistic
from deniable.learning.sets import L2Ball
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(0, 1, (2000, 1))
GROUPS = np.where(RNG.uniform(size=2000) < 0.9, "many", "few")
LABELS = np.where((ROWS[:, 0] > 0.5) == (GROUPS == "many"), "high", "low")  # the other way round for the few
PUBLIC: dict[str, Any] = {"bounds": [(0, 1)], "classes": ["low", "high"], "expected_rows": 2000}
PUBLIC |= {"epsilon": 3, "delta": "1e-5"}


@pytest.fixture(scope="module")
def model() -> LogisticRegression:
    return LogisticRegression(**PUBLIC).fit(ROWS, LABELS, bits=DeterministicBits(1))


def by_group(model: Any, **options: Any) -> Any:
    given = {"models": {"3": model}, "X": ROWS, "y": LABELS, "groups": GROUPS, "values": ["many", "few"], **options}
    return accuracy_by_group(given.pop("models"), given.pop("X"), given.pop("y"), given.pop("groups"), **given)


def test_public_rows_have_intervals_of_a_sample(model: LogisticRegression) -> None:
    """Against scipy's exact binomial interval."""
    found = by_group(model, public=True)
    for place, group in enumerate(("many", "few")):
        right = model.predict(ROWS[group == GROUPS]) == LABELS[group == GROUPS]
        assert found["accuracy"][place] == pytest.approx(right.mean())
        wanted = stats.binomtest(int(right.sum()), len(right)).proportion_ci(0.95, method="exact")
        assert [end[place] for end in found.intervals(0.95)["accuracy"]] == pytest.approx(list(wanted))
    assert found["gap"].tolist() == [0.0, pytest.approx(found["accuracy"][0] - found["accuracy"][1])]
    assert found["gap"][1] > 0.5
    assert found.cost.epsilon(0).upper == 0
    assert "same for all groups" in str(found)
    assert "gap" in found._repr_html_()


def test_the_gap_to_a_model_is_that_of_the_same_group(model: LogisticRegression) -> None:
    class Guess:
        classes_ = ("low", "high")

        def predict(self, rows: Any) -> Any:
            return ["low"] * len(rows)

    found = by_group(model, models={"guess": Guess(), "3": model}, beside="3", public=True)
    few, many = found["accuracy"].reshape(2, 2)
    assert found["gap"].tolist() == [*(many - few), 0, 0]


def test_the_small_group_pays_more_as_epsilon_falls() -> None:
    """Each group is told by a column of its own, 19 rows to 1: means of ten runs of DP-SGD, by fixed bits."""
    few, labels = np.arange(2000) % 20 == 0, np.where(np.arange(2000) % 3 == 0, 1.0, -1.0)
    rows, gaps, epsilons = labels[:, None] * np.column_stack([~few, few]), [], []
    for noise in (3, 30, 100):
        plan = TrainingPlan(sampler=Poisson(rate="1/10"), noise_multiplier=noise, steps=100, dimensions=2)
        ball = L2Ball(radius=5, columns=2)
        descent = NoisyDescent(loss=Logistic(), feasible=ball, plan=plan, size=2000, step_size=2)
        found = [descent.release(rows, labels, bits=DeterministicBits(seed)).value.last for seed in range(10)]
        right = np.sign(rows @ np.transpose(found)) == labels[:, None]
        gaps.append(right[~few].mean() - right[few].mean())
        epsilons.append(plan.privacy_loss.epsilon("1e-6").upper)
    assert epsilons == pytest.approx([1.594, 0.1235, 0.0338], rel=0.01)
    assert gaps[0] == 0
    assert gaps[0] + 0.05 < gaps[1] < gaps[2] - 0.05


def test_private_rows_pay_for_noisy_counts(model: LogisticRegression) -> None:
    """Intervals at 95% that hold too seldom, in less than 90% of 200 draws, fail for one correct seed in 500."""
    truth, bits = by_group(model, public=True)["accuracy"], DeterministicBits(2)
    held = []
    for _ in range(200):
        found = by_group(model, epsilon="1/2", bits=bits)
        lower, upper = found.intervals(0.95)["accuracy"]
        held.append((lower <= truth) & (truth <= upper))
    assert np.mean(held, axis=0).min() >= 0.9
    assert found.cost.epsilon(0).upper == pytest.approx(0.5)
    assert not found.safe
    ledger = Ledger.open(None, budget=Budget(epsilon=1), relation=AddRemove, unit=PrivacyUnit(), dataset="groups")
    assert by_group(model, epsilon="3/4", ledger=ledger).safe
    with pytest.raises(BudgetExceededError):
        by_group(model, epsilon="3/4", ledger=ledger)


def test_one_row_moves_the_counts_by_what_is_paid() -> None:
    """Replay with the noise frozen: a row leaves, or is exchanged; one count of rows and one of each model move."""
    first = LogisticRegression(**PUBLIC).fit(ROWS, LABELS, bits=DeterministicBits(1))
    models = {"a": first, "b": first}

    def counts(rows: slice, relation: Any) -> np.ndarray:
        found = by_group(
            None, models=models, X=ROWS[rows], y=LABELS[rows], groups=GROUPS[rows], epsilon=1, relation=relation,
            bits=DeterministicBits(4),
        )  # fmt: skip
        right, total = (base.values for base in found.noisy)
        return np.concatenate([total[:2], right])

    left = np.abs(counts(slice(0, 1999), AddRemove) - counts(slice(0, 2000), AddRemove)).sum()
    assert 1 <= left <= 3
    for start in range(20):
        swap = np.abs(counts(slice(start, start + 100), Replace) - counts(slice(start + 1, start + 101), Replace)).sum()
        assert swap <= 6


def test_rows_that_are_nothing_declared_count_nowhere(model: LogisticRegression) -> None:
    odd = by_group(
        model, X=[*ROWS.tolist(), [None], ["a"]], y=[*LABELS.tolist(), "other", None],
        groups=[*GROUPS.tolist(), None, "nobody"], public=True,
    )  # fmt: skip
    assert odd["accuracy"].tolist() == by_group(model, public=True)["accuracy"].tolist()
    empty = by_group(model, values=["many", "none"], public=True)
    assert empty["accuracy"][1] == 0
    assert empty.intervals(0.95)["accuracy"].upper[1] == 1


def test_bad_input_is_refused(model: LogisticRegression) -> None:
    class Other:
        classes_ = ("low", "high")

        def predict(self, rows: Any) -> Any:
            raise AssertionError("asked")

    for wrong in (
        {},
        {"models": {"other": Other()}, "epsilon": 1},
        {"models": {}, "public": True},
        {"groups": GROUPS[:3], "public": True},
        {"values": ["one"], "public": True},
        {"beside": "y", "public": True},
        {"models": {"x": object()}, "public": True},
    ):
        with pytest.raises(InvalidParameterError):
            by_group(model, **wrong)


def test_the_gap_is_drawn(model: LogisticRegression) -> None:
    pytest.importorskip("matplotlib")
    axes = by_group(model, models={"1": model, "3": model}, public=True).plot("gap")
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1", "3"]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["many", "few"]
