"""Scaler and principal components: moments, bounds of what goes out, pipelines, and one row more or less."""

from typing import Any

import numpy as np
import pytest

from deniable.audit import replay
from deniable.errors import InvalidParameterError
from deniable.learning import PCA, GaussianNB, StandardScaler
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from tests.learning.estimators.paid import CLAIMS, SAMPLERS

BITS = DeterministicBits
BOUNDS = [(0, 10), (-5, 5), (-100, 300)]


def rows_of(size: int = 4000) -> np.ndarray:
    rng = np.random.default_rng(2)
    base = rng.normal(size=(size, 3)) @ [[1.0, 0.8, 10], [0, 0.5, -8], [0, 0, 5]]
    return np.clip(base + np.array([4, 1, 60]), *np.transpose(BOUNDS))


def test_with_little_noise_they_are_those_of_numpy() -> None:
    rows = rows_of()
    scaler = StandardScaler(bounds=BOUNDS, rho=10**5).fit(rows, bits=BITS(1))
    assert scaler.mean_ == pytest.approx(rows.mean(axis=0), rel=1e-2)
    assert scaler.scale_ == pytest.approx(rows.std(axis=0), rel=1e-2)
    assert scaler.transform(rows).std(axis=0) == pytest.approx([1, 1, 1], rel=1e-2)
    assert scaler.inverse_transform(scaler.transform(rows)) == pytest.approx(rows)
    values, axes = np.linalg.eigh(np.cov(rows.T))
    model = PCA(bounds=BOUNDS, rho=10**5, n_components=2).fit(rows, bits=BITS(1))
    assert model.explained_variance_ == pytest.approx(values[::-1][:2], rel=0.02)
    assert model.explained_variance_ratio_ == pytest.approx(values[::-1][:2] / values.sum(), rel=0.02)
    assert np.abs(model.components_ @ axes[:, ::-1][:, :2]) == pytest.approx(np.eye(2), abs=0.02)
    assert (model.components_[[0, 1], np.abs(model.components_).argmax(axis=1)] > 0).all()
    whole = PCA(bounds=BOUNDS, rho=1).fit(rows, bits=BITS(1))
    assert whole.inverse_transform(whole.transform(rows)) == pytest.approx(rows)


@pytest.mark.parametrize("kind", [StandardScaler, PCA])
def test_what_goes_out_is_within_bounds_that_are_released(kind: Any) -> None:
    corners = np.array(np.meshgrid(*BOUNDS)).reshape(3, -1).T
    model = kind(bounds=BOUNDS, epsilon=1, delta="1e-6").fit(rows_of(), bits=BITS(1))
    for rows in (corners, corners * 1e9, np.full((1, 3), np.nan)):
        found = model.transform(rows)
        assert (found >= np.array(model.bounds_)[:, 0]).all()
        assert (found <= np.array(model.bounds_)[:, 1]).all()
    assert model.transform(corners).max(axis=0) == pytest.approx(np.array(model.bounds_)[:, 1])
    cut = kind(bounds=BOUNDS, epsilon=1, delta="1e-6", clip=2).fit(rows_of(), bits=BITS(1))
    assert cut.bounds_ == [(-2.0, 2.0)] * 3
    assert np.abs(cut.transform(corners)).max() == 2


def test_the_next_step_takes_bounds_from_the_clip_or_from_what_was_released() -> None:
    rows = rows_of()
    labels = np.where(rows[:, 0] > 4, "old", "young")
    scaler = StandardScaler(bounds=BOUNDS, epsilon=1, delta="1e-6", clip=3)
    scaled = scaler.fit_transform(rows[:3000], labels[:3000])
    turned = PCA(bounds=(-3, 3), n_components=2, epsilon=1, delta="1e-6").fit(scaled)
    model = GaussianNB(bounds=turned.bounds_, classes=["old", "young"], epsilon=1, delta="1e-6")
    model.fit(turned.transform(scaled), labels[:3000])
    assert model.score(turned.transform(scaler.transform(rows[3000:])), labels[3000:]) > 0.8


def test_a_pipeline_of_scikit_learn_scales_turns_and_predicts() -> None:
    pipeline = pytest.importorskip("sklearn.pipeline")
    price: dict[str, Any] = {"epsilon": 1, "delta": "1e-6"}
    rows = rows_of()
    labels = np.where(rows[:, 0] > 4, "old", "young")
    model = pipeline.make_pipeline(
        StandardScaler(bounds=BOUNDS, clip=3, **price),
        PCA(bounds=(-3, 3), n_components=2, clip=4, **price),
        GaussianNB(bounds=(-4, 4), classes=["old", "young"], **price),
    )
    assert model.fit(rows[:3000], labels[:3000]).score(rows[3000:], labels[3000:]) > 0.8
    assert all(step.cost_.epsilon("1e-6").upper <= 1 for step in model)


@pytest.mark.parametrize("kind", [StandardScaler, PCA])
@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_one_row_of_any_kind_moves_only_what_is_paid_for(kind: Any, relation: Relation) -> None:
    rows: list[Any] = rows_of(5).tolist()

    def run(given: Any) -> object:
        model = kind(bounds=BOUNDS, epsilon=1, relation=relation).fit(given, bits=BITS(1))
        told = {name: value for name, value in vars(model).items() if name.endswith("_")}
        return told, model.transform([[1, None, "x"]])

    for row in ([np.nan, np.inf, -np.inf], ["a", None, 1e308], [10, 5, 300], None):
        other = [*rows[relation is Replace :], row]
        result = replay(run, rows, other, samplers=SAMPLERS, sensitivity=0, claim=CLAIMS["epsilon"])
        assert not result.epsilon, result.event
        assert "none: 1 draw" in result.event


@pytest.mark.parametrize("kind", [StandardScaler, PCA])
def test_no_rows_give_finite_models(kind: Any) -> None:
    model = kind(bounds=BOUNDS, epsilon="1/100").fit(np.zeros((0, 3)), bits=BITS(1))
    assert np.isfinite(model.transform(rows_of(10))).all()
    assert (model.fit([], bits=BITS(1)).transform([]).shape) == (0, 3)


@pytest.mark.parametrize(
    ("kind", "changed", "rows", "said"),
    [
        (StandardScaler, {"clip": 0}, [], "clip"),
        (StandardScaler, {"bounds": (0, 1)}, [], "one pair for each"),
        (StandardScaler, {}, None, "table"),
        (StandardScaler, {}, np.zeros((3, 2)), "3 columns"),
        (PCA, {"n_components": 4}, [], "<= 3"),
        (PCA, {"n_components": 0}, [], "n_components"),
        (PCA, {"epsilon": None}, [], "specify the price"),
    ],
)
def test_bad_parameters_are_refused(kind: Any, changed: Any, rows: Any, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        kind(**{"bounds": BOUNDS, "epsilon": 1, **changed}).fit(rows)
