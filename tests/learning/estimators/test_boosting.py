"""Boosted trees: sums of residuals, what they cost, and what the additive model learns."""

from typing import Any

import numpy as np
import pytest

from deniable.audit import replay
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import GradientBoostingClassifier, GradientBoostingRegressor
from deniable.learning.estimators.estimator import Work
from deniable.learning.estimators.logistic import probabilities
from deniable.mechanisms import Gaussian
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Relation, Replace
from tests.audit.draws import RELEASES

PUBLIC: dict[str, Any] = {"bounds": [(0, 10), None], "categories": {1: ["a", "b"]}, "bins": 5, "rounds": 4,
                          "learning_rate": "1/2", "rho": "1/2"}  # fmt: skip
Data = tuple[list[Any], list[Any]]


@pytest.fixture(autouse=True)
def without_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes read epsilon off the loss alone, are tested with the frame, and take longer than these fits."""
    monkeypatch.setattr(Work, "note", lambda work, *, safe: f"{safe}")


def survey(rows: int = 3000, classes: int = 2) -> Data:
    rng = np.random.default_rng(4)
    numbers, letters = rng.uniform(0, 10, rows), rng.choice(["a", "b"], rows)
    seen = (numbers + 2 * (letters == "b") + rng.normal(0, 0.5, rows)) // (12 / classes)
    labels = np.clip(seen, 0, classes - 1)
    return [[float(x), str(c)] for x, c in zip(numbers, letters, strict=True)], labels.astype(int).tolist()


def classifier(data: Data, **changed: Any) -> GradientBoostingClassifier:
    model = GradientBoostingClassifier(**{**PUBLIC, "classes": [0, 1], **changed})
    return model.fit(*data, bits=DeterministicBits(1))


def regressor(data: Data, **changed: Any) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(**{**PUBLIC, "target_bounds": (0, 1), **changed}).fit(
        *data, bits=DeterministicBits(1)
    )


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize("classes", [2, 3])
def test_one_row_moves_each_sum_by_what_its_noise_is_for(relation: Relation, classes: int) -> None:
    """Every release of a run with the same draws: 1 in counts, the lattice's radius in sums, under replace twice."""
    seen: list[np.ndarray] = []
    inner = Gaussian.release
    fixed = np.random.default_rng(7)

    def noted(noise: Gaussian, exact: Any, **_: Any) -> Any:
        seen.append(np.array(exact, dtype=float))
        place = len(seen) - 1
        while len(draws) <= place:
            draws.append(fixed.normal(0, 1e6, np.shape(exact)))
        return type(inner(noise, np.zeros(1, dtype=np.int64)))(draws[place].round().astype(np.int64), False)

    draws: list[np.ndarray] = []
    rows, labels = survey(20, classes)
    runs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gaussian, "release", noted)
        for row, label in [(None, None), ([9.0, "b"], 0), ([0.1, "a"], classes - 1), ([5.0, None], 0)]:
            seen.clear()
            given = (rows, labels) if row is None else ([*rows, row], [*labels, label])
            classifier(given, classes=range(classes), relation=relation)
            runs.append(list(seen))
    counts, sums, twice = 2, 8, relation is Replace
    for other in runs[1:]:
        for base in runs if twice else runs[:1]:
            moved = [np.sqrt(((a - b) ** 2).sum()) for a, b in zip(base, other, strict=True)]
            assert len(moved) == counts + sums
            assert max(moved[:counts]) <= np.sqrt(2) if twice else 1
            assert max(moved[counts:]) <= 2**20 * (2 if twice else 1)


@pytest.mark.parametrize("relation", Relation)
def test_the_whole_run_costs_what_was_asked_for(relation: Relation) -> None:
    found = classifier(survey(20), relation=relation).cost_
    assert found.rho == pytest.approx(0.5)
    assert found.rho <= 0.5
    assert found.relations >= {relation}
    assert classifier(survey(20), rho=None, epsilon=1, delta="1e-5").cost_.epsilon("1e-5").upper <= 1


def test_without_noise_a_round_is_a_shrunken_newton_step() -> None:
    rows, labels = survey(500)
    model = classifier((rows, labels), rho=10**6, rounds=1, bounds=[(0, 10), None], learning_rate="1/2")
    codes, wanted = model.bins_.codes(rows), np.array(labels, dtype=float)
    sums = np.zeros(500)
    for place, size in enumerate(model.bins_.sizes):
        counts = np.bincount(codes[:, place], minlength=size)
        total = np.bincount(codes[:, place], weights=wanted - 1 / (1 + np.exp(-sums)), minlength=size)
        sums += (0.5 * total / np.maximum(counts / 4, 1e-3))[codes[:, place]]
    odds = np.log(model.predict_proba(rows)[:, 1] / model.predict_proba(rows)[:, 0])
    assert odds == pytest.approx(sums, abs=0.02)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_learns_and_says_what_each_feature_adds(classes: int) -> None:
    data = survey(classes=classes)
    model = classifier(data, classes=range(classes), rounds=30, rho=None, epsilon=1, delta="1e-5")
    assert model.score(*data) > 0.85
    assert model.predict_proba(data[0]).sum(axis=1) == pytest.approx(1)
    assert [part.shape for part in model.feature_values_] == [
        (6, classes - (classes == 2)),
        (3, classes - (classes == 2)),
    ]
    top = model.feature_values_[0][1:, -1]
    assert top[-1] > top[0] + 1
    assert model.feature_values_[1][2, -1] > model.feature_values_[1][1, -1]


def test_numbers_are_predicted_within_their_bounds() -> None:
    rows, _ = survey()
    values = [x + (2 if c == "b" else 0) for x, c in rows]
    model = regressor((rows, values), target_bounds=(0, 12), rounds=20)
    assert model.score(rows, values) > 0.9
    assert model.predict([[99, "b"], [None, None]]).max() <= 12
    low = regressor((rows, [10**6] * len(rows)), target_bounds=(0, 12), rounds=60).predict(rows)
    assert low.max() <= 12
    assert low.mean() > 10


@pytest.mark.parametrize(("rho", "leaves"), [("1/1000", 3), (100, 6)])
def test_neighbouring_bins_share_a_leaf_where_noise_would_hide_them(rho: Any, leaves: int) -> None:
    sizes = []
    inner = Gaussian.release

    def noted(noise: Gaussian, exact: Any, **options: Any) -> Any:
        sizes.append(np.size(exact))
        return inner(noise, exact, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Gaussian, "release", noted)
        classifier(survey(1000), rho=rho)
    assert sizes == [6, 3] + [leaves, 3] * 4


def test_shapes_are_drawn() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    axes = classifier(survey(50)).plot(1)
    assert [label.get_text() for label in axes.get_xticklabels()] == ["missing", "a", "b"]
    for wrong in ("age", 2, -1):
        with pytest.raises(InvalidParameterError, match="feature must"):
            classifier(survey(50)).plot(wrong)


@pytest.mark.parametrize(
    "given", [([], []), ([[1, "a"]], [1]), ([[np.nan, None], [np.inf, "z"], 3], [None, "x", np.nan])]
)
def test_odd_rows_are_a_fit_like_any_other(given: Data) -> None:
    for model in (classifier(given), classifier(given, classes=[0, 1, 2]), regressor(given)):
        assert all(np.isfinite(part).all() for part in model.feature_values_)
        assert model.predict([[1, "a"], [None, None]]).shape == (2,)


def test_a_label_that_was_not_declared_pushes_nowhere() -> None:
    far = probabilities(np.array([[1e5], [-1e5], [0.0]]))
    assert far == pytest.approx(np.array([[0, 1], [1, 0], [0.5, 0.5]]))
    alone = classifier(([[5, "a"]] * 400, ["other"] * 400), rho=10**6)
    assert np.abs(alone.feature_values_[0][3]).max() < 0.01
    same = classifier(([[5, "a"]] * 400, [1] * 400), rho=10**6)
    assert same.predict_proba([[5, "a"]])[0, 1] > 0.9


def test_what_is_refused_is_refused_before_anything_is_paid() -> None:
    class Refusing:
        def pay(self, *_: object, **__: object) -> Any:
            raise BudgetExceededError("asked")

    wrong: list[dict[str, Any]] = [
        {"rho": None}, {"rho": None, "epsilon": 1}, {"rounds": 0}, {"learning_rate": 0}, {"bins": 0}, {"relation": 3},
        {"bounds": [(0, 1)]}, {"categories": None}, {"epsilon": 1},
    ]  # fmt: skip
    rows, labels = survey(5)
    for changed in wrong:
        with pytest.raises(InvalidParameterError):
            GradientBoostingClassifier(**{**PUBLIC, "classes": [0, 1], **changed}).fit(rows, labels, ledger=Refusing())
    for target, values in (((1, 0), labels), (None, labels), ((0, 1), np.array(["a"] * 5)), ((0, 1), labels[:3])):
        model = GradientBoostingRegressor(**PUBLIC, target_bounds=target)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameterError):
            model.fit(rows, values, ledger=Refusing())


@pytest.mark.parametrize(
    ("row", "label", "fit"),
    [([1e308, "b"], 1, classifier), ([np.nan, None], 0, regressor), (["x"], "other", classifier)],
)
def test_one_row_changes_nothing_but_what_mechanisms_release(row: Any, label: Any, fit: Any) -> None:
    def run(data: Data) -> object:
        model = fit(data)
        return model.feature_values_, model.intercept_, model.note_

    for rows, labels in (survey(9), ([], [])):
        found = replay(run, (rows, labels), ([*rows, row], [*labels, label]), samplers=RELEASES, sensitivity=0)
        assert found.epsilon == 0, found.event


def test_division_by_exact_counts_is_caught() -> None:
    def run(data: Data) -> object:
        return classifier(data).intercept_ * len(data[0])

    rows, labels = survey(9)
    assert replay(run, (rows, labels), (rows[:-1], labels[:-1]), samplers=RELEASES, sensitivity=0).epsilon == np.inf
