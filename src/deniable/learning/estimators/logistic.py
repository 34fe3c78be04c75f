"""Logistic regression of two classes or more, by noisy gradient descent."""

import numpy as np
from numpy.typing import NDArray

from deniable.learning.estimators.linear_classifier import LinearClassifier
from deniable.numbers.arrays import Floats
from deniable.rows import Container, silence


class LogisticRegression(LinearClassifier):
    """Predict one of several declared classes, by gradient descent with noise on every sum of gradients.

    Features are cut to their bounds and scaled; a constant is added, and every row is divided by its l2 norm. A tenth
    of the steps finds the noisy mean of these rows, around which they are centred; the others descend. A value that is
    no number counts as 0 where bounds start at 0, else as the middle of them. A row whose label is not among the
    classes pushes nowhere. The model is the average of the later half of the steps. All parameters are public.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        classes: all labels that may occur, in the order of `classes_`.
        expected_rows: about how many rows there are, as the public knows it; only under replace it may be left out.
        epsilon, delta: what the fit may cost; the least noise for it is found, for 80 steps or more over all rows.
        plan: a plan of your own in their place, which says steps, sampler, clip and relation; its dimensions are
            features + 2, for each class if there are more than two.
        learning_rate: by default one that is smaller where the noise of the plan is larger.

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
        """The probability of each class for each row, of shape (rows, classes)."""
        odds = self._odds(X)
        with silence():
            return probabilities(odds)

    @property
    def _curvature(self) -> float:
        return 1 / 4 if len(self.classes) == 2 else 1 / 2  # Boehning (1992)

    def _pulls(self, found: Floats, labels: NDArray[np.int64]) -> Floats:
        chances = probabilities(found)
        known = labels < chances.shape[1]
        chances[np.flatnonzero(known), labels[known]] -= 1.0
        chances[~known] = 0.0
        return chances[:, 1:] if found.shape[1] == 1 else chances


def probabilities(odds: Floats) -> Floats:
    """Chances of shape (rows, classes), each row by the same operations, so that none moves how another is rounded.

    Log odds are of shape (rows, classes), or (rows, 1) for the second of two classes.
    """
    if odds.shape[1] == 1:
        second = 1 / (1 + np.exp(-np.maximum(odds[:, 0], -700.0)))
        return np.stack([1 - second, second]).T
    found = np.exp(odds - odds.max(axis=1, keepdims=True))
    return np.asarray(found / sum(found.T, np.zeros(len(found)))[:, np.newaxis])
