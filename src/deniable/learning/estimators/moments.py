"""Noisy counts, means and covariances of rows, by class or component."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.estimator import Priced
from deniable.learning.estimators.reading import Features
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import clipped
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy.sensitivity.vectors import of_ball_sum
from deniable.rows import Container

_LATTICE_STEPS = 2**20  # of the lattice to the largest norm
_TOGETHER = 2**18  # numbers that are looked at together
_LARGEST = 2**20  # numbers in one release
_WIDEST = 1e100  # bounds whose squares are floats


class Moments(NamedTuple):
    """Noisy moments of the rows of each block, in places between -1 and 1.

    `blur` and `doubt` are standard deviations of the noise of a mean, of shape (blocks, 1), and of every variance.
    """

    counts: Floats  # at least 1, of shape (blocks,)
    means: Floats  # in [-1, 1], of shape (blocks, features)
    covariances: Floats  # of shape (blocks, features, features)
    variances: Floats  # their diagonals, which noise may make negative
    blur: Floats
    doubt: Floats


class BoxMoments:
    """Moments of features, in places t in [-1, 1] between their bounds, by noisy sums.

    A row has a weight of at least 0 in each block, and at most 1 in all: 1 for its class, or responsibilities. What is
    added up are weights times (c, t, w (2 t^2 - 1), 2 w t_i t_j for i < j), with c and w as the proof says.

    Args:
        model, blocks, releases: what all releases cost together, and how many there are.
        cross: whether products of two features are part of it.

    Guarantee: `loss`: that of the noise at l2 = steps and l1 = sqrt(columns) steps, twice that under replace.
    Proof: docs/theory/learning/moments.md; both norms of the integers of every row are checked.
    """

    def __init__(
        self, model: Priced, features: Features, *, blocks: int = 1, releases: int = 1, cross: bool = False
    ) -> None:
        size = features.count
        if max(np.abs(features.lower).max(), np.abs(features.upper).max()) > _WIDEST:
            raise InvalidParameterError(f"bounds must be at most {_WIDEST:g} in absolute value. Use another unit.")
        self.features, self.blocks, self.releases, self.cross = features, blocks, releases, cross
        self.middle = features.lower / 2 + features.upper / 2
        self.half = features.upper / 2 - features.lower / 2
        self._pairs = np.triu_indices(size if cross else 0, 1)
        self.columns = 1 + 2 * size + len(self._pairs[0])
        if blocks * self.columns > _LARGEST:
            raise InvalidParameterError(f"a model may have {_LARGEST} numbers at most. Use fewer features or classes.")
        self._constant = size**0.25
        self._weight = size ** (-1 / 3) if cross else math.sqrt(0.5)
        squares = size * (1 + self._weight**2) + len(self._pairs[0]) * (2 * self._weight) ** 2
        self.radius = math.sqrt(self._constant**2 + squares)  # where all |t| are 1; no vector is longer
        price = Price.of(model.epsilon, model.delta, model.rho)
        ball = of_ball_sum(radius=_LATTICE_STEPS, dimensions=self.columns, rows=1, relation=model.relation)
        self.sensitivity = replace(ball, coordinates=self.columns * blocks)
        self.noise = price.noises([self.sensitivity] * releases)[0]
        self.loss = price.stated(self.noise.privacy_loss(self.sensitivity) * releases)
        self.deviation = self.noise.standard_deviation() * self.radius / _LATTICE_STEPS / self._constant  # of counts

    def positions(self, values: Container) -> Floats:
        """Rows in [-1, 1], of shape (rows, 1, features)."""
        positions = (self.features.cut(values) - self.middle) / self.half
        return np.clip(positions, -1.0, 1.0)[:, np.newaxis, :]

    def vectors(self, weights: Floats, positions: Floats) -> Floats:
        """Return the vectors that are added up.

        Args:
            weights: of shape (rows, blocks).
            positions: of shape (rows, 1, features) or (rows, blocks, features).
        """
        first, second = self._pairs
        count = np.full((*positions.shape[:-1], 1), self._constant)
        products = 2 * self._weight * positions[..., first] * positions[..., second]
        entries = np.concatenate([count, positions, self._weight * (2 * positions**2 - 1), products], axis=-1)
        return np.asarray((weights[:, :, np.newaxis] * entries).reshape(len(weights), self.blocks * self.columns))

    def release(self, rows: int, parts: Callable[[slice], tuple[Floats, Floats]], bits: Bits) -> Moments:
        """Return the secret moments of the rows.

        `parts` gives weights and positions of some of them, each row treated alike.
        """
        width = self.blocks * self.columns
        total = np.zeros(width, dtype=np.int64)
        together = max(1, _TOGETHER // width)
        for start in range(0, rows, together):
            vectors = self.vectors(*parts(slice(start, start + together)))
            whole = clipped(vectors, radius=self.radius, steps=_LATTICE_STEPS)
            whole[np.abs(whole).sum(axis=1) ** 2 > self.columns * _LATTICE_STEPS**2] = 0
            total += whole.sum(axis=0)
        noisy = self.noise.release(total, bits=bits).value.astype(np.float64)
        return self._moments(noisy.reshape(self.blocks, self.columns) * (self.radius / _LATTICE_STEPS))

    def _moments(self, sums: Floats) -> Moments:
        size, (first, second) = self.features.count, self._pairs
        counts = np.maximum(sums[:, 0] / self._constant, 1.0)
        _, values, squares, products = np.split(sums / counts[:, np.newaxis], [1, 1 + size, 1 + 2 * size], axis=1)
        means = np.clip(values, -1.0, 1.0)
        blur = (self.deviation * self._constant / counts)[:, np.newaxis]
        covariances = np.zeros((len(sums), size, size))
        covariances[:, first, second] = products / (2 * self._weight) - values[:, first] * values[:, second]
        covariances += covariances.transpose(0, 2, 1)
        variances = (squares / self._weight + 1) / 2 - values**2 + blur**2
        covariances[:, range(size), range(size)] = variances
        doubt = np.hypot(blur / (2 * self._weight), 2 * np.abs(means) * blur)
        return Moments(counts, means, covariances, variances, blur, doubt)


def log_total(logs: Floats) -> Floats:
    """log(sum(exp)) of every row, of shape (rows, 1), each row by the same operations."""
    largest = logs.max(axis=1, keepdims=True)
    return np.asarray(largest + np.log(sum(np.exp(logs - largest).T, np.zeros(len(logs))))[:, np.newaxis])
