"""Exponential mechanism over a grid of parameters.

Proof of the bound: docs/theory/learning/erm.md.
"""

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.erm.problem import Problem
from deniable.learning.losses import products
from deniable.mechanisms import ExponentialMechanism
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy.sensitivity.vectors import of_ball_sum

_LATTICE_STEPS = 2**20  # integer steps to half of the largest oscillation of the loss of one row
_MOST_CELLS = 2**20  # losses that are held at once


class ExponentialMinimiser:
    """Choose a point of the set with probability ~ exp(-rate * sum of losses).

    The scores of a row are its losses at all candidates less the middle of them, which changes no choice: integers
    cut to half of the largest oscillation, at most G R, under replace twice that (erratum E27).
    """

    def __init__(self, problem: Problem, candidates: int) -> None:
        self.problem = problem
        points_per_axis = int(candidates ** (1 / problem.columns) * (1 + 1e-12))
        if points_per_axis < 2:
            raise InvalidParameterError(
                f"candidates must be at least 2^{problem.columns}, two for each parameter, got {candidates}. In this "
                "number of dimensions use method='objective'."
            )
        project = problem.feasible.project
        middle = problem.feasible.middle
        max_distance = problem.feasible.max_distance(middle)
        away = 1e6 * max_distance * np.eye(problem.columns)  # projected: the extent of the set in each direction
        ends = [[project(middle + sign * direction)[i] for i, direction in enumerate(away)] for sign in (-1, 1)]
        axes = [np.linspace(low, high, points_per_axis) for low, high in zip(*ends, strict=True)]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, problem.columns)
        self._points = np.array([project(point) for point in grid])
        largest = problem.loss.largest(row_radius=problem.row_norm, feasible=problem.feasible)
        self._half = min(problem.steep * max_distance, largest / 2)
        price = problem.price
        moves = of_ball_sum(radius=_LATTICE_STEPS, dimensions=1, rows=1, relation=problem.relation)
        self.mechanism = ExponentialMechanism.calibrated(moves, epsilon=price.epsilon, delta=price.delta or None)
        self.loss = price.stated(self.mechanism.privacy_loss(moves))
        self.how = f"The exponential mechanism chose one of {len(grid)} points."
        spacing = np.linalg.norm([axis[1] - axis[0] for axis in axes])
        self.bound = self._bound(points_per_axis, float(spacing))

    def _bound(self, points_per_axis: int, spacing: float) -> float:
        """Bound the expected excess of the mean loss of points close to the best one.

        They are within a number of spacings of it.
        """
        problem = self.problem
        rate = float(self.mechanism.rate) * _LATTICE_STEPS / self._half * problem.size
        close = np.arange(1, points_per_axis + 1)
        farther = problem.steep * np.maximum(0.5, close - 1) * spacing
        excess = (farther + problem.columns * np.log(points_per_axis / close) / rate).min()
        return float(excess + 2 * self._half / _LATTICE_STEPS)

    def draw(self, rows: Floats, labels: Floats, bits: Bits) -> Floats:
        """Draw a candidate."""
        chosen = self.mechanism.release(-self.scores(rows, labels), bits=bits).value
        return np.asarray(self._points[chosen])

    def scores(self, rows: Floats, labels: Floats) -> NDArray[np.int64]:
        """Return the sums of the scores of rows at every candidate.

        The smaller, the better.
        """
        total = np.zeros(len(self._points), dtype=np.int64)
        size = max(1, _MOST_CELLS // len(self._points))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            losses = self.problem.values(products(rows[part], self._points), labels[part])
            middle = losses.max(axis=1, keepdims=True) / 2 + losses.min(axis=1, keepdims=True) / 2
            scaled = np.rint((losses - middle) * (_LATTICE_STEPS / self._half))
            total += np.clip(scaled, -_LATTICE_STEPS, _LATTICE_STEPS).astype(np.int64).sum(axis=0)
        return total
