"""Mixtures of normal laws, by expectation and maximisation with noise."""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Priced, Work, same_length
from deniable.learning.estimators.moments import BoxMoments, log_total
from deniable.learning.estimators.reading import Bounds, Features
from deniable.learning.losses import products
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import shown, whole_number
from deniable.rows import Container, silence

_REACH = 2.5  # deviations of a component from its mean to where a step looks
_START = 0.1  # variance of each feature in [-1, 1] before the first step
_MIN_VARIANCES = 1e-4, 0.02  # variance in [-1, 1] at all, and in the coordinates of a step
_LOST = 4  # deviations of its noise within which a count says that a component has no rows


@dataclass(kw_only=True, eq=False, repr=False)
class GaussianMixture(Priced):
    """Fit a mixture of normal distributions by noisy steps of EM.

    A step sees each row from every component: its distance from the mean, in deviations of that component as known by
    then, cut to 2.5 in each direction, times the responsibility for the row. So noise shrinks with the components. They
    start spread over the bounds; one that has lost its rows takes half of the largest.

    Args:
        bounds: a pair (lower, upper) for all features, or a list with one pair for each.
        n_components, steps: how many components there are; how many steps.
        covariance_type: "diag" or "full", which takes more noise.
        epsilon, delta, rho, relation: what the fit may cost, as in `StandardScaler`.

    Guarantee: `cost_`: responsibilities add up to 1, so a row moves a step by one vector of bounded norm.
    Source: Park, Foulds, Chaudhuri, Welling (2017), arXiv:1605.06995, with docs/theory/learning/moments.md.

    >>> from deniable.learning import GaussianMixture
    >>> rows = [[-5 + x / 100] for x in range(-50, 50)] * 20 + [[4 + x / 100] for x in range(-50, 50)] * 20
    >>> model = GaussianMixture(bounds=[(-10, 10)], n_components=2, epsilon=1, delta="1e-6").fit(rows)
    >>> sorted(model.means_.round().ravel().tolist())
    [-5.0, 4.0]
    """

    _estimator_type = "density_estimator"
    bounds: Bounds
    n_components: int
    covariance_type: Literal["diag", "full"] = "diag"
    steps: int = 12

    def _planned(self, X: Container, y: Container | None) -> Work:
        same_length(X, X)
        if self.covariance_type not in ("diag", "full"):
            raise InvalidParameterError(f"covariance_type must be 'diag' or 'full', got {shown(self.covariance_type)}")
        blocks, steps = (whole_number(name, getattr(self, name), lower=1) for name in ("n_components", "steps"))
        full = self.covariance_type == "full"
        box = BoxMoments(self, Features.of(self.bounds, X), blocks=blocks, releases=steps, cross=full)

        def train(bits: Bits) -> dict[str, Any]:
            from scipy.stats import qmc

            positions = box.positions(X)[:, 0]
            size = box.features.count
            spread = 2 * qmc.Halton(size, scramble=False).random(blocks + 1)[1:] - 1
            state = _State(np.ones(blocks), spread, np.tile(_START * np.eye(size), (blocks, 1, 1)))
            for step in range(steps):
                state = _stepped(state, positions, box, bits)
                if step < steps - 1:
                    state = _without_lost(state, _LOST * box.deviation)
            covariances = state.covariances * np.outer(box.half, box.half)
            covariances = covariances if full else np.diagonal(covariances, axis1=1, axis2=2)
            return {"n_features_in_": size, "weights_": state.sizes / state.sizes.sum(), "_fitted": (box, state),
                    "means_": box.middle + box.half * state.means, "covariances_": covariances}  # fmt: skip

        how = f"moments of each component were released {steps} times with {box.noise.kind} noise."
        return self._work(how, box.loss, train)

    def score_samples(self, X: Container) -> Floats:
        """The logarithm of the density at each row."""
        return np.asarray(log_total(self._logs(X))[:, 0])

    def score(self, X: Container, y: Container | None = None) -> float:
        """The mean logarithm of the density: private on private rows.

        It is no part of `cost_`.
        """
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: Container) -> Floats:
        """The responsibility of each component for each row, of shape (rows, components)."""
        return np.asarray(np.exp(self._logs(X) - log_total(self._logs(X))))

    def predict(self, X: Container) -> NDArray[np.int64]:
        """The most probable component of each row."""
        return np.asarray(self._logs(X).argmax(axis=1))

    def _logs(self, X: Container) -> Floats:
        self._check_fitted(X)
        box, state = self._fitted
        with silence():
            return np.asarray(_seen(state, box.positions(X)[:, 0])[0] - np.log(box.half).sum())


class _State(NamedTuple):
    """Components as they are known, of features in [-1, 1]."""

    sizes: Floats
    means: Floats
    covariances: Floats


def _seen(state: _State, positions: Floats) -> tuple[Floats, Floats]:
    """Return logarithms of weight times density, and standardised rows.

    Logarithms have the shape (rows, components).
    """
    inverses = np.linalg.inv(np.linalg.cholesky(state.covariances))
    seen = [products(positions - mean, inverse) for mean, inverse in zip(state.means, inverses, strict=True)]
    scale = np.log(state.sizes / state.sizes.sum()) + np.log(np.diagonal(inverses, axis1=1, axis2=2)).sum(axis=1)
    squares = np.column_stack([squared_norms(part) for part in seen])
    return scale - squares / 2 - positions.shape[1] * np.log(2 * np.pi) / 2, np.stack(seen, axis=1)


def _stepped(state: _State, positions: Floats, box: BoxMoments, bits: Bits) -> _State:
    def parts(some: slice) -> tuple[Floats, Floats]:
        logs, seen = _seen(state, positions[some])
        return np.exp(logs - log_total(logs)), np.clip(seen / _REACH, -1.0, 1.0)

    moments = box.release(len(positions), parts, bits)
    wide = _REACH * np.linalg.cholesky(state.covariances)
    means = np.clip(state.means + (wide @ moments.means[:, :, np.newaxis])[:, :, 0], -1.0, 1.0)
    unseen = np.clip(moments.doubt.mean(axis=1), _MIN_VARIANCES[1], _REACH**-2)  # nothing shrinks that noise may hide
    inner = _between(moments.covariances + moments.blur[:, :, np.newaxis] ** 2 * np.eye(positions.shape[1]), unseen)
    return _State(
        moments.counts, means, _between(wide @ inner @ wide.transpose(0, 2, 1), np.array([_MIN_VARIANCES[0]]))
    )


def _without_lost(state: _State, min_rows: float) -> _State:
    """Return the state with every lost component moved into the largest.

    A component with too few rows takes half of the largest, split along its longest axis.
    """
    sizes, means, covariances = (part.copy() for part in state)
    for lost in np.flatnonzero(sizes < min_rows):
        values, axes = np.linalg.eigh(covariances[largest := sizes.argmax()])
        away = axes[:, -1] * np.sqrt(values[-1])
        both = [lost, largest]
        sizes[both] = sizes[largest] / 2
        means[both] = np.clip([means[largest] + away, means[largest] - away], -1.0, 1.0)
        covariances[both] = covariances[largest] - np.outer(away, away) / 2
    return _State(sizes, means, covariances)


def _between(matrices: Floats, lower: Floats) -> Floats:
    """Symmetric matrices with eigenvalues between `least`, one for each matrix, and 1."""
    values, axes = np.linalg.eigh((matrices + matrices.transpose(0, 2, 1)) / 2)
    return np.asarray((axes * np.clip(values, lower[:, np.newaxis], 1.0)[:, np.newaxis, :]) @ axes.transpose(0, 2, 1))
