"""Linear support vector machines by noisy gradient descent."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from deniable.learning.estimators.linear_classifier import LinearClassifier
from deniable.learning.losses import HuberisedHinge
from deniable.numbers.arrays import Floats
from deniable.rows import Container

_LOSS = HuberisedHinge(width=Fraction(1, 2))


class LinearSVM(LinearClassifier):
    """Predict one of several declared classes by a linear support vector machine.

    The huberised hinge of width 1/2 is minimised by the descent of `LogisticRegression`; for more than two classes, of
    each against the rest at once. It has `decision_function`, and no probabilities.

    Args:
        bounds, classes, expected_rows, epsilon, delta, plan, learning_rate: as in `LogisticRegression`.

    Guarantee: `cost_`, that of the plan.
    Source: Chaudhuri, Monteleoni, Sarwate (2011), for the loss.

    >>> from deniable.learning import LinearSVM
    >>> rows, labels = [[0.1], [0.2], [0.8], [0.9]] * 500, ["low", "low", "high", "high"] * 500
    >>> public = {"bounds": [(0, 1)], "classes": ["low", "high"], "expected_rows": 2000}
    >>> LinearSVM(**public, epsilon=1, delta="1e-6").fit(rows, labels).predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    @property
    def predict_proba(self) -> Floats:  # type: ignore[override]
        """Raise: AttributeError, as scikit-learn expects of a model without probabilities."""
        raise AttributeError("a linear SVM has no probabilities. Use decision_function.")

    def _scores(self, X: Container) -> Floats:
        """Return the predictions of each class."""
        logits = self._logits(X)
        return np.column_stack([-logits, logits]) if logits.shape[1] == 1 else logits

    @property
    def _curvature(self) -> float:
        """Curvature of the huberised hinge."""
        return _LOSS.curvature

    def _residual_gradients(self, logits: Floats, labels: NDArray[np.int64]) -> Floats:
        """Return slopes of the huberised hinge, of each class against the rest."""
        classes = len(self.classes)
        outputs = np.arange(classes)[-logits.shape[1] :]  # the second of two
        slopes = _LOSS.slopes(logits, np.where(labels[:, np.newaxis] == outputs, 1.0, -1.0))
        return np.where((labels < classes)[:, np.newaxis], slopes, 0.0)
