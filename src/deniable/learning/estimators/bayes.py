"""Naive Bayes and nearest centroid from noisy counts and moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.bins import Bins
from deniable.learning.estimators.estimator import Classifier, Priced, Work, same_length
from deniable.learning.estimators.moments import BoxMoments, Moments, log_total
from deniable.learning.estimators.reading import Bounds, Features, Labels
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, shown
from deniable.privacy import of_count
from deniable.rows import Container, silence

_FLOOR = 0.003  # of variances of features in [-1, 1]


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianNB(Priced, Classifier):
    """Predict the class under which independent normal features are most probable.

    Noisy counts and moments of each class are released once. Variances are drawn to what the classes have in common, as
    far as they differ by no more than noise, and the variance of the noise of a mean is added to them.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        classes: all labels that may occur, in the order of `classes_`.
        epsilon, delta, rho, relation: what the fit may cost, as in `StandardScaler`.

    Guarantee: `cost_`: a row moves the sums of its class alone, by a vector of bounded norm.
    Source: Vaidya, Shafiq, Basu, Hong (2013); noise and shrinkage: docs/theory/learning/moments.md.

    >>> from deniable.learning import GaussianNB
    >>> rows, labels = [[0.1], [0.2], [0.8], [0.9]] * 500, ["low", "low", "high", "high"] * 500
    >>> model = GaussianNB(bounds=[(0, 1)], classes=["low", "high"], epsilon=1).fit(rows, labels)
    >>> model.predict([[0.05], [0.95]]).tolist()
    ['low', 'high']
    """

    _means: ClassVar[str] = "theta_"
    bounds: Bounds
    classes: Sequence[object]

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        labels = Labels.of(self.classes, y)
        box = BoxMoments(self, Features.of(self.bounds, X), blocks=len(labels.classes))

        def train(bits: Bits) -> dict[str, Any]:
            positions = box.positions(X)
            chosen = np.equal.outer(labels.indices(y), np.arange(box.blocks)).astype(np.float64)
            moments = box.release(len(positions), lambda some: (chosen[some], positions[some]), bits)
            shares, variances = self._law(moments)
            means = box.middle + box.half * moments.means
            return {"classes_": np.array(labels.classes), "n_features_in_": box.features.count, self._means: means,
                    "class_count_": moments.counts, "class_prior_": shares, "var_": variances * box.half**2,
                    "_fitted": (box, shares, moments.means, variances)}  # fmt: skip

        how = f"counts and moments of each class were released with {box.noise.kind} noise."
        return self._work(how, box.loss, train)

    def predict_proba(self, X: Container) -> Floats:
        """The probability of each class for each row, of shape (rows, classes)."""
        self._check_fitted(X)
        box, shares, means, variances = self._fitted
        with silence():
            logs = np.log(shares) - np.log(variances).sum(axis=1) / 2
            for column, mean, variance in zip(box.positions(X)[:, 0].T, means.T, variances.T, strict=True):
                logs = logs - (column[:, np.newaxis] - mean) ** 2 / (2 * variance)
            return np.asarray(np.exp(logs - log_total(logs)))

    def _law(self, moments: Moments) -> tuple[Floats, Floats]:
        """Return shares of the classes, and shrunken variances.

        Variances are the closer to the common ones, the more noise hides their differences.
        """
        common = np.clip(np.average(moments.variances, axis=0, weights=moments.counts), _FLOOR, 1.0)
        apart = moments.variances - common
        doubt = moments.doubt**2
        differ = np.maximum((apart**2 - doubt).mean(axis=1, keepdims=True), 1e-5)
        variances = np.clip(common + apart * differ / (differ + doubt), _FLOOR, 1.0) + moments.blur**2
        return moments.counts / moments.counts.sum(), variances


@dataclass(kw_only=True, eq=False, repr=False)
class NearestCentroid(GaussianNB):
    """Predict the class whose noisy mean is nearest.

    It is `GaussianNB` with equal class probabilities and one variance for all.

    Args:
        bounds, classes, epsilon, delta, rho, relation: as in `GaussianNB`.

    >>> from deniable.learning import NearestCentroid
    >>> model = NearestCentroid(bounds=[(0, 1)], classes=[0, 1], epsilon=1).fit([[0.1], [0.9]] * 900, [0, 1] * 900)
    >>> model.predict([[0.2]]).tolist()
    [0]
    """

    _means = "centroids_"

    def _law(self, moments: Moments) -> tuple[Floats, Floats]:
        common = np.clip(np.average(moments.variances, axis=0, weights=moments.counts).mean(), _FLOOR, 1.0)
        return np.full(len(moments.counts), 1 / len(moments.counts)), np.full(moments.means.shape, common)


@dataclass(kw_only=True, eq=False, repr=False)
class CategoricalNB(Priced, Classifier):
    """Predict a class from independent categories, by naive Bayes.

    Counts of each category in each class are noisy.

    Args:
        categories: for each feature, the list of all values that count; another one counts in other features alone.
        classes: all labels that may occur, in the order of `classes_`.
        alpha: what is added to every count after the noise, and after counts below 0 became 0.
        epsilon, delta, rho, relation: what the fit may cost, as in `StandardScaler`.

    Guarantee: `cost_`: a row moves one count of each feature and one of the classes, each by 1.

    >>> from deniable.learning import CategoricalNB
    >>> rows, labels = [["rain", "cold"], ["sun", "warm"]] * 500, ["stay", "go"] * 500
    >>> public = {"categories": [["rain", "sun"], ["cold", "warm"]], "classes": ["stay", "go"]}
    >>> CategoricalNB(**public, epsilon=1).fit(rows, labels).predict([["sun", "warm"]]).tolist()
    ['go']
    """

    categories: Sequence[Sequence[object]]
    classes: Sequence[object]
    alpha: Real = 1

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, y)
        listed = self.categories
        labels = Labels.of(self.classes, y)
        alpha = float(positive_rational("alpha", self.alpha))
        price = Price.of(self.epsilon, self.delta, self.rho)
        if isinstance(listed, str) or not isinstance(listed, Sequence | np.ndarray) or not len(listed):
            raise InvalidParameterError(f"categories must be lists, one for each feature, got {shown(listed)}")
        bins = Bins.of([None] * len(listed), dict(enumerate(listed)), 1, X)
        ends = np.cumsum([1, *map(len, bins.categories)])
        shape = (len(labels.classes), int(ends[-1]))
        sensitivity = of_count(rows=1, groups=len(ends), cells=shape[0] * shape[1], relation=self.relation)
        noise = price.noise(sensitivity)

        def train(bits: Bits) -> dict[str, Any]:
            exact = np.zeros((shape[0] + 1, shape[1] + 1), dtype=np.int64)  # the last ones for what is not declared
            known = labels.indices(y)
            for code, start in zip(bins.codes(X).T, ends, strict=False):
                np.add.at(exact, (known, np.where(code > 0, start + code - 1, shape[1])), 1)
            exact[:, 0] = np.bincount(known, minlength=len(exact))
            noisy = noise.release(exact[:-1, :-1], bits=bits).value.astype(np.float64)
            counts = np.maximum(noisy, 0.0) + alpha
            prior = np.log(counts[:, 0] / counts[:, 0].sum())
            log_chances = [
                np.log(part / part.sum(axis=1, keepdims=True)) for part in np.split(counts, ends[:-1], axis=1)[1:]
            ]
            return {"classes_": np.array(labels.classes), "n_features_in_": len(listed),
                    "class_count_": counts[:, 0], "class_log_prior_": prior, "feature_log_prob_": log_chances,
                    "_fitted": (bins, prior, log_chances)}  # fmt: skip

        loss = price.stated(noise.privacy_loss(sensitivity))
        return self._work(f"counts were released with {noise.kind} noise.", loss, train)

    def predict_proba(self, X: Container) -> Floats:
        """The probability of each class for each row, of shape (rows, classes)."""
        self._check_fitted(X)
        bins, logs, chances = self._fitted
        with silence():
            for code, log_chances in zip(bins.codes(X).T, chances, strict=True):
                logs = logs + np.column_stack([np.zeros(len(log_chances)), log_chances]).T[code]
            return np.asarray(np.exp(logs - log_total(logs)))
