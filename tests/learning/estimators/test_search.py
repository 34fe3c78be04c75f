"""The grid search: one loss for all it looks at, paid before a row is read, and the best of what was released."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import (
    DecisionTreeClassifier,
    GaussianNB,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    LogisticRegression,
    PrivateGridSearch,
)
from deniable.learning.estimators.search import _points, _rows_at
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyLoss, PrivacyUnit
from deniable.privacy.composition.tuning import BestOfStatement

PUBLIC: dict[str, Any] = {"bounds": [(0, 1)] * 3, "classes": [0, 1], "expected_rows": 1000}
GRID = {"learning_rate": ["1e-9", 4]}


def survey(rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    features = np.random.default_rng(5).uniform(0, 1, (rows, 3))
    return features, (features[:, 0] + features[:, 1] > 1).astype(int)


def search(**changed: Any) -> PrivateGridSearch:
    given = {"estimator": LogisticRegression(**PUBLIC), "param_grid": GRID, "epsilon": 3, "delta": "1e-5", **changed}
    return PrivateGridSearch(**given)


class Unread:
    """A row that must not be read."""

    def __array__(self, *_: object) -> Any:
        raise AssertionError("a row was read")

    __iter__ = __float__ = __len__ = __array__


@pytest.fixture(scope="module")
def fitted() -> PrivateGridSearch:
    return search().fit(*survey(), bits=DeterministicBits(4))


def test_the_best_setting_wins_and_the_whole_search_is_stated(fitted: PrivateGridSearch) -> None:
    rows, labels = survey()
    assert fitted.best_params_ == {"learning_rate": 4}
    assert fitted.score(rows, labels) > 0.9
    assert abs(fitted.best_score_ - fitted.score(rows, labels)) < 0.2
    assert 1e-6 < fitted.cost_.delta(3).upper <= 1e-5
    assert (fitted.predict(rows) == fitted.best_estimator_.predict(rows)).all()
    assert fitted.best_estimator_.cost_ is fitted.cost_
    assert "5 on average" in fitted.best_estimator_.note_


def test_the_loss_is_that_of_the_best_of_runs_that_fit_or_score(fitted: PrivateGridSearch) -> None:
    best = fitted.cost_.statement.loss  # type: ignore[attr-defined]
    assert isinstance(best, BestOfStatement)
    one = PrivacyLoss(best.base)
    base = one.epsilon("1e-5").upper
    assert 1 < base < 2.5
    assert fitted.best_estimator_.epsilon > base  # at its own, smaller delta
    parts = best.base.parts  # type: ignore[attr-defined]
    assert one.delta(1).upper == max(PrivacyLoss(part).delta(1).upper for part in parts)
    assert len(parts) == 2


def test_a_ledger_pays_for_all_of_it_before_a_row_is_read() -> None:
    budget = Budget(epsilon=2, delta="1e-4")
    ledger = dn.Ledger.open(None, budget=budget, relation=AddRemove, unit=PrivacyUnit(), dataset="x")
    before = ledger.left()
    with pytest.raises(BudgetExceededError):
        search().fit([Unread(), Unread()], [0, 1], ledger=ledger)
    assert ledger.left() == before
    search(epsilon=1, param_grid={}).fit(*survey(20), ledger=ledger, bits=DeterministicBits(1))
    assert ledger.left() != before


@pytest.mark.parametrize(
    "changed",
    [
        {"estimator": KMeans(n_clusters=2, bounds=(0, 1))}, {"estimator": 3}, {"param_grid": 3}, {"delta": 0},
        {"param_grid": {"rate": [1]}}, {"stop": 1}, {"stop": 0}, {"param_grid": {"learning_rate": [1, -1]}},
        {"epsilon": None}, {"estimator": GaussianNB(bounds=(0, 1), classes=[0, 1]), "param_grid": {}},
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_fit_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        search(**changed).fit(*survey(20))


def test_a_tree_without_a_delta_is_searched_too() -> None:
    base = DecisionTreeClassifier(bounds=(0, 1), classes=[0, 1], epsilon=1)
    model = search(estimator=base, param_grid={"depth": [1, 3]}, expected_rows=1000).fit(
        *survey(), bits=DeterministicBits(2)
    )
    assert model.score(*survey()) > 0.8
    assert model.cost_.epsilon("1e-5").upper <= 3
    best: Any = model.cost_.statement.loss
    assert model.best_estimator_.epsilon == best.base.parts[0].pure_epsilon


def test_points_of_a_row_lie_between_none_and_one() -> None:
    rows, labels = survey(300)
    model = LogisticRegression(**PUBLIC, epsilon=5, delta="1e-5").fit(rows, labels, bits=DeterministicBits(1))
    points = _points(model, rows, np.where(np.arange(300) < 9, 7, labels))
    assert set(points.tolist()) == {0, 2**20}
    assert not points[:9].any()
    line = LinearRegression(bounds=(0, 1), target_bounds=(0, 1), epsilon=5).fit(rows, labels, bits=DeterministicBits(1))
    values = np.where(np.arange(300) < 9, np.nan, labels)
    found = _points(line, rows, values)
    assert 0 <= found.min() < found.max() <= 2**20
    assert found[9:] == pytest.approx(2**20 * (1 - (labels - line.predict(rows))[9:] ** 2), abs=1)


def test_a_score_is_over_a_public_number_of_rows() -> None:
    """Whole points over a fifth of the declared rows: over the true ones, the score would tell how many they are."""
    base = GradientBoostingRegressor(bounds=[(0, 1)] * 3, target_bounds=(0, 1), rounds=1)
    model = search(estimator=base, param_grid={}, expected_rows=150).fit(*survey(217), bits=DeterministicBits(3))
    points = model.best_score_ * 30 * 2**20
    assert points == pytest.approx(round(points), abs=1e-4)


def test_rows_are_taken_from_any_container() -> None:
    pandas, where = pytest.importorskip("pandas"), np.array([True, False, True])
    frame = pandas.DataFrame({"a": [1, 2, 3]}, index=[7, 7, 9])
    assert _rows_at([1, 2, 3], where) == [1, 3]
    assert _rows_at(np.arange(6).reshape(3, 2), where).tolist() == [[0, 1], [4, 5]]
    assert _rows_at(frame, where)["a"].tolist() == [1, 3]
    assert _rows_at(frame["a"], where).tolist() == [1, 3]
