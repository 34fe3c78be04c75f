"""Linear support vector machines: pulls, sides, and no probabilities."""

import numpy as np
import pytest

from deniable.learning import Clip, LinearSVM, TrainingPlan
from deniable.noise.bits import DeterministicBits


def test_pulls_are_slopes_of_the_huberised_hinge_against_the_rest() -> None:
    two, three = (LinearSVM(bounds=(0, 1), classes=range(k)) for k in (2, 3))
    assert two._residual_gradients(np.array([[0.0], [0.0], [2.0], [2.0]]), np.array([1, 0, 1, 2])).tolist() == [
        [-1],
        [1],
        [0],
        [0],
    ]
    found = three._residual_gradients(np.array([[0.0, 1.0, -2.0], [0.0, 0.0, 0.0]]), np.array([0, 3]))
    assert found.tolist() == [[-1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize("classes", [2, 3])
def test_the_side_decides(classes: int) -> None:
    rng = np.random.default_rng(6)
    labels = rng.integers(0, classes, 2000)
    rows = np.eye(3)[labels] + rng.normal(0, 0.3, (2000, 3))
    outputs = 1 if classes == 2 else 3
    plan = TrainingPlan(noise_multiplier=5, steps=30, dimensions=5 * outputs, clip=Clip(norm="1/4"))
    model = LinearSVM(bounds=(0, 1), classes=range(classes), expected_rows=2000, plan=plan)
    model.fit(rows, labels, bits=DeterministicBits(2))
    assert model.score(rows, labels) > 0.85
    found = model.decision_function(rows)
    assert found.shape == ((2000,) if classes == 2 else (2000, 3))
    assert (model.predict(rows) == (found > 0 if classes == 2 else found.argmax(axis=1))).all()
    assert not hasattr(model, "predict_proba")
