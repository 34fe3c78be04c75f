"""Naive Bayes and nearest centroids: against scikit-learn where noise is small, and one row more or less."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.audit import replay
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import CategoricalNB, GaussianNB, NearestCentroid
from deniable.mechanisms.additive import Gaussian, Laplace
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Budget, PrivacyUnit, Relation, Replace, of_count
from tests.learning.estimators.paid import CLAIMS, PRICES, SAMPLERS

BITS = DeterministicBits
NUMBERS: dict[str, Any] = {"bounds": [(0, 10), (-5, 5)], "classes": ["a", "b", "c"]}
WORDS: dict[str, Any] = {"categories": [["x", "y", "z"], ["p", "q"]], "classes": ["a", "b", "c"]}


def numbers(size: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 3, size)
    return rng.normal(np.array([[2, -2], [5, 2], [8, 0]])[label], [0.7, 1.0]), np.array(["a", "b", "c"])[label]


def words(size: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    label = rng.integers(0, 3, size)
    first = np.array(["x", "y", "z"])[np.where(rng.random(size) < 0.7, label, rng.integers(0, 3, size))]
    second = np.array(["p", "q"])[((label > 0) ^ (rng.random(size) < 0.2)).astype(int)]
    return np.column_stack([first, second]).astype(object), np.array(["a", "b", "c"])[label]


CASES = [(GaussianNB, NUMBERS, numbers), (NearestCentroid, NUMBERS, numbers), (CategoricalNB, WORDS, words)]


@pytest.mark.parametrize(("kind", "public", "data"), CASES)
def test_with_little_noise_predictions_are_those_of_scikit_learn(kind: Any, public: Any, data: Any) -> None:
    bayes = pytest.importorskip("sklearn.naive_bayes")
    near = pytest.importorskip("sklearn.neighbors")
    rows, labels = data()
    model = kind(**public, rho=10**4).fit(rows, labels, bits=BITS(1))
    if kind is CategoricalNB:
        codes = np.column_stack([np.unique(column.astype(str), return_inverse=True)[1] for column in rows.T])
        peer = bayes.CategoricalNB().fit(codes, labels)
        for mine, theirs in zip(model.feature_log_prob_, peer.feature_log_prob_, strict=True):
            assert mine == pytest.approx(theirs, abs=0.01)
    else:
        codes = np.clip(rows, [0, -5], [10, 5])
        peer = bayes.GaussianNB() if kind is GaussianNB else near.NearestCentroid()
        peer.fit(codes, labels)
        name = "theta_" if kind is GaussianNB else "centroids_"
        assert getattr(model, name) == pytest.approx(getattr(peer, name), abs=0.02)
    assert (model.predict(rows) == peer.predict(codes)).mean() > 0.995
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(("kind", "public", "data"), CASES)
@pytest.mark.parametrize("price", [{"epsilon": 1}, {"epsilon": 1, "delta": "1e-6"}, {"rho": "1/20"}], ids=str)
def test_a_fit_costs_what_was_said_and_predicts(kind: Any, public: Any, data: Any, price: Any) -> None:
    rows, labels = data()
    model = kind(**public, **price).fit(rows[:2000], labels[:2000], bits=BITS(2))
    assert model.score(rows[2000:], labels[2000:]) > {GaussianNB: 0.9, NearestCentroid: 0.9, CategoricalNB: 0.65}[kind]
    assert model.cost_.epsilon(price.get("delta", "1e-6" if "rho" in price else 0)).upper <= 1.6
    assert "each row, under add/remove" in model.note_
    ledger = dn.Ledger.open(None, budget=Budget(epsilon=2, delta="1e-5"), relation=dn.AddRemove,
                            unit=PrivacyUnit(), dataset="t")  # fmt: skip
    model.fit(rows, labels, ledger=ledger)
    assert model.budget_left_ == ledger.left()
    with pytest.raises(BudgetExceededError):
        kind(**public, epsilon=3).fit(rows, labels, ledger=ledger)


ODD: list[tuple[list[object], object]] = [([np.nan, np.inf], "a"), (["word", None], None), ([1e308, -1e308], np.nan),
       ([None, object()], "undeclared"), (["x", "r"], 7), ([0, 0], "b")]  # fmt: skip


@pytest.mark.parametrize(("kind", "public", "data"), CASES)
@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("price", PRICES, ids=str)
def test_one_row_of_any_kind_moves_only_what_is_paid_for(
    kind: Any, public: Any, data: Any, relation: Relation, price: Any
) -> None:
    rows, labels = data(6)
    listed = (rows.tolist(), labels.tolist())
    (claim,) = (CLAIMS[name] for name in price)

    def run(given: Any) -> object:
        model = kind(**public, **price, relation=relation).fit(*given, bits=BITS(1))
        told = {name: value for name, value in vars(model).items() if name.endswith("_")}
        return told, model.predict_proba([["x", 1], [None, np.nan]])

    for row, label in ODD if relation is AddRemove else ODD[::3]:  # rows are read before the relation counts
        kept = 1 if relation is Replace else 0
        other = ([*listed[0][kept:], row], [*listed[1][kept:], label])
        result = replay(run, listed, other, samplers=SAMPLERS, sensitivity=0, claim=claim)
        assert not result.epsilon, result.event
        assert "none: 1 draw" in result.event


def test_a_number_without_noise_is_caught() -> None:
    """The twin of the test above: erratum L23."""

    class Leaky(GaussianNB):
        def _planned(self, X: Any, y: Any) -> Any:
            self.rows_ = float(len(X))
            return super()._planned(X, y)

    rows, labels = numbers(6)

    def run(given: Any) -> object:
        return Leaky(**NUMBERS, epsilon=1).fit(*given, bits=BITS(1)).rows_

    assert replay(run, (rows, labels), (rows[1:], labels[1:]), samplers=SAMPLERS, sensitivity=0).epsilon == np.inf


@pytest.mark.parametrize("relation", [AddRemove, Replace])
def test_counts_of_categories_move_by_the_stated_norms(relation: Relation, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of the domain, with values that are not declared; the bound is attained."""
    seen: list[np.ndarray] = []
    for kind in (Laplace, Gaussian):
        monkeypatch.setattr(kind, "release", lambda self, exact, bits: seen.append(exact) or 1 / 0)
    for row in product("xyz!", "pq!", "abc!"):
        with pytest.raises(ZeroDivisionError):
            CategoricalNB(**WORDS, epsilon=1, relation=relation).fit([row[:2]], [row[2]])
    counts = [*seen, np.zeros_like(seen[0])]
    moved = np.array([a - b for a in counts for b in (counts if relation is Replace else counts[-1:])])
    stated = of_count(rows=1, groups=3, cells=18, relation=relation)
    assert np.abs(moved).sum(axis=(1, 2)).max() == stated.l1
    assert (moved**2).sum(axis=(1, 2)).max() == stated.l2_squared


def test_containers_of_categories_are_read_alike() -> None:
    pandas = pytest.importorskip("pandas")
    rows, labels = words(300)
    model = CategoricalNB(**WORDS, epsilon=1).fit(rows, labels, bits=BITS(1))
    for same in (rows.tolist(), rows.astype(str), pandas.DataFrame(rows, columns=["one", "two"])):
        again = CategoricalNB(**WORDS, epsilon=1).fit(same, labels, bits=BITS(1))
        assert (again.class_count_ == model.class_count_).all()
        assert (again.predict_proba(same) == model.predict_proba(rows)).all()
    codes = CategoricalNB(categories=[range(3)], classes=range(2), epsilon=1)
    assert codes.fit(np.array([[0.0], [1.0]]), [0, 1], bits=BITS(1)).n_features_in_ == 1


def test_digits_are_told_apart_at_epsilon_one() -> None:
    """Fixed bits; 0.82 on average over splits. Without the variance of noise in `var_` it is about 0.5."""
    datasets = pytest.importorskip("sklearn.datasets")
    rows, labels = datasets.load_digits(return_X_y=True)
    for kind, floor in ((GaussianNB, 0.75), (NearestCentroid, 0.8)):
        model = kind(bounds=(0, 16), classes=range(10), epsilon=1, delta="1e-5")
        assert model.fit(rows[450:], labels[450:], bits=BITS(1)).score(rows[:450], labels[:450]) > floor


def test_no_rows_and_an_empty_class_give_finite_models() -> None:
    for kind, public, data in CASES:
        rows, labels = data(30)
        for some in (labels < "", labels == "a"):
            model = kind(**public, epsilon="1/10").fit(rows[some], labels[some], bits=BITS(3))
            assert np.isfinite(model.predict_proba(rows)).all()


@pytest.mark.parametrize(
    ("kind", "changed", "said"),
    [
        (GaussianNB, {"classes": ["a"]}, "classes"),
        (GaussianNB, {"bounds": [(0, 0), (0, 1)]}, "lower < upper"),
        (GaussianNB, {"bounds": [(0, 1)] * 3}, "3 columns"),
        (GaussianNB, {"epsilon": None}, "specify the price"),
        (CategoricalNB, {"categories": "xy"}, "categories"),
        (CategoricalNB, {"categories": [["x"], []]}, "categories"),
        (CategoricalNB, {"categories": [["x"]]}, "1 columns"),
        (CategoricalNB, {"alpha": 0}, "alpha"),
    ],
)
def test_bad_parameters_are_refused_before_anything_is_paid(kind: Any, changed: Any, said: str) -> None:
    class Never:
        def pay(self, *_: Any, **__: Any) -> None:
            raise AssertionError

    public, (rows, labels) = next((public, data(5)) for each, public, data in CASES if each is kind)
    with pytest.raises(InvalidParameterError, match=said):
        kind(**{**public, "epsilon": 1, **changed}).fit(rows, labels, ledger=Never())
    with pytest.raises(InvalidParameterError, match="fit"):
        kind(**public, epsilon=1).predict(rows)
