"""Transformers by noisy moments: the standard scaler and principal components."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from deniable.learning.estimators.estimator import Priced, Work, same_length
from deniable.learning.estimators.moments import BoxMoments, Moments
from deniable.learning.estimators.reading import Bounds, Features
from deniable.learning.losses import products
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational, whole_number
from deniable.rows import Container, silence, table


@dataclass(kw_only=True, eq=False, repr=False)
class StandardScaler(Priced):
    """Scale every feature to mean 0 and variance 1, by noisy moments.

    No variance is below the deviation of its noise.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        clip: what goes out is cut to [-clip, clip], so that the next step of a pipeline can declare these as its
            bounds; without it `bounds_` are known after the fit.
        epsilon, delta, rho: what the fit may cost: epsilon alone, epsilon and delta, or rho.
        relation: AddRemove, or Replace where the number of rows is public.

    Guarantee: `cost_`, that of one noisy sum of vectors of bounded norm: docs/theory/learning/moments.md.

    >>> from deniable.learning import StandardScaler
    >>> scaler = StandardScaler(bounds=[(0, 100)], epsilon=1, clip=3).fit([[20.0], [40.0]] * 5000)
    >>> scaler.transform([[40.0], [1000.0]]).round(1).tolist(), scaler.bounds_
    ([[1.0], [3.0]], [(-3.0, 3.0)])
    """

    _cross: ClassVar[bool] = False
    bounds: Bounds
    clip: Real | None = None

    def fit_transform(self, X: Container, y: Container | None = None, **options: Any) -> Floats:
        """Fit and transform the same rows: what is returned is private."""
        return self.fit(X, y, **options).transform(X)

    def transform(self, X: Container) -> Floats:
        """The changed rows, of shape (rows, features): private where the rows are."""
        self._check_fitted(X)
        with silence():
            features, mean, matrix, lower, upper = self._fitted
            return np.clip(products(features.cut(X) - mean, matrix), lower, upper)

    def inverse_transform(self, X: Container) -> Floats:
        """Transformed rows in the unit of the features."""
        self._check_fitted()
        _, mean, matrix, _, _ = self._fitted
        rows, _ = table(X, "X", columns=len(matrix))
        return np.asarray(products(rows, np.linalg.pinv(matrix)) + mean)

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, X)
        features = Features.of(self.bounds, X)
        largest = None if self.clip is None else float(positive_rational("clip", self.clip))
        box = BoxMoments(self, features, cross=self._cross)

        def train(bits: Bits) -> dict[str, Any]:
            positions = box.positions(X)
            moments = box.release(
                len(positions), lambda some: (np.ones((len(positions[some]), 1)), positions[some]), bits
            )
            mean = box.middle + box.half * moments.means[0]
            matrix, attributes = self._attributes(moments, box.half)
            ends = [matrix * (end - mean) for end in (features.lower, features.upper)]
            lower, upper = np.minimum(*ends).sum(axis=1), np.maximum(*ends).sum(axis=1)
            if largest is not None:
                lower, upper = np.full(len(lower), -largest), np.full(len(upper), largest)
            pairs = list(zip(lower.tolist(), upper.tolist(), strict=True))
            return attributes | {
                "n_features_in_": features.count,
                "n_samples_seen_": float(moments.counts[0]),
                "mean_": mean,
                "bounds_": pairs,
                "_fitted": (features, mean, matrix, lower, upper),
            }

        return self._work(f"moments of the features were released with {box.noise.kind} noise.", box.loss, train)

    def _attributes(self, moments: Moments, half: Floats) -> tuple[Floats, dict[str, Any]]:
        """Return the matrix for differences from the mean, and attributes."""
        variances = np.clip(moments.variances[0], np.minimum(moments.doubt[0], 1.0), 1.0) * half**2
        return np.diag(variances**-0.5), {"var_": variances, "scale_": np.sqrt(variances)}


@dataclass(kw_only=True, eq=False, repr=False)
class PCA(StandardScaler):
    """Turn features into their principal components, by noisy moments.

    The largest loading of each component is positive.

    Noise makes the first of `explained_variance_` too large.

    Args:
        bounds, clip, epsilon, delta, rho, relation: as in `StandardScaler`.
        n_components: how many are kept; None keeps all.

    Source: Dwork, Talwar, Thakurta, Zhang (2014), "Analyze Gauss"; the guarantee is that of `StandardScaler`.

    >>> from deniable.learning import PCA
    >>> rows = [[x / 10, x / 10] for x in range(-10, 11)] * 500
    >>> model = PCA(bounds=[(-1, 1), (-1, 1)], n_components=1, epsilon=1, delta="1e-6").fit(rows)
    >>> model.components_.round(1).tolist()
    [[0.7, 0.7]]
    """

    _cross: ClassVar[bool] = True
    n_components: int | None = None

    def _planned(self, X: Container, y: Container | None) -> Work:
        features = Features.of(self.bounds, X).count
        whole_number(
            "n_components", features if self.n_components is None else self.n_components, lower=1, upper=features
        )
        return super()._planned(X, y)

    def _attributes(self, moments: Moments, half: Floats) -> tuple[Floats, dict[str, Any]]:
        values, axes = np.linalg.eigh(moments.covariances[0] * np.outer(half, half))
        variances = np.maximum(values[::-1], 0.0)
        components = axes.T[::-1][: self.n_components]
        peaks = np.abs(components).argmax(axis=1)[:, np.newaxis]
        components = components * np.sign(np.take_along_axis(components, peaks, axis=1))
        kept = variances[: self.n_components]
        total = max(variances.sum(), np.finfo(np.float64).tiny)
        attributes = {"components_": components, "n_components_": len(components)}
        return components, attributes | {"explained_variance_": kept, "explained_variance_ratio_": kept / total}
