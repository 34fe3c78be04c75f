"""Losses of linear models: the mean, one gradient for each row, and how steep and how curved they can be.

Every loss is phi(prediction, label) with prediction = <parameters, row>, so its gradient is slope * row. The constants
hold for rows in a public ball and parameters in a feasible set. They set step sizes and bounds of the error; what a
release promises follows from clipping alone.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from deniable.arguments import InWords, read_fields
from deniable.errors import InvalidParameterError
from deniable.learning.sets import FeasibleSet
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, positive_rational
from deniable.rows import numbers, silence, table

__all__ = ["Hinge", "HuberisedHinge", "Logistic", "Loss", "Squared"]


@dataclass(frozen=True, kw_only=True)
class Loss(metaclass=InWords):
    """A convex loss of a prediction and a label.

    Rows are read one by one. A label outside of its declared range counts as the nearest one inside, and one that is
    missing is NaN, as is the gradient of its row, which a clipped sum counts as 0.
    """

    def __post_init__(self) -> None:
        read_fields(self)

    @abstractmethod
    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """The loss of every row, shape (rows,)."""

    @abstractmethod
    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """A subgradient by the prediction for every row, shape (rows,)."""

    @abstractmethod
    def steepest(self, reach: float) -> float:
        """The largest slope where no prediction exceeds `reach` in size."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest second derivative by the prediction; infinity where there is a corner."""

    @abstractmethod
    def _labels(self, labels: Floats) -> Floats:
        """Labels moved into their declared range."""

    def lipschitz(self, *, row_radius: Real, feasible: FeasibleSet) -> float:
        """The largest norm that a gradient can have.

        Args:
            row_radius, feasible: the largest norm of a row, and where the parameters lie.

        >>> from deniable.learning.losses import Squared
        >>> from deniable.learning.sets import L2Ball
        >>> Squared(label_bound=1).lipschitz(row_radius=1, feasible=L2Ball(radius=2, columns=3))
        3.0
        """
        return float(positive_rational("row_radius", row_radius)) * self.steepest(_reach(row_radius, feasible))

    def smoothness(self, *, row_radius: Real) -> float:
        """The largest curvature in any direction for rows of at most this norm; infinity for a hinge."""
        return self.curvature * float(positive_rational("row_radius", row_radius)) ** 2

    def largest(self, *, row_radius: Real, feasible: FeasibleSet) -> float:
        """A bound on the loss of one row: phi is convex in either argument, so the corners of its range attain it."""
        reach = _reach(row_radius, feasible)
        extremes = self._labels(np.array([-np.inf, np.inf]))
        return float(self.values(np.array([-reach, reach]), extremes[::-1]).max())

    def mean(self, parameters: ArrayLike, rows: object, labels: object) -> float:
        """The mean loss over at least one row, without privacy.

        Args:
            parameters, rows, labels: of shape (columns,), (rows, columns) and (rows,).

        >>> from deniable.learning.losses import Hinge
        >>> Hinge().mean([1, 0], [[1, 0], [2, 2]], [1, -1])
        1.5
        """
        theta, table_, known = self._read(parameters, rows, labels)
        if not len(table_):
            raise InvalidParameterError("a mean loss needs at least one row, got none")
        return float(self.values(products(table_, theta[np.newaxis])[:, 0], known).mean())

    @silence()
    def gradients(self, parameters: ArrayLike, rows: object, labels: object) -> Floats:
        """The gradient of every row, shape (rows, columns); private where the rows are.

        Args:
            parameters, rows, labels: of shape (columns,), (rows, columns) and (rows,).

        Guarantee: the gradient of a row is a function of that row, its label and the parameters alone, wherever it
            stands: all float work is element by element, in a fixed order.

        >>> from deniable.learning.losses import Squared
        >>> Squared(label_bound=1).gradients([1, 0], [[2, 0], [0, 3]], [1, 1]).tolist()
        [[2.0, 0.0], [-0.0, -3.0]]
        """
        theta, table_, known = self._read(parameters, rows, labels)
        found: Floats = table_ * self.slopes(products(table_, theta[np.newaxis])[:, 0], known)[:, np.newaxis]
        return found

    def _read(self, parameters: ArrayLike, rows: object, labels: object) -> tuple[Floats, Floats, Floats]:
        theta = np.array(parameters, dtype=np.float64)
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise InvalidParameterError("parameters must be a list of finite numbers")
        found, _ = table(rows, "rows", columns=theta.size)
        known = numbers(labels, "labels")
        if found.shape != (len(known), theta.size):
            raise InvalidParameterError(f"rows must be a table of {theta.size} columns with one label for each row")
        return theta, found, self._labels(known)


@dataclass(frozen=True, kw_only=True)
class Squared(Loss):
    """Half of the squared difference between prediction and label.

    Args:
        label_bound: the largest size of a label; labels beyond are moved to it.
    """

    curvature: ClassVar[float] = 1.0
    label_bound: Annotated[Fraction, positive_rational]

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        return (predictions - labels) ** 2 / 2

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        return predictions - labels

    def steepest(self, reach: float) -> float:
        return reach + float(self.label_bound)

    def _labels(self, labels: Floats) -> Floats:
        return np.clip(labels, -float(self.label_bound), float(self.label_bound))


@dataclass(frozen=True, kw_only=True)
class _OfMargin(Loss):
    """A loss that falls with the margin, label times prediction; labels above 0 are 1, and all others -1."""

    def steepest(self, reach: float) -> float:
        return 1.0

    def _labels(self, labels: Floats) -> Floats:
        return np.where(np.isnan(labels), np.nan, np.where(labels > 0, 1.0, -1.0))


@dataclass(frozen=True, kw_only=True)
class Logistic(_OfMargin):
    """ln(1 + exp(-margin)), for labels above 0 and others."""

    curvature: ClassVar[float] = 0.25

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        return np.logaddexp(0.0, -labels * predictions)

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        return -labels * np.exp(-np.logaddexp(0.0, labels * predictions))

    def steepest(self, reach: float) -> float:
        """Attained where the prediction is as wrong as it can be."""
        return math.exp(-np.logaddexp(0.0, -reach))


@dataclass(frozen=True, kw_only=True)
class Hinge(_OfMargin):
    """max(0, 1 - margin), for labels above 0 and others. At the corner, the slope is 0."""

    curvature: ClassVar[float] = math.inf

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        return np.maximum(0.0, 1.0 - labels * predictions)

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        return np.where(labels * predictions < 1, -labels, 0.0 * labels)


@dataclass(frozen=True, kw_only=True)
class HuberisedHinge(_OfMargin):
    """The hinge with a parabola within `width` of its corner, which makes it smooth.

    Args:
        width: greater than 0; the curvature is 1 / (2 width).

    Source: Chaudhuri, Monteleoni, Sarwate (2011), "Differentially private empirical risk minimization".
    """

    width: Annotated[Fraction, positive_rational]

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        short, width = 1.0 - labels * predictions, float(self.width)
        return np.where(short > width, short, np.maximum(short + width, 0.0) ** 2 / (4 * width))

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        short, width = 1.0 - labels * predictions, float(self.width)
        return -labels * np.clip((short + width) / (2 * width), 0.0, 1.0)

    @property
    def curvature(self) -> float:
        return 1 / (2 * float(self.width))


def _reach(row_radius: Real, feasible: FeasibleSet) -> float:
    """The largest size of a prediction."""
    return float(positive_rational("row_radius", row_radius)) * feasible.farthest(np.zeros(feasible.middle.size))


def products(rows: Floats, weights: Floats) -> Floats:
    """rows @ weights.T, column by column: matrix products round differently at the edges of their blocks."""
    total = np.zeros((len(rows), len(weights)))
    for column, line in zip(rows.T, weights.T, strict=True):
        total += column[:, np.newaxis] * line
    return total
