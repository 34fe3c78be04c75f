"""Mixtures: near the likelihood without noise, and one row more or less in every step."""

from typing import Any

import numpy as np
import pytest

from deniable.audit import replay
from deniable.errors import InvalidParameterError
from deniable.learning import GaussianMixture
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation, Replace
from tests.learning.estimators.paid import CLAIMS, PRICES, SAMPLERS

BITS = DeterministicBits
PUBLIC: dict[str, Any] = {"bounds": [(-10, 10), (-10, 10)], "n_components": 3}


def blobs(size: int = 4000, tilt: float = 0.0) -> np.ndarray:
    rng = np.random.default_rng(6)
    label = rng.choice(3, size, p=[0.5, 0.3, 0.2])
    noise = rng.normal(size=(size, 2)) @ [[0.8, tilt], [0, 0.5]]
    return np.asarray(np.array([[-6, -4], [0, 5], [5, -2]])[label] + noise)


def likelihood(rows: np.ndarray) -> float:
    """Of the law that the blobs without a tilt were drawn from."""
    centres, shares = np.array([[-6, -4], [0, 5], [5, -2]]), np.array([0.5, 0.3, 0.2])
    each = np.exp(-(((rows[:, np.newaxis] - centres) / [0.8, 0.5]) ** 2).sum(axis=2) / 2) / (2 * np.pi * 0.4)
    return float(np.log(each @ shares).mean())


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_a_mixture_is_found_under_privacy(kind: Any) -> None:
    rows = blobs()
    model = GaussianMixture(**PUBLIC, covariance_type=kind, epsilon=1, delta="1e-6").fit(rows[:3000], bits=BITS(1))
    assert model.score(rows[3000:]) > likelihood(rows[3000:]) - 0.25
    order = model.means_[:, 0].argsort()
    assert model.means_[order] == pytest.approx(np.array([[-6, -4], [0, 5], [5, -2]]), abs=0.3)
    assert model.weights_[order] == pytest.approx([0.5, 0.3, 0.2], abs=0.04)
    assert model.covariances_.shape == ((3, 2) if kind == "diag" else (3, 2, 2))
    assert model.predict_proba(rows).sum(axis=1) == pytest.approx(1)
    assert (model.predict(rows) == model.predict_proba(rows).argmax(axis=1)).all()
    assert model.cost_.epsilon("1e-6").upper <= 1
    assert "12 times" in model.note_


def test_with_little_noise_densities_are_those_of_scikit_learn() -> None:
    mixture = pytest.importorskip("sklearn.mixture")
    rows = blobs(tilt=0.6)
    model = GaussianMixture(**PUBLIC, covariance_type="full", rho=10**6, steps=30).fit(rows, bits=BITS(1))
    peer = mixture.GaussianMixture(3, random_state=0).fit(rows)
    assert model.score(rows) == pytest.approx(peer.score(rows), abs=0.03)
    peer.weights_, peer.means_, peer.covariances_ = model.weights_, model.means_, model.covariances_
    peer.precisions_cholesky_ = np.linalg.cholesky(np.linalg.inv(model.covariances_))
    assert model.score_samples(rows[:50]) == pytest.approx(peer.score_samples(rows[:50]))


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("price", PRICES, ids=str)
def test_one_row_of_any_kind_moves_only_what_is_paid_for(relation: Relation, price: Any) -> None:
    rows: list[Any] = blobs(40).tolist()
    public = {**PUBLIC, "steps": 3, "relation": relation, **price}
    (claim,) = (CLAIMS[name] for name in price)

    def run(given: Any) -> object:
        model = GaussianMixture(**public).fit(given, bits=BITS(1))
        return {name: value for name, value in vars(model).items() if name.endswith("_")}

    for row in ([np.nan, np.inf], ["a", 1e308], [10, 10], None):
        other = [*rows[relation is Replace :], row]
        result = replay(run, rows, other, samplers=SAMPLERS, sensitivity=0, claim=claim)
        assert not result.epsilon, result.event
        assert "none: 3 draws" in result.event


def test_no_rows_and_many_components_give_finite_models() -> None:
    for rows in (np.zeros((0, 2)), np.zeros((5, 2))):
        model = GaussianMixture(**{**PUBLIC, "n_components": 9}, epsilon="1/10").fit(rows, bits=BITS(2))
        assert np.isfinite(model.score_samples(blobs(10))).all()


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"covariance_type": "tied"}, "diag"), ({"n_components": 0}, "n_components"), ({"steps": 0}, "steps"),
     ({"bounds": (0, 1)}, "one pair for each"), ({"epsilon": None}, "specify the price")],
)  # fmt: skip
def test_bad_parameters_are_refused(changed: Any, said: str) -> None:
    with pytest.raises(InvalidParameterError, match=said):
        GaussianMixture(**{**PUBLIC, "epsilon": 1, **changed}).fit([[0, 0]])
