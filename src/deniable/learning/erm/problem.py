"""Public facts of a minimisation over private rows."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.learning.losses import Loss
from deniable.learning.sets import FeasibleSet
from deniable.mechanisms.price import Price
from deniable.mechanisms.vectors.clipping import squared_norms
from deniable.numbers.arrays import Floats
from deniable.privacy import AddRemove, Relation
from deniable.rows import Container, each_row, numbers, silence, table

_UP = 1 + 2.0**-40  # float rounding then never takes a bound below the truth
_DOWN = 1 - 2.0**-40


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The public facts of a minimisation: `size` rows, cut to the l2 norm `row_norm`."""

    loss: Loss
    feasible: FeasibleSet
    start: Floats
    size: int
    row_norm: Fraction
    price: Price
    relation: Relation

    @property
    def columns(self) -> int:
        return self.start.size

    @property
    def moved(self) -> int:
        """Number of terms of the sum that one unit can add or remove."""
        return 1 if self.relation is AddRemove else 2

    @cached_property
    def steep(self) -> float:
        """L: no gradient of a row is longer, anywhere in the set."""
        return self.loss.lipschitz(row_radius=self.row_norm, feasible=self.feasible) * _UP

    @cached_property
    def curved(self) -> float:
        """The largest curvature of the loss of a row.

        Raises: InvalidParameterError where the loss has a corner.
        """
        curvature = self.loss.smoothness(row_radius=self.row_norm) * _UP
        if curvature < np.inf:
            return curvature
        raise InvalidParameterError(
            f"{type(self.loss).__name__} has a corner, where a minimiser cannot be certified. Use HuberisedHinge, or "
            "method='exponential' or 'gradient'."
        )

    @cached_property
    def radius(self) -> float:
        """From the start to the farthest feasible point."""
        return self.feasible.max_distance(self.start) * _UP

    @silence()
    def read(self, rows: Container | object, labels: Container | object) -> tuple[Floats, Floats]:
        """Return rows cut to their norm, and labels.

        A row with an entry that is not a finite number is zero, at label 0.
        """
        values, _ = table(rows, "X", columns=self.columns)
        if values.shape[1] != self.columns:
            raise InvalidParameterError(f"X must have {self.columns} columns, as the set has, got {values.shape[1]}")
        known = numbers(labels, "y")
        whole = np.isfinite(values).all(axis=1) & ~np.isnan(known)
        values, known = np.where(whole[:, np.newaxis], values, 0.0), np.where(whole, known, 0.0)
        longest = float(self.row_norm) * _DOWN
        factors = longest / np.maximum(np.sqrt(squared_norms(values)), longest)
        return values * factors[:, np.newaxis], self.loss._labels(known)

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """Return slopes of the loss, 0 for a row on which it fails or is not finite."""
        return np.nan_to_num(each_row(self.loss.slopes, predictions, labels), nan=0.0, posinf=0.0, neginf=0.0)

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """Return losses of rows at several parameters, shape (rows, parameters).

        0 for a row on which the loss fails or is not finite.
        """
        losses = each_row(self.loss.values, predictions, labels[:, np.newaxis], width=predictions.shape[1:])
        return np.where(np.isfinite(losses).all(axis=1, keepdims=True), losses, 0.0)
