"""scikit-learn's own checks, pipelines, clones and searches; what cannot hold stands in one list, with its reason."""

import sys
from datetime import date
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from deniable.errors import InvalidParameterError, MissingExtraError
from deniable.learning import (
    PCA,
    DecisionTreeClassifier,
    GaussianMixture,
    GaussianNB,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    KMeans,
    LinearRegression,
    LinearSVM,
    LogisticRegression,
    NearestCentroid,
    PrivateGridSearch,
    Ridge,
    StandardScaler,
)
from deniable.noise.bits import DeterministicBits

sklearn = pytest.importorskip("sklearn")

NOISE = "two fits differ by their noise"
DECLARED = "labels and bounds are declared, and are not learnt from rows"
SILENT = "no value of a row is an error, because an error would tell of it"
WORDS = "the refusal has other words"

EXPECTED = {
    "check_fit_idempotent": NOISE,
    "check_regressors_int": NOISE,
    "check_classifiers_one_label": DECLARED,
    "check_classifiers_classes": DECLARED,
    "check_classifiers_train": "lists of rows need one pair of bounds for each feature",
    "check_regressors_train": "lists of rows need one pair of bounds for each feature",
    "check_decision_proba_consistency": DECLARED,
    "check_classifiers_regression_target": SILENT,
    "check_dtype_object": SILENT,
    "check_supervised_y_no_nan": SILENT,
    "check_estimators_empty_data_messages": "no rows are a fit like any other, as their number is private",
    "check_n_features_in_after_fitting": WORDS,
    "check_complex_data": WORDS,
    "check_fit2d_predict1d": WORDS,
    "check_supervised_y_2d": "labels are one column",
    "check_classifier_data_not_an_array": "rows come in containers that have a length",
    "check_regressor_data_not_an_array": "rows come in containers that have a length",
    "check_transformer_data_not_an_array": "rows come in containers that have a length",
    "check_estimator_sparse_tag": WORDS,
    "check_estimator_sparse_array": WORDS,
    "check_estimator_sparse_matrix": WORDS,
    "check_parameters_default_constructible": "a relation is a default of a type of its own",
}
PUBLIC: dict[str, Any] = {"bounds": (-5, 5), "epsilon": 1, "delta": "1e-5"}
LABELS: dict[str, Any] = {"classes": [-1, 0, 1, 2, 3], "expected_rows": 100}
MODELS = [
    LogisticRegression(**PUBLIC, **LABELS),
    LinearSVM(**PUBLIC, **LABELS),
    LinearRegression(**PUBLIC, target_bounds=(-50, 50)),
    Ridge(**PUBLIC, target_bounds=(-50, 50)),
    GaussianNB(**PUBLIC, classes=LABELS["classes"]),
    NearestCentroid(**PUBLIC, classes=LABELS["classes"]),
    StandardScaler(**PUBLIC),
    PCA(**PUBLIC, n_components=1),
    GaussianMixture(**PUBLIC, n_components=2, steps=2),
    DecisionTreeClassifier(bounds=(-5, 5), epsilon=1, classes=LABELS["classes"], depth=2),
    GradientBoostingClassifier(bounds=(-5, 5), rho="1/2", classes=LABELS["classes"], rounds=2),
    GradientBoostingRegressor(bounds=(-5, 5), rho="1/2", target_bounds=(-50, 50), rounds=2),
    KMeans(n_clusters=3, bounds=(-5, 5), epsilon=1),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_checks_of_scikit_learn_hold_but_for_the_listed(model: Any) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(model, expected_failed_checks=EXPECTED, on_skip=None, on_fail=None)
    assert [found for found in results if found["status"] == "failed"] == []
    assert sum(found["status"] == "passed" for found in results) >= 26


def blobs(rows: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 2, rows)
    return rng.normal(labels[:, np.newaxis] * 2, 1, (rows, 2)), labels


def test_estimators_end_a_pipeline_with_public_preprocessing_and_are_cloned() -> None:
    from sklearn.base import clone, is_classifier, is_regressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    rows, labels = blobs()
    model = LogisticRegression(bounds=[(-4, 6)] * 2, classes=[0, 1], expected_rows=2000, epsilon=1, delta="1e-5")
    for last in (model, PrivateGridSearch(model, {"learning_rate": [1, 4]}, epsilon=3, delta="1e-5")):
        pipeline = clone(make_pipeline(FunctionTransformer(lambda table: table - 1), last))
        name = pipeline.steps[-1][0]
        pipeline.fit(rows, labels, **{f"{name}__bits": DeterministicBits(1)})
        assert pipeline.score(rows, labels) > 0.85
        assert pipeline[-1].cost_.epsilon("1e-5").upper <= 3
        assert is_classifier(pipeline)
    assert is_regressor(MODELS[2])
    assert repr(clone(model)) == repr(model)


def test_a_search_of_scikit_learn_runs_and_pays_for_every_fit() -> None:
    """It is for public rows: it neither states a loss for all fits, nor pays for scores."""
    from sklearn.model_selection import GridSearchCV

    rows, labels = blobs(300)
    model = LogisticRegression(bounds=[(-4, 6)] * 2, classes=[0, 1], expected_rows=200, epsilon=2, delta="1e-5")
    with pytest.warns(UserWarning, match="Use PrivateGridSearch"):
        found = GridSearchCV(model, {"learning_rate": [0.01, 4]}, cv=2).fit(rows, labels)
    assert not hasattr(found, "cost_")
    assert found.predict(rows).shape == (300,)


def test_steps_that_learn_from_rows_without_a_price_are_named() -> None:
    from sklearn import preprocessing
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline

    rows, labels = blobs(300)
    model = LogisticRegression(bounds=[(-4, 6)] * 2, classes=[0, 1], expected_rows=200, epsilon=2, delta="1e-5")
    for step in (preprocessing.StandardScaler(), make_column_transformer((preprocessing.StandardScaler(), [0, 1]))):
        with pytest.warns(UserWarning, match="StandardScaler of scikit-learn learns from the private rows") as found:
            make_pipeline(step, PrivateGridSearch(model, {}, epsilon=3, delta="1e-5")).fit(rows, labels)
        assert len(found) == 1
    private = StandardScaler(bounds=[(-4, 6)] * 2, epsilon=1)
    make_pipeline(preprocessing.Normalizer(), private, model).fit(rows, labels)  # no warning, which would be an error


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_columns_are_those_of_the_fit_by_name_and_order(model: Any) -> None:
    import pandas as pd

    rows, labels = blobs(60)
    frame = pd.DataFrame(rows, columns=["age", "pay"])
    model = sklearn.base.clone(model).fit(frame, labels)
    use = getattr(model, "predict", None) or model.transform
    assert model.feature_names_in_.tolist() == ["age", "pay"]
    assert len(use(frame)) == 60
    with pytest.raises(InvalidParameterError, match="same order as they were in fit: age, pay"):
        use(frame[["pay", "age"]])
    with pytest.raises(InvalidParameterError, match=r"unseen at fit time:\n- wage"):
        use(frame.rename(columns={"pay": "wage"}))
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        use(rows)
    model.fit(rows, labels)
    assert not hasattr(model, "feature_names_in_")
    with pytest.warns(UserWarning, match="fitted without feature names"):
        use(frame)


TYPED = {
    "text": (np.array(["a", "b"] * 9), ["a", "b"]),
    "Arrow text": (pa.array(["a", "b"] * 9), ["a", "b"]),
    "integers": (np.array([0, 1] * 9), [0, 1]),
    "booleans": (np.array([False, True] * 9), [False, True]),
    "reals": (np.array([0.0, 1.0] * 9), [0, 1]),
    "dates": (np.array(["2024-01-01", "2024-01-02"] * 9, dtype="M8[D]"), [date(2024, 1, 1), date(2024, 1, 2)]),
}


@pytest.mark.parametrize("classes", TYPED)
@pytest.mark.parametrize("labels", TYPED)
def test_classes_that_no_label_of_this_type_can_be_are_refused_unpaid(labels: str, classes: str) -> None:
    numeric = {"integers", "booleans", "reals"}
    fits = {labels.removeprefix("Arrow "), classes.removeprefix("Arrow ")}
    model = GaussianNB(bounds=[(0, 1)], classes=TYPED[classes][1], epsilon=1)
    given = np.zeros((18, 1)), TYPED[labels][0]
    if len(fits) == 1 or fits <= numeric:
        assert model.fit(*given).class_count_.sum() > 0
    else:
        with pytest.raises(InvalidParameterError, match="classes must be of the type of the labels"):
            model.fit(*given)


def test_a_user_replaces_logistic_regression_on_breast_cancer() -> None:
    """Bounds of this table are public here, for the test alone; 0.96 was seen at epsilon 1 on five splits."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    rows, labels = load_breast_cancer(return_X_y=True)
    train, test, known, truth = train_test_split(rows, labels, random_state=0)
    bounds = list(zip(rows.min(axis=0), rows.max(axis=0), strict=True))
    model = LogisticRegression(bounds=bounds, classes=[0, 1], expected_rows=430, epsilon=1, delta="1e-5")
    model.fit(train, known, bits=DeterministicBits(1))
    assert model.score(test, truth) > 0.9
    assert "epsilon=1 (certified)" in model.note_


def test_without_scikit_learn_its_tags_name_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.utils", None)
    with pytest.raises(MissingExtraError, match=r"\.\[learn\]"):
        StandardScaler(**PUBLIC).__sklearn_tags__()
