"""Rows as integers, exact products, the centre, and one row more."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.audit import measure, replay
from deniable.errors import BudgetExceededError, InvalidParameterError
from deniable.learning import (
    AdaptiveClip,
    Clip,
    FixedSize,
    LinearSVM,
    LogisticRegression,
    TrainingPlan,
)
from deniable.learning.estimators.linear_classifier import IntegerRows, gradient_sum, predictions
from deniable.learning.estimators.reading import Features
from deniable.noise.bits import DeterministicBits
from deniable.privacy import PrivacyUnit, Replace
from deniable.rows import silence
from tests.audit.draws import RELEASES

PUBLIC: dict[str, Any] = {"bounds": [(0, 10), (-1, 1)], "classes": [0, 1], "expected_rows": 30}


def features(columns: int) -> Features:
    return Features.of([(-2, 2)] * columns, None)


def random_rows(
    seed: int, rows: int = 301, columns: int = 37, *, centred: bool = True
) -> tuple[IntegerRows, np.ndarray]:
    rng = np.random.default_rng(seed)
    seen = IntegerRows(features(columns), 2**14)
    return seen.around(rng.normal(0, 0.05, columns + 1), 0.01) if centred else seen, rng.normal(size=(rows, columns))


@pytest.mark.parametrize("centred", [False, True])
def test_rows_are_integers_of_a_ball_and_each_is_read_by_itself(centred: bool) -> None:
    seen, values = random_rows(1, 2100, centred=centred)
    values[7, 3], values[8, 0], values[9] = np.nan, np.inf, 1e308
    found = seen.integers(seen.unit_vectors(values))
    assert found.shape == (2100, 38 + centred)
    assert (found == np.rint(found)).all()
    exact = found.astype(np.int64)
    assert (exact**2).sum(axis=1).max() <= seen.steps**2
    assert (exact**2).sum(axis=1).max() > 0.99 * seen.steps**2
    for start, end in ((0, 1), (7, 8), (2047, 2049)):
        assert (seen.integers(seen.unit_vectors(values[start:end])) == found[start:end]).all()


def test_values_beyond_bounds_are_cut_and_missing_ones_have_one_place() -> None:
    seen = IntegerRows(Features.of([(0, 10), (-1, 1)], None), 2**14)
    rows = seen.unit_vectors([[99, np.inf], [10, 1], [None, -9], [0, -1], [np.nan, "x"], [0, 0]])
    assert (rows[::2] == rows[1::2]).all()


def test_a_boundary_is_kept_by_scaling_and_centring() -> None:
    """Weights w over (row, 1) are the weights (w, <w, centre> / constant) over the centred row with its constant."""
    seen, values = random_rows(2, 50, 3)
    weights = np.array([0.3, -0.5, 0.2, 0.1])
    whole = np.column_stack([np.clip(values / 2, -1, 1), np.ones(50)])
    truth = (whole / np.linalg.norm(whole, axis=1, keepdims=True)) @ weights
    assert seen.centre is not None
    away = np.linalg.norm(whole / np.linalg.norm(whole, axis=1, keepdims=True) - seen.centre, axis=1)
    seen = replace(seen, radius=float(np.median(away)))
    moved, inner = seen.integers(seen.unit_vectors(values)) / seen.steps, np.sqrt(1 - 0.3**2) / seen.radius
    found = moved @ np.append(weights / inner, weights @ seen.centre / 0.3)
    kept = away <= seen.radius
    assert found[kept] == pytest.approx(truth[kept], abs=2e-3)
    assert found[~kept] != pytest.approx(truth[~kept], abs=2e-3)


def test_a_centre_of_noise_alone_is_no_centre() -> None:
    seen = IntegerRows(features(3), 2**14)
    found = seen.around(np.full(4, 0.01), 0.02).centre
    assert found is not None
    assert not found.any()
    far = seen.around(np.full(4, 9.0), 0.02)
    assert np.linalg.norm(far.centre) <= 1  # type: ignore[arg-type]
    assert far.radius == pytest.approx(0.1)


@pytest.mark.parametrize("outputs", [1, 5])
def test_predictions_and_sums_are_exact(outputs: int) -> None:
    """Against rational arithmetic; the twin shows that products of floats are not exact."""
    seen, values = random_rows(3)
    rows, weights = seen.integers(seen.unit_vectors(values)), 30 * np.random.default_rng(4).normal(size=(outputs, 39))
    found = predictions(rows, weights)
    assert found == pytest.approx(rows @ weights.T, rel=1e-7, abs=1e-5)
    for start, end in ((0, 1), (7, 11), (100, 301)):
        assert (predictions(rows[start:end], weights) == found[start:end]).all()
    assert any((rows @ weights.T)[:k].tobytes() != (rows[:k] @ weights.T).tobytes() for k in range(1, 300))

    pulls = np.random.default_rng(5).normal(size=(301, outputs))
    pulls[5], pulls[6, 0] = np.nan, np.inf
    with silence():
        total = gradient_sum(rows, pulls, radius=0.25, steps=2**14)
        each = [gradient_sum(rows[k : k + 1], pulls[k : k + 1], radius=0.25, steps=2**14) for k in range(301)]
    assert (sum(part.astype(object) for part in each) == total).all()
    assert max(Fraction(int((part.astype(object) ** 2).sum())) for part in each) <= 2**56
    assert not each[5].any()
    assert not each[6].any()


def test_sums_of_many_rows_of_one_direction_stay_exact() -> None:
    """Entries of 2^20 rows of the largest kind are below 2^53."""
    rows, pulls = np.full((2**20 + 3, 1), 2.0**15), np.full((2**20 + 3, 1), 9.0)
    exact = gradient_sum(rows, pulls, radius=1.0, steps=2**15)
    single = int(gradient_sum(rows[:1], pulls[:1], radius=1.0, steps=2**15)[0, 0])
    assert int(exact[0, 0]) == single * (2**20 + 3)
    assert 0.99 * 2**30 < single <= 2**30


@pytest.mark.parametrize(("kind", "lattice"), [(LogisticRegression, 1), (LogisticRegression, 1000), (LinearSVM, 2**28)])
def test_no_release_moves_by_more_than_the_plan_states(kind: type[LogisticRegression], lattice: int) -> None:
    """Every release of a run on a neighbour, with all earlier draws alike, moves by at most the lattice in l2."""
    plan = TrainingPlan(noise_multiplier=5, steps=22, dimensions=4, clip=Clip(norm="1/4", lattice=lattice))
    rng = np.random.default_rng(6)
    rows, labels = rng.uniform(-1, 9, (30, 2)), rng.integers(0, 2, 30)

    def run(data: tuple[np.ndarray, np.ndarray]) -> object:
        model = kind(**PUBLIC, plan=plan).fit(*data, bits=DeterministicBits(1))
        return model.coef_, model.intercept_, model.note_

    pair = (rows, labels), (rows[:-1], labels[:-1])
    for claimed, violated in ((plan, False), (replace(plan, noise_multiplier=50), lattice > 1)):
        claim = claimed.privacy_loss
        found = replay(run, *pair, samplers=RELEASES, sensitivity=0, claim=claim, delta=1e-5)
        assert (found.epsilon > 0) == violated


def test_a_plan_that_a_run_would_refuse_is_refused_before_anybody_pays() -> None:
    """Twin: the same plans with what fits are taken."""

    class Refusing:
        def pay(self, *_: object, **__: object) -> Any:
            raise BudgetExceededError("asked")

    rows, labels = np.zeros((30, 2)), np.zeros(30, dtype=int)
    plan = TrainingPlan(noise_multiplier=5, steps=22, dimensions=4)
    fixed = replace(plan, sampler=FixedSize(size=5, population=30), relation=Replace)
    for good in (plan, fixed):
        with pytest.raises(BudgetExceededError):
            LogisticRegression(**PUBLIC, plan=good).fit(rows, labels, ledger=Refusing())
    for bad in (
        replace(plan, clip=AdaptiveClip()), replace(plan, clip=Clip(stabiliser=1)), replace(plan, dimensions=5),
        replace(plan, unit=PrivacyUnit(column="who", noun="person")),
        replace(fixed, sampler=FixedSize(size=5, population=31)),
    ):  # fmt: skip
        with pytest.raises(InvalidParameterError):
            LogisticRegression(**PUBLIC, plan=bad).fit(rows, labels, ledger=Refusing())


def test_many_short_runs_agree_with_the_stated_loss() -> None:
    """Miss at most 1%, by the confidence; the twin, a claim of eight times the noise, is refuted at this seed."""
    plan = TrainingPlan(noise_multiplier=1, steps=6, dimensions=3, clip=Clip(norm="1/4"))
    model = LogisticRegression(bounds=[(0, 1)], classes=[0, 1], expected_rows=1, plan=plan, learning_rate=0.1)
    bits = DeterministicBits(7)

    def run(data: np.ndarray) -> float:
        model.fit(data, np.ones(len(data), dtype=int), bits=bits)
        return float(model.decision_function([[1.0]])[0])

    pair = np.zeros((0, 1)), np.ones((1, 1))
    shown = [np.array([run(data) for _ in range(120)]) for data in pair]
    for claim, refuted in ((plan, False), (replace(plan, noise_multiplier=8), True)):
        found = measure(
            lambda data, runs: shown[len(data)],
            *pair,
            claim=claim.privacy_loss,
            runs=120,
            batched=True,
            low_bits=False,
        )
        assert ("false" in found.sentence) == refuted
