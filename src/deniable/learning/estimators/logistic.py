"""Logistic regression of two classes or more, by noisy gradient descent."""

import numpy as np
from numpy.typing import NDArray

from deniable.learning.estimators.linear_classifier import LinearClassifier
from deniable.numbers.arrays import Floats
from deniable.rows import Container, silence


class LogisticRegression(LinearClassifier):
    """Predict one of several declared classes by logistic regression.

    The model is found by gradient descent with noise on every sum of gradients. Features are cut to their bounds and
    scaled; a constant is added, and every row is divided by its l2 norm. A tenth of the steps finds the noisy mean of
    these rows, around which they are centred; the others descend. A non-numeric value counts as 0 if its bounds start
    at 0, else as their middle. Rows with an undeclared label contribute a zero gradient. The model is the average of
    the later half of the steps. All parameters are public.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        classes: all labels that may occur, in the order of `classes_`.
        expected_rows: the approximate number of rows, from public knowledge; may be left out under replace.
        epsilon, delta: the price of the fit; the least noise for it is used, in 80 steps or more over all rows.
        plan: in place of epsilon and delta: steps, sampler, clip and relation. Its dimensions are features + 2, for
            each class if there are more than two.
        learning_rate: by default the smaller, the larger the noise of the plan.

    Guarantee: `cost_`, that of the plan: all that is kept after `fit` is computed from its noisy sums.
    Source: Abadi et al. (2016), arXiv:1607.00133; momentum of Polyak (1964); average of the later half: Rakhlin,
        Shamir, Sridharan (2012), arXiv:1109.5647. Proof: docs/theory/learning/linear_classifier.md.

    >>> from deniable.learning import LogisticRegression
    >>> rows, labels = [[0.1], [0.2], [0.8], [0.9]] * 500, ["low", "low", "high", "high"] * 500
    >>> public = {"bounds": [(0, 1)], "classes": ["low", "high"], "expected_rows": 2000}
    >>> LogisticRegression(**public, epsilon=1, delta="1e-6").fit(rows, labels).predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    def predict_proba(self, X: Container) -> Floats:
        """Return the probability of each class, shape (rows, classes).

        Args:
            X: rows, of shape (rows, features).
        """
        logits = self._logits(X)
        with silence():
            return probabilities(logits)

    @property
    def _curvature(self) -> float:
        """Largest second derivative of the logistic loss."""
        return 1 / 4 if len(self.classes) == 2 else 1 / 2  # Boehning (1992)

    def _residual_gradients(self, logits: Floats, labels: NDArray[np.int64]) -> Floats:
        """Return probabilities minus one-hot labels."""
        chances = probabilities(logits)
        known = labels < chances.shape[1]
        chances[np.flatnonzero(known), labels[known]] -= 1.0
        chances[~known] = 0.0
        return chances[:, 1:] if logits.shape[1] == 1 else chances


def probabilities(logits: Floats) -> Floats:
    """Return probabilities of classes, shape (rows, classes).

    Each row is computed by the same operations, so that none affects the rounding of another.

    Args:
        logits: shape (rows, classes), or (rows, 1) for the second of two classes.
    """
    if logits.shape[1] == 1:
        second = 1 / (1 + np.exp(-np.maximum(logits[:, 0], -700.0)))
        return np.stack([1 - second, second]).T
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponentials / sum(exponentials.T, np.zeros(len(exponentials)))[:, np.newaxis])
