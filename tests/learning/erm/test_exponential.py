"""The exponential mechanism over a set: its law against E27, and its expected excess against E28."""

from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.erm.exponential import _LATTICE_STEPS, ExponentialMinimiser
from deniable.learning.erm.problem import Problem
from deniable.learning.losses import Hinge, Logistic, Squared
from deniable.learning.rates import exponential_excess_risk
from deniable.learning.sets import Box, L2Ball, Simplex
from deniable.mechanisms.price import Price
from deniable.privacy import AddRemove, Relation, Replace
from tests.learning.erm.test_exact import people
from tests.learning.erm.test_problem import problem


def law(method: ExponentialMinimiser, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Log probabilities of all candidates, from the scores."""
    weights = -float(method.mechanism.rate) * method.scores(rows, labels)
    return weights - weights.max() - np.log(np.exp(weights - weights.max()).sum())


@pytest.mark.parametrize("relation", Relation)
def test_the_loss_of_the_example_of_e27_is_at_most_epsilon_and_nearly_it(relation: Relation) -> None:
    """999 slopes of +1 and one of -1 or +1: with the scale of add/remove, replace would lose 1.998 (E27)."""
    ball = L2Ball(radius=1, columns=1)
    facts = problem(loss=Hinge(), feasible=ball, start=np.zeros(1), relation=relation, row_norm=1)
    method = ExponentialMinimiser(facts, 2001)
    rows, labels = np.ones((1000, 1)), -np.ones(1000)
    neighbour = (rows, np.append(labels[:-1], 1.0)) if relation is Replace else (rows[:-1], labels[:-1])
    lost = np.abs(law(method, rows, labels) - law(method, *neighbour)).max()
    assert lost <= 1 + 1e-9
    assert lost > (0.99 if relation is Replace else 0.49)
    if relation is Replace:
        wrong = ExponentialMinimiser(problem(loss=Hinge(), feasible=ball, start=np.zeros(1), row_norm=1), 2001)
        assert np.abs(law(wrong, rows, labels) - law(wrong, *neighbour)).max() > 1.9


@pytest.mark.parametrize("loss", [Logistic(), Squared(label_bound=2), Hinge()])
def test_no_row_moves_a_score_by_more_than_the_half_oscillation(loss: object) -> None:
    """Losses of a row over all candidates spread over twice the half, so that the clip cuts nothing, and nearly so."""
    facts = problem(loss=loss, feasible=L2Ball(radius=3, columns=2), row_norm=1)
    method, spreads = ExponentialMinimiser(facts, 400), []
    for angle in np.linspace(0, 6.2, 20):
        for label in (-2.0, 2.0):
            rows, labels = facts.read([[5 * np.cos(angle), 5 * np.sin(angle)]], [label])
            losses = facts.loss.values(rows @ method._points.T, labels[:, np.newaxis])
            spreads.append(np.ptp(losses) / (2 * method._half))
            assert np.abs(method.scores(rows, labels)).max() == round(_LATTICE_STEPS * spreads[-1])
    assert 0.5 < max(spreads) <= 1 + 1e-12


def test_a_loss_beyond_its_bound_moves_no_score_further(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss of somebody's that says less of its slope than it has."""
    facts = problem(loss=Logistic(), feasible=L2Ball(radius=3, columns=2), row_norm=1)
    method, values = ExponentialMinimiser(facts, 100), Problem.values
    monkeypatch.setattr(Problem, "values", lambda self, *given: 1000 * values(self, *given))
    assert np.abs(method.scores(np.array([[1.0, 0.0]]), np.array([1.0]))).max() == _LATTICE_STEPS


@pytest.mark.parametrize("columns", [1, 2])
def test_the_expected_excess_is_within_the_bound_and_with_a_fine_grid_within_that_of_e28(columns: int) -> None:
    """The law is exact here: scores give the probabilities, and probabilities the expected mean loss."""
    rows, labels = people(count=1000)
    rows = rows[:, :columns] / np.sqrt(2)
    ball = L2Ball(radius=1, columns=columns)
    facts = problem(loss=Hinge(), feasible=ball, start=np.zeros(columns), size=1000, row_norm=1)
    method = ExponentialMinimiser(facts, 2**12)
    losses = np.array([facts.loss.mean(point, rows, labels) for point in method._points])
    excess = float(np.exp(law(method, rows, labels)) @ losses) - losses.min()
    assert 0 < excess <= method.bound
    e28 = exponential_excess_risk(radius=1, lipschitz=facts.steep, columns=columns, size=1000, epsilon=1)
    assert excess <= e28
    assert method.bound <= 3 * e28


def test_candidates_lie_in_the_set_and_cover_it() -> None:
    for feasible in (L2Ball(radius=2, columns=2, centre=(5, 1)), Simplex(columns=2), Box(bounds=((0, 3), (1, 9)))):
        facts = problem(loss=Logistic(), feasible=feasible, start=feasible.middle)
        points = ExponentialMinimiser(facts, 2500)._points
        assert all(feasible.contains(point) for point in points)
        corner = feasible.project([100.0, 3.0])
        assert np.linalg.norm(points - corner, axis=1).min() < 0.2


def test_the_price_is_kept_and_too_few_candidates_are_refused() -> None:
    facts = problem(price=Price.of(Fraction(1, 2), 0, None))
    assert ExponentialMinimiser(facts, 16).loss.pure_epsilon == Fraction(1, 2)
    assert ExponentialMinimiser(problem(relation=AddRemove), 16).mechanism.rate == Fraction(1, 2 * _LATTICE_STEPS)
    with pytest.raises(InvalidParameterError, match="candidates must be at least 2\\^2"):
        ExponentialMinimiser(facts, 3)
