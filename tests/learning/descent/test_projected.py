"""Descents on random convex problems, and where the lecture notes go wrong: E32, E33, E38."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import nnls

from deniable.errors import InvalidParameterError
from deniable.learning import descend, descend_by_samples
from deniable.learning.descent.projected import walk
from deniable.learning.losses import Hinge
from deniable.learning.rates import descent_bound
from deniable.learning.sets import Box, FeasibleSet, L1Ball, L2Ball, Simplex
from deniable.noise import gaussian
from deniable.noise.bits import DeterministicBits

SETS = [
    L2Ball(radius=Fraction(1), columns=3),
    L1Ball(radius=Fraction(1), columns=3),
    Box.ball(radius=1, columns=3),
    Simplex(columns=3),
]
LINE = L2Ball(radius=Fraction(2), columns=1)


@pytest.mark.parametrize("feasible", SETS, ids=lambda one: type(one).__name__)
def test_the_average_of_random_problems_is_within_the_bound(feasible: FeasibleSet) -> None:
    """max_i <a_i, x - b>: Lipschitz, with corners; the optimum is at most the value at any feasible point."""
    rng = np.random.default_rng(4)
    for steps in (1, 2, 7, 50):
        slopes = rng.normal(size=(5, 3))
        slopes /= np.linalg.norm(slopes, axis=1).max()
        shift = rng.normal(size=5)
        values = lambda x: slopes @ x + shift  # noqa: E731,B023
        found = descend(lambda x: slopes[values(x).argmax()], feasible, steps=steps, lipschitz=1)  # noqa: B023
        best = min(values(feasible.project(point)).max() for point in rng.normal(scale=2, size=(2000, 3)))
        assert values(found.average).max() - best <= found.bound + 1e-9
        assert found.bound == descent_bound(radius=feasible.max_distance(feasible.middle), lipschitz=1, steps=steps)
        assert feasible.contains(found.average)
        assert feasible.contains(found.last)


def test_steps_move_the_parameters() -> None:
    """E32: the notes project the point before the step, which stays at 0 for every T."""
    found = descend(lambda x: x - 1, LINE, steps=100, lipschitz=3, start=[0.0])
    assert found.last[0] == pytest.approx(1, abs=2e-3)
    stays = np.zeros(1)
    for _ in range(100):
        stays = LINE.project(stays)
    assert stays[0] == 0


@dataclass(frozen=True, kw_only=True)
class Hull(FeasibleSet):
    """Convex combinations of corners, projected to by nonnegative least squares."""

    corners: tuple[tuple[float, ...], ...]

    @property
    def middle(self) -> np.ndarray:
        return np.mean(self.corners, axis=0)

    @property
    def diameter(self) -> float:
        return max(self.max_distance(corner) for corner in self.corners)

    def max_distance(self, point: object) -> float:
        return float(np.linalg.norm(np.array(self.corners) - self._read(point), axis=1).max())

    def _project(self, point: np.ndarray) -> np.ndarray:
        """The weights add up to 1 by a row of a large weight."""
        matrix = np.vstack([np.array(self.corners).T, np.full(len(self.corners), 1e6)])
        return np.array(self.corners).T @ nnls(matrix, np.append(point, 1e6))[0]


def test_the_bound_holds_for_the_average_and_not_for_the_last_iterate() -> None:
    """E33: T = 2, R = G = 1; the last iterate misses 1 / sqrt(2) by more than 20%, the average has 0.3094."""
    tilt, side = 1 / (2 * np.sqrt(2)), np.sqrt(7 / 8)
    planes = np.array([[-tilt, 0, side], [tilt, side, 0], [tilt, -side, 0]])
    points = ((0.75, 0.0, np.sqrt(7) / 4), (1.0, 0.0, 0.0), (0.75, -np.sqrt(7) / 4, 0.0))
    hull = Hull(corners=((0.0, 0.0, 0.0), *points))
    assert hull.diameter == pytest.approx(1)

    def value(x: np.ndarray) -> float:
        return max(0.0, float((planes @ x).max()))

    def subgradient(x: np.ndarray) -> np.ndarray:
        """The first of those that attain the maximum, after rounding: a tie at the second point."""
        return planes[np.flatnonzero(planes @ x >= value(x) - 1e-6)[0]]

    found = descend(subgradient, hull, steps=2, lipschitz=1, start=points[0])
    assert np.allclose(found.last, points[2], atol=1e-5, rtol=1e-7)
    assert found.bound == pytest.approx(0.70711, abs=1e-5)
    assert value(found.last) > 1.2 * found.bound
    assert value(found.average) == pytest.approx(0.3094, abs=1e-4)


def test_samples_are_unbiased_and_their_average_is_within_the_bound() -> None:
    """E34, and the bound in expectation: the mean of 30 runs, each of excess within [0, 3], is sure to 1e-3."""
    rng = np.random.default_rng(6)
    rows, labels = rng.normal(size=(12, 2)), rng.choice([-1.0, 1.0], size=12)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    loss, ball, theta = Hinge(), L2Ball(radius=Fraction(2), columns=2), np.array([0.3, -0.2])
    each = [loss.gradients(theta, rows[[i]], labels[[i]])[0] for i in range(12)]
    assert np.allclose(np.mean(each, axis=0), loss.gradients(theta, rows, labels).mean(axis=0), rtol=1e-7)
    best = descend(lambda x: loss.gradients(x, rows, labels).mean(axis=0), ball, steps=3000, lipschitz=1)
    runs = [
        descend_by_samples(
            lambda x, i: loss.gradients(x, rows[[i]], labels[[i]])[0],
            ball,
            examples=12,
            steps=40,
            lipschitz=1,
            bits=DeterministicBits(seed),
        )
        for seed in range(30)
    ]
    excess = np.mean([loss.mean(run.average, rows, labels) for run in runs]) - loss.mean(best.average, rows, labels)
    assert 0 < excess <= runs[0].bound
    assert len({float(run.average[0]) for run in runs}) == 30


def test_exact_descent_stays_at_a_saddle_and_noise_leaves_it() -> None:
    """E38: f = x^2 - y^2 from (1, 0); (0, 0) is stationary and no minimum."""
    square = Box(bounds=((-1, -1), (1, 1)))
    noise = iter(gaussian.sample(sigma_squared=100, size=(500, 2), bits=DeterministicBits(1)) / 10_000)
    stuck = descend(lambda at: 2 * at * [1, -1], square, steps=500, lipschitz=3, start=[1, 0]).last
    free = descend(lambda at: 2 * at * [1, -1] + next(noise), square, steps=500, lipschitz=3, start=[1, 0]).last
    assert np.allclose(stuck, 0, atol=1e-6)
    assert abs(free[1]) == 1


def test_noisy_descent_with_a_constant_step_stays_in_a_ball_of_noise() -> None:
    """E38: f = x^2 / 2, step 0.1, unit noise: variance 0.1^2 / (1 - 0.9^2) = 0.05263, within 5% for 40,000 values.

    Their correlation leaves about 4,000 independent ones, so the deviation of the estimate is about 2%: seeded.
    """
    rng = np.random.default_rng(7)
    noise, seen = rng.normal(size=40_000), []

    def gradient(x: np.ndarray, step: int) -> np.ndarray:
        seen.append(x[0])
        return x + noise[step]

    walk(gradient, Box.ball(radius=100, columns=1), np.zeros(1), steps=40_000, step_size=0.1)
    assert np.var(seen[200:]) == pytest.approx(0.05263, rel=0.05)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="start must lie in the feasible set"):
        descend(lambda x: x, LINE, steps=1, lipschitz=1, start=[3.0])
    with pytest.raises(InvalidParameterError, match="norm at most lipschitz=1"):
        descend(lambda x: x + 2, LINE, steps=1, lipschitz=1)
    with pytest.raises(InvalidParameterError, match="1 numbers"):
        descend(lambda x: x * np.nan, LINE, steps=1, lipschitz=1)
    with pytest.raises(InvalidParameterError, match="steps must be >= 1"):
        descend(lambda x: x, LINE, steps=0, lipschitz=1)
    with pytest.raises(InvalidParameterError, match="examples must be >= 1"):
        descend_by_samples(lambda x, _: x, LINE, examples=0, steps=1, lipschitz=1)
