"""k-means: the lectures' theorem by brute force, plain Lloyd as the reference, and one row more or less."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from deniable.audit import replay
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import KMeans
from deniable.learning.estimators.kmeans import nearest, totals
from deniable.mechanisms import Laplace
from deniable.mechanisms.vectors.clipping import clipped, squared_norms
from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Relation
from tests.audit.draws import RELEASES

CENTRES = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 3.0]])


def blobs(rows: int = 3000, features: int = 2) -> np.ndarray:
    rng = np.random.default_rng(8)
    middles = rng.uniform(-8, 8, (3, features))
    return np.clip(middles[np.arange(rows) % 3] + rng.normal(0, 0.5, (rows, features)), -10, 10)


def fitted(rows: object, **changed: Any) -> KMeans:
    public: dict[str, Any] = {"n_clusters": 3, "bounds": [(-10, 10), (-10, 10)], "epsilon": 1}
    return KMeans(**{**public, **changed}).fit(rows, bits=DeterministicBits(1))  # type: ignore[arg-type]


def inertia(rows: np.ndarray, centres: np.ndarray) -> float:
    return float(np.min([squared_norms(rows - centre) for centre in centres], axis=0).sum())


# --- Theorem 6 of the lectures: how far one row moves counts and sums ------------------------------------------------


@pytest.mark.parametrize("l1", [True, False])
@pytest.mark.parametrize("relation", Relation)
def test_one_row_moves_counts_and_sums_as_far_as_the_theorem_says(relation: Relation, l1: bool) -> None:
    """All rows of a small ball in place of all others, errata E12 and E13: 2 and 2 under replace, 1 and 1 else."""
    ball = [point for point in product(range(-3, 4), repeat=2)
            if (sum(map(abs, point)) <= 3 if l1 else sum(each**2 for each in point) <= 9)]  # fmt: skip
    others = np.array([[1, 0], [0, -2], [3, 0]])

    def seen(*more: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        whole = np.vstack([others, *more])
        return totals(whole, nearest(whole.astype(np.float64), CENTRES), 3)

    before = [seen()] if relation is AddRemove else [seen(point) for point in ball]
    pairs = [(a, seen(point)) for a in before for point in ball]
    counts = max(np.abs(b[0] - a[0]).sum() for a, b in pairs)
    sums = max(((np.abs(b[1] - a[1]).sum()) if l1 else np.sqrt(((b[1] - a[1]) ** 2).sum())) for a, b in pairs)
    twice = 1 if relation is AddRemove else 2
    assert counts == twice
    assert sums == 3 * twice if l1 else sums <= 3 * twice


def test_a_row_as_near_to_six_centres_as_to_one_would_move_counts_by_five() -> None:
    """Erratum E12: with a row in every cluster that is as near, l1 is 5 and not 2."""
    around = np.array([[1, 0], [-1, 0], [0, 1], [0, -1], [1, 0], [-1, 0]], dtype=float)
    places = nearest(np.array([[0.0, 0.0], [0.9, 0.0]]), around)
    assert places.tolist() == [0, 0]
    distances = np.array([squared_norms(np.array([[0.0, 0.0], [0.9, 0.05]]) - centre) for centre in around])
    shared = distances == distances.min(axis=0)
    assert np.abs(shared[:, 0].astype(int) - shared[:, 1]).sum() > 2


def test_rows_of_a_box_are_clipped_to_the_l1_ball_that_the_noise_is_for() -> None:
    """Erratum E13: in [0, 1]^3 sums move by more than 2; in the ball they do not, whatever the floats are."""
    rows = np.array([[1, 1, 1], [1, 1, 0.85], [0.2, 0, 0], [1e308, -1e308, 1e308], [np.inf, 0, 0]])
    whole = clipped(rows, radius=1.0, steps=1000, l1=True)
    assert np.abs(rows[0]).sum() + np.abs(rows[1]).sum() > 2
    assert (np.abs(whole).sum(axis=1) <= 1000).all()
    assert whole[2].tolist() == [199, 0, 0]


@pytest.mark.parametrize("relation", Relation)
def test_each_round_of_lloyd_spends_half_on_counts_and_half_on_sums(relation: Relation) -> None:
    """epsilon' = epsilon / (2 T), noise 2 / epsilon' under replace, in units of the radius."""
    scales: list[Fraction] = []

    def noted(noise: Laplace, exact: Any, **options: Any) -> Any:
        scales.append(noise.scale)
        return inner(noise, exact, **options)

    inner = Laplace.release
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Laplace, "release", noted)
        model = fitted(blobs(30), method="lloyd", rounds=4, relation=relation)
    counts = 8 * (1 if relation is AddRemove else 2)
    assert scales == [counts, counts * 2**20] * 4
    assert model.cost_.pure_epsilon == 1


def test_the_gaussian_version_is_concentrated() -> None:
    model = fitted(blobs(30), method="lloyd", epsilon=None, rho="1/2")
    assert model.cost_.rho == pytest.approx(0.5)
    assert "Gaussian" in model.note_
    assert fitted(blobs(30), delta="1e-6").cost_.epsilon("1e-6").upper <= 1


# --- what it finds ---------------------------------------------------------------------------------------------------


def test_without_noise_it_is_lloyds_algorithm() -> None:
    rows, centres = blobs(300), np.array([[-5.0, 0.0], [0.0, 5.0], [5.0, 0.0]])
    found = fitted(rows, method="lloyd", rounds=6, epsilon=10**6, start=centres.tolist(), radius=20)
    for step in range(6):
        places = nearest(rows, centres)
        centres = np.array([rows[places == j].mean(axis=0) if (places == j).any() else centres[j] for j in range(3)])
        assert found.path_[step + 1] == pytest.approx(centres, abs=1e-3)


@pytest.mark.parametrize("features", [2, 6])
@pytest.mark.parametrize("delta", [None, "1e-6"])
def test_the_grid_finds_blobs_at_epsilon_one(features: int, delta: str | None) -> None:
    """Ratios to the best centres were at most 1.02; random starts end above 3."""
    rows = blobs(9000, features)
    model = fitted(rows, bounds=[(-10, 10)] * features, delta=delta)
    best = inertia(rows, np.array([rows[j::3].mean(axis=0) for j in range(3)]))
    assert inertia(rows, model.cluster_centers_) < 1.2 * best
    assert model.predict(rows).shape == (9000,)


def test_centres_stay_in_the_ball_whatever_the_noise_and_would_not_by_themselves() -> None:
    """Erratum E14."""
    outside = 0
    for seed in range(20):
        model = KMeans(n_clusters=4, bounds=[(-1, 1)] * 2, radius=1, epsilon="1/10", method="lloyd", rounds=3)
        centres = model.fit(blobs(40) / 10, bits=DeterministicBits(seed)).path_[1:].reshape(-1, 2)
        moved = np.abs(centres).sum(axis=1)
        assert (moved <= 1 + 1e-9).all()
        outside += int((moved > 1 - 1e-9).sum())
    assert outside > 20  # on the boundary: they were projected


def test_a_cluster_without_rows_gets_noise_like_any_other() -> None:
    """Bug L8 of another library: a centre that nobody is near to stayed at the data-free start."""
    start = [[-9.0, -9.0], [9.0, 9.0], [9.0, -9.0]]
    moved = 0
    for seed in range(20):
        model = KMeans(n_clusters=3, bounds=[(-10, 10)] * 2, epsilon=1, method="lloyd", start=start, rounds=3)
        model.fit(np.full((500, 2), -9.0), bits=DeterministicBits(seed))
        moved += int((model.cluster_centers_[1:] != start[1:]).any(axis=1).sum())
    assert moved > 20


# --- rows that are not as declared, and refusals ---------------------------------------------------------------------


@pytest.mark.parametrize("method", ["grid", "lloyd"])
@pytest.mark.parametrize("given", [[], [[1, 2]], [[np.nan, None], ["x", np.inf], [1], 3, [10**400, 0]]])
def test_odd_rows_are_a_fit_like_any_other(given: list[object], method: str) -> None:
    model = fitted(given, method=method)
    assert model.cluster_centers_.shape == (3, 2)
    assert (np.abs(model.cluster_centers_) <= 10).all()
    assert sorted(name for name in vars(model) if name.endswith("_")) == [
        "budget_left_", "cluster_centers_", "cost_", "n_features_in_", "path_", "safe_",
    ]  # fmt: skip


def test_what_is_refused_is_refused_before_anything_is_paid() -> None:
    class Refusing:
        def pay(self, *_: object, **__: object) -> Any:
            raise BudgetExceededError("asked")

    wrong: list[dict[str, Any]] = [
        {"n_clusters": 0}, {"bounds": None}, {"epsilon": None}, {"epsilon": 0}, {"method": "x"}, {"rounds": 0},
        {"radius": 0}, {"relation": 3}, {"start": [[1, 2]] * 3}, {"start": [[1, 2]] * 2, "method": "lloyd"},
        {"start": [[1, "x"]] * 3, "method": "lloyd"}, {"bounds": [(0, 1)]},
        {"bounds": [(0, 5e-324)] * 2}, {"bounds": [(-1e200, 1e200)] * 2},
    ]  # fmt: skip
    for changed in wrong:
        public: dict[str, Any] = {"n_clusters": 3, "bounds": [(-10, 10)] * 2, "epsilon": 1, **changed}
        with pytest.raises(InvalidParameterError):
            KMeans(**public).fit(blobs(9), ledger=Refusing())
    with pytest.raises(InvalidParameterError, match="table"):
        KMeans(n_clusters=3, bounds=[(0, 1)], epsilon=1).fit(None, ledger=Refusing())  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="fit"):
        KMeans(n_clusters=3, bounds=[(0, 1)], epsilon=1).predict([[1]])


@pytest.mark.parametrize("changed", [{}, {"method": "lloyd"}, {"delta": "1e-6"}], ids=str)
@pytest.mark.parametrize("row", [[10.0, 10.0], [np.nan, np.inf]])
def test_one_row_changes_nothing_but_what_mechanisms_release(row: list[float], changed: dict[str, Any]) -> None:
    for rows in (blobs(9), np.zeros((0, 2))):

        def run(given: np.ndarray) -> object:
            model = fitted(given, **changed)
            return model.path_, model.note_

        more, claim = np.vstack([rows, row]), fitted(rows, **changed).cost_
        found = replay(run, rows, more, samplers=RELEASES, sensitivity=0, claim=claim, delta=changed.get("delta", 0))
        assert found.epsilon == 0, found.event


def test_a_mean_over_the_exact_count_is_caught() -> None:
    def leaky(rows: np.ndarray) -> object:
        return fitted(rows).cluster_centers_ / len(rows)

    rows = blobs(9)
    assert replay(leaky, rows, rows[:-1], samplers=RELEASES, sensitivity=0).epsilon == np.inf


def test_more_epsilon_buys_better_centres_in_many_features() -> None:
    """20,000 rows of 8 blobs in 9 features, which a grid of 4 directions alone cannot tell apart: 12.6 at epsilon 1."""
    random = np.random.default_rng(1)
    middles = random.uniform(1, 9, (8, 9))
    rows = np.clip(middles[random.integers(0, 8, 20_000)] + random.normal(0, 1, (20_000, 9)), 0, 10)
    costs = []
    for epsilon in (1, 3):
        model = KMeans(n_clusters=8, bounds=[(0, 10)] * 9, epsilon=epsilon)
        fits = [model.fit(rows, bits=DeterministicBits(seed)).cluster_centers_ for seed in range(4)]
        costs.append(np.mean([squared_norms(rows - centres[nearest(rows, centres)]).mean() for centres in fits]))
    assert costs[1] < 0.85 * costs[0]
