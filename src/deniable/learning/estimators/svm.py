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
    """Predict one of several declared classes by the side of a hyperplane, or the farthest of one for each class.

    The huberised hinge of width 1/2 is minimised by the descent of `LogisticRegression`, with its parameters; of more
    than two classes, for each against the rest at once. It has `decision_function`, and no probabilities.

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
        """Raise an AttributeError, as scikit-learn expects of what has no probabilities."""
        raise AttributeError("a linear SVM has no probabilities. Use decision_function.")

    def _scores(self, X: Container) -> Floats:
        found = self._odds(X)
        return np.column_stack([-found, found]) if found.shape[1] == 1 else found

    @property
    def _curvature(self) -> float:
        return _LOSS.curvature

    def _pulls(self, found: Floats, labels: NDArray[np.int64]) -> Floats:
        classes = len(self.classes)
        places = np.arange(classes)[-found.shape[1] :]  # the second of two
        slopes = _LOSS.slopes(found, np.where(labels[:, np.newaxis] == places, 1.0, -1.0))
        return np.where((labels < classes)[:, np.newaxis], slopes, 0.0)
