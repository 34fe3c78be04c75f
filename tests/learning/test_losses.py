"""Losses against finite differences, and their constants against random rows and parameters."""

import math
from fractions import Fraction

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.learning.losses import Hinge, HuberisedHinge, Logistic, Loss, Squared
from deniable.learning.sets import L2Ball

LOSSES: list[Loss] = [Squared(label_bound=Fraction(2)), Logistic(), Hinge(), HuberisedHinge(width=Fraction(1, 2))]
NAMED = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
BALL = L2Ball(radius=Fraction(3), columns=4)
ROW = 1.5


def drawn(seed: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Parameters of the ball, rows of norm 1.5, labels."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 4))
    rows *= ROW / np.linalg.norm(rows, axis=1, keepdims=True)
    return BALL.project(rng.normal(size=4) * 4), rows, rng.choice([-2.0, -1.0, 1.0, 2.0], size=count)


@NAMED
def test_the_mean_gradient_is_the_slope_of_the_mean_loss(loss: Loss) -> None:
    theta, rows, labels = drawn(3, 40)
    step = 1e-6
    slopes = [
        (loss.mean(theta + step * axis, rows, labels) - loss.mean(theta - step * axis, rows, labels)) / (2 * step)
        for axis in np.eye(4)
    ]
    assert np.allclose(loss.gradients(theta, rows, labels).mean(axis=0), slopes, atol=1e-8, rtol=1e-7)


@NAMED
def test_no_gradient_is_longer_than_the_lipschitz_constant_and_one_comes_near(loss: Loss) -> None:
    limit = loss.lipschitz(row_radius=ROW, feasible=BALL)
    norms = [np.linalg.norm(loss.gradients(*drawn(seed, 200)), axis=1).max() for seed in range(20)]
    assert max(norms) <= limit * (1 + 1e-12)
    worst = np.array([3.0, 0, 0, 0])
    attained = np.linalg.norm(loss.gradients(worst, [[ROW, 0, 0, 0]], [-2.0]))
    assert attained == pytest.approx(limit)


@NAMED
def test_no_loss_exceeds_its_bound(loss: Loss) -> None:
    limit = loss.largest(row_radius=ROW, feasible=BALL)
    assert (
        max(loss.mean(theta, rows[:1], labels[:1]) for theta, rows, labels in map(drawn, range(50), [1] * 50)) <= limit
    )
    assert loss.mean([3.0, 0, 0, 0], [[ROW, 0, 0, 0]], [-2.0]) == pytest.approx(limit)


@NAMED
def test_gradients_change_no_faster_than_the_smoothness_says(loss: Loss) -> None:
    """Near a margin of 1 and of 0, where the losses are most curved; the hinge has a corner at 1."""
    row = np.array([[ROW, 0, 0, 0]])
    ratios = []
    for margin in (0.0, 1.0):
        near, far = np.array([margin / ROW - 1e-6, 0, 0, 0]), np.array([margin / ROW + 1e-6, 0, 0, 0])
        moved = np.abs(loss.gradients(near, row, [1.0]) - loss.gradients(far, row, [1.0])).max()
        ratios.append(moved / 2e-6)
    smooth = loss.smoothness(row_radius=ROW)
    assert max(ratios) <= smooth * (1 + 1e-6)
    assert max(ratios) > 1e5 if math.isinf(smooth) else max(ratios) == pytest.approx(smooth, rel=1e-5)


def test_the_huberised_hinge_is_the_hinge_away_from_its_corner() -> None:
    """Chaudhuri et al.: 0 above 1 + h, 1 - z below 1 - h, and a parabola of value h / 4 at the corner."""
    loss = HuberisedHinge(width=Fraction(1, 2))
    margins = np.array([-3.0, 0.5, 1.0, 1.5, 4.0])
    assert loss.values(margins, np.ones(5)).tolist() == [4.0, 0.5, 0.125, 0.0, 0.0]
    assert loss.slopes(margins, np.ones(5)).tolist() == [-1.0, -1.0, -0.5, 0.0, 0.0]


def test_logistic_loss_is_finite_at_any_margin() -> None:
    found = Logistic().gradients([1e200], [[1e100], [-1e100]], [1, 1])
    assert found.tolist() == [[0.0], [1e100]]
    assert Logistic().mean([1000.0], [[-1.0]], [1]) == 1000.0


@NAMED
def test_a_row_has_one_gradient_wherever_it_stands(loss: Loss) -> None:
    """A matrix product would differ in the last digits for some of the lengths."""
    theta, rows, labels = drawn(5, 67)
    whole = loss.gradients(theta, rows, labels)
    for start in range(67):
        assert np.array_equal(loss.gradients(theta, rows[start:], labels[start:]), whole[start:])


def test_labels_outside_count_as_the_nearest_and_missing_ones_touch_no_other_row() -> None:
    found = Squared(label_bound=Fraction(1)).gradients([0.0], [[1.0]] * 4, [9, -9, None, 0.5])
    assert found[[0, 1, 3]].tolist() == [[-1.0], [1.0], [-0.5]]
    assert np.isnan(found[2])
    assert Hinge().gradients([0.0], [[1.0]] * 3, [7, 0, -3]).tolist() == [[-1.0], [1.0], [1.0]]
    for loss in LOSSES:
        assert np.isnan(loss.gradients([0.0], [[1.0], [np.nan]], [np.nan, 1.0])).all()


def test_wrong_input_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match="finite numbers"):
        Hinge().mean([np.nan], [[1.0]], [1])
    with pytest.raises(InvalidParameterError, match="one label for each row"):
        Hinge().gradients([1.0], [[1.0]], [1, 1])
    with pytest.raises(InvalidParameterError, match="table of 2 columns"):
        Hinge().gradients([1.0, 2.0], np.ones((3, 3)), [1, 1, 1])
    with pytest.raises(InvalidParameterError, match="at least one row"):
        Hinge().mean([1.0], np.ones((0, 1)), [])
    with pytest.raises(InvalidParameterError, match="width must be > 0"):
        HuberisedHinge(width=0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="row_radius must be > 0"):
        Hinge().smoothness(row_radius=-1)
