"""Projections against quadratic programs of SciPy, and distances against many points."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from deniable.errors import InvalidParameterError
from deniable.learning.sets import Box, FeasibleSet, L1Ball, L2Ball, Simplex

CENTRE = (Fraction(1, 2), Fraction(-1), Fraction(0))
SETS = [
    L2Ball(radius=Fraction(3, 2), columns=3, centre=CENTRE),
    L1Ball(radius=Fraction(3, 2), columns=3, centre=CENTRE),
    Box(bounds=((-1, 0, 2), (1, Fraction(1, 2), 2))),  # type: ignore[arg-type]
    Simplex(columns=3, total=Fraction(2)),
]


def program(feasible: FeasibleSet, point: np.ndarray) -> np.ndarray:
    """The nearest point by a general solver; for the l1 ball in variables (positive part, negative part)."""
    twice = isinstance(feasible, L1Ball)
    matrix = np.hstack([np.eye(3), -np.eye(3)]) if twice else np.eye(3)
    offset = feasible.middle if twice else np.zeros(3)
    bounds, constraints = [(0, None)] * matrix.shape[1], []
    if isinstance(feasible, L2Ball):
        bounds = [(None, None)] * 3
        constraints = [{"type": "ineq", "fun": lambda x: 1.5**2 - ((x - feasible.middle) ** 2).sum()}]
    elif twice:
        constraints = [{"type": "ineq", "fun": lambda x: 1.5 - x.sum()}]
    elif isinstance(feasible, Box):
        bounds = list(zip(*[map(float, corner) for corner in feasible.bounds], strict=True))
    else:
        constraints = [{"type": "eq", "fun": lambda x: x.sum() - 2}]
    found = minimize(
        lambda x: ((offset + matrix @ x - point) ** 2).sum(),
        np.full(matrix.shape[1], 0.1),
        bounds=bounds,
        constraints=constraints,
        method="SLSQP",
        options={"ftol": 1e-13, "maxiter": 300},
    )
    return offset + matrix @ found.x


@pytest.mark.parametrize("feasible", SETS, ids=lambda one: type(one).__name__)
def test_projections_solve_the_quadratic_program(feasible: FeasibleSet) -> None:
    for point in np.random.default_rng(1).normal(scale=3, size=(8, 3)):
        found = feasible.project(point)
        assert feasible.contains(found)
        assert np.allclose(found, program(feasible, point), atol=2e-5, rtol=1e-7)
        assert np.allclose(feasible.project(found), found, atol=1e-12, rtol=1e-7)


@pytest.mark.parametrize("feasible", SETS, ids=lambda one: type(one).__name__)
def test_no_point_lies_farther_than_the_farthest_and_one_comes_near(feasible: FeasibleSet) -> None:
    """Projections of far random points lie on the boundary, at vertices often."""
    rng = np.random.default_rng(2)
    points = np.array([feasible.project(point) for point in rng.normal(scale=20, size=(1500, 3))])
    for origin in (np.zeros(3), np.array([1.0, -2.0, 0.5])):
        most = np.linalg.norm(points - origin, axis=1).max()
        assert 0.97 * feasible.max_distance(origin) <= most <= feasible.max_distance(origin) + 1e-9
    pairs = np.linalg.norm(points[:300, None] - points[None, :300], axis=2).max()
    assert 0.97 * feasible.diameter <= pairs <= feasible.diameter + 1e-9
    assert feasible.contains(feasible.middle)


def test_points_inside_stay_and_points_outside_are_told() -> None:
    ball = L1Ball(radius=Fraction(1), columns=2)
    assert ball.project([0.25, -0.5]).tolist() == [0.25, -0.5]
    assert not ball.contains([0.75, 0.5])
    assert Simplex(columns=1).project([-7.0]).tolist() == [1.0]
    assert Box.ball(radius=2, columns=2).diameter == pytest.approx(32**0.5)
    assert Simplex(columns=2).project([1e300, -1e300]).tolist() == [1.0, 0.0]


def test_wrong_sets_and_points_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="radius must be > 0"):
        L2Ball(radius=0, columns=2)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="no lower bound may be above"):
        Box(bounds=((1,), (0,)))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="lists of one number"):
        Box(bounds=((1,), ()))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="one number for each parameter"):
        Box(bounds=((), ()))
    with pytest.raises(InvalidParameterError, match="2 finite numbers"):
        SETS[0].__class__(radius=Fraction(1), columns=2).project([np.nan, 0])
    with pytest.raises(InvalidParameterError, match="3 finite numbers"):
        SETS[0].contains([0.0])
