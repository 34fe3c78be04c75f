"""Certified minimisers against another optimiser, and how far one row moves them."""

import numpy as np
import pytest
from scipy.optimize import minimize

from deniable.errors import UnprovedError
from deniable.learning.erm import exact
from deniable.learning.erm.exact import CERTIFIED, distance_bound, minimise
from deniable.learning.losses import HuberisedHinge, Logistic, Loss, Squared
from deniable.learning.sets import Box, FeasibleSet, L1Ball, L2Ball, Simplex
from tests.learning.erm.test_problem import problem

SETS: list[FeasibleSet] = [
    L2Ball(radius=1, columns=2),
    L1Ball(radius="1/2", columns=2),
    Simplex(columns=2),
    Box.ball(radius=3, columns=2),
]


def people(seed: int = 1, count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 2))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    return rows, np.where(rows[:, 0] - rows[:, 1] + 0.5 * rng.normal(size=count) > 0, 1.0, -1.0)


@pytest.mark.parametrize("feasible", SETS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("loss", [Logistic(), Squared(label_bound=1), HuberisedHinge(width="1/2")])
def test_the_minimiser_is_within_its_certificate_of_another_optimiser_s(loss: Loss, feasible: FeasibleSet) -> None:
    """The other one is scipy's, projected into the set: it may only be worse, up to what the certificate leaves."""
    rows, labels = people()
    facts = problem(loss=loss, feasible=feasible, start=feasible.middle, row_norm=1)
    tilt, strength = np.array([3.0, -2.0]), 0.7

    def total(w: np.ndarray) -> float:
        away = w - facts.start
        return float(loss.values(rows @ w, labels).sum() + strength / 2 * away @ away + tilt @ w)

    found = minimise(facts, rows, labels, strength, tilt)
    assert feasible.contains(found)
    other = minimize(lambda w: total(feasible.project(w)), found + 0.01, method="Nelder-Mead", options={"xatol": 1e-9})
    assert total(found) <= total(feasible.project(other.x)) + 1e-9
    assert distance_bound(facts, rows, labels, strength, tilt, found) <= CERTIFIED * facts.steep / strength


def test_the_certificate_of_a_point_is_at_least_its_distance() -> None:
    rows, labels = people()
    facts = problem(loss=Logistic(), feasible=SETS[3], row_norm=1)
    best = minimise(facts, rows, labels, 0.5, np.zeros(2))
    for away in ([1e-3, 0.0], [0.2, -0.4], [0.0, 1.5]):
        assert distance_bound(facts, rows, labels, 0.5, np.zeros(2), best + away) >= np.linalg.norm(away) * (1 - 1e-3)


def test_a_minimiser_that_is_not_certified_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the certificate: a target below what rounding leaves."""
    rows, labels = people()
    monkeypatch.setattr(exact, "CERTIFIED", 1e-17)
    with pytest.raises(UnprovedError, match="nothing was released"):
        minimise(problem(loss=Logistic(), row_norm=1), rows, labels, 1.0, np.zeros(2))


@pytest.mark.parametrize("feasible", SETS[:2])
def test_one_row_moves_the_minimiser_by_at_most_the_slope_over_the_penalty(feasible: FeasibleSet) -> None:
    """L / strength when a row is added, and half of that is attained by some row."""
    rows, labels = people(count=6)
    facts, strength = problem(loss=Logistic(), feasible=feasible, row_norm=1), 8.0
    base = minimise(facts, rows, labels, strength, np.zeros(2))
    moved = 0.0
    for angle in np.linspace(0, 2 * np.pi, 24):
        more = np.vstack([rows, [[np.cos(angle), np.sin(angle)]]])
        found = minimise(facts, more, np.append(labels, 1.0), strength, np.zeros(2))
        moved = max(moved, float(np.linalg.norm(found - base)))
    assert moved <= facts.steep / strength
    assert moved >= 0.4 * facts.steep / strength


def test_no_rows_have_a_minimiser_too() -> None:
    found = minimise(problem(loss=Logistic()), np.zeros((0, 2)), np.zeros(0), 1.0, np.array([0.5, 0.0]))
    assert np.allclose(found, [-0.5, 0.0], atol=1e-6)
