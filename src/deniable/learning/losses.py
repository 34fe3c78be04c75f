"""Losses of linear models: gradients of rows, and bounds on slope and curvature.

Every loss is phi(prediction, label) with prediction = <parameters, row>, so its gradient is slope * row. The constants
hold for rows in a public ball and parameters in a feasible set. They set step sizes and bounds of the error; the
guarantee of a release follows from clipping alone.
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
    """Base class of convex losses of a prediction and a label.

    Rows are read one by one. A label outside of its declared range counts as the nearest one inside, and one that is
    missing is NaN, as is the gradient of its row, which a clipped sum counts as 0.

    >>> isinstance(Squared(label_bound=1), Loss)
    True
    """

    def __post_init__(self) -> None:
        read_fields(self)

    @abstractmethod
    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the loss of every row, shape (rows,).

        Args:
            predictions, labels: shape (rows,).
        """

    @abstractmethod
    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """Return a subgradient with respect to the prediction for every row.

        Shape (rows,).

        Args:
            predictions, labels: shape (rows,).
        """

    @abstractmethod
    def max_slope(self, radius: float) -> float:
        """Return the largest slope of predictions of at most this size.

        Args:
            radius: the largest size of a prediction.
        """

    @property
    @abstractmethod
    def curvature(self) -> float:
        """Largest second derivative with respect to the prediction.

        Infinity for a loss with a corner.
        """

    @abstractmethod
    def _labels(self, labels: Floats) -> Floats:
        """Return labels moved into their declared range."""

    def lipschitz(self, *, row_radius: Real, feasible: FeasibleSet) -> float:
        """Return the largest norm that a gradient can have.

        Args:
            row_radius: the largest norm of a row.
            feasible: the set of the parameters.

        >>> from deniable.learning.losses import Squared
        >>> from deniable.learning.sets import L2Ball
        >>> Squared(label_bound=1).lipschitz(row_radius=1, feasible=L2Ball(radius=2, columns=3))
        3.0
        """
        slope = self.max_slope(_max_prediction(row_radius, feasible))
        return float(positive_rational("row_radius", row_radius)) * slope

    def smoothness(self, *, row_radius: Real) -> float:
        """Return the largest curvature in any direction; infinity for a hinge.

        Args:
            row_radius: the largest norm of a row.
        """
        return self.curvature * float(positive_rational("row_radius", row_radius)) ** 2

    def largest(self, *, row_radius: Real, feasible: FeasibleSet) -> float:
        """Bound the loss of one row.

        phi is convex in either argument, so a corner of its range attains the maximum.

        Args:
            row_radius, feasible: as in `lipschitz`.
        """
        radius = _max_prediction(row_radius, feasible)
        extremes = self._labels(np.array([-np.inf, np.inf]))
        return float(self.values(np.array([-radius, radius]), extremes[::-1]).max())

    def mean(self, parameters: ArrayLike, rows: object, labels: object) -> float:
        """Return the mean loss over at least one row, without privacy.

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
        """Return the gradient of every row; private where the rows are.

        Shape (rows, columns).

        Args:
            parameters, rows, labels: of shape (columns,), (rows, columns) and (rows,).

        Guarantee: the gradient of a row is a function of that row, its label and the parameters alone, wherever it
            stands: all float work is element by element, in a fixed order.

        >>> from deniable.learning.losses import Squared
        >>> Squared(label_bound=1).gradients([1, 0], [[2, 0], [0, 3]], [1, 1]).tolist()
        [[2.0, 0.0], [-0.0, -3.0]]
        """
        theta, table_, known = self._read(parameters, rows, labels)
        slopes = self.slopes(products(table_, theta[np.newaxis])[:, 0], known)
        gradients: Floats = table_ * slopes[:, np.newaxis]
        return gradients

    def _read(self, parameters: ArrayLike, rows: object, labels: object) -> tuple[Floats, Floats, Floats]:
        """Return parameters, rows and labels as arrays, labels in their declared range."""
        theta = np.array(parameters, dtype=np.float64)
        if theta.ndim != 1 or not np.isfinite(theta).all():
            raise InvalidParameterError("parameters must be a list of finite numbers")
        table_, _ = table(rows, "rows", columns=theta.size)
        known = numbers(labels, "labels")
        if table_.shape != (len(known), theta.size):
            raise InvalidParameterError(f"rows must be a table of {theta.size} columns with one label for each row")
        return theta, table_, self._labels(known)


@dataclass(frozen=True, kw_only=True)
class Squared(Loss):
    """Half of the squared difference between prediction and label.

    Args:
        label_bound: the largest size of a label; labels beyond are moved to it.

    >>> Squared(label_bound=1).mean([2], [[1], [2]], [1, 1])
    2.5
    """

    curvature: ClassVar[float] = 1.0
    label_bound: Annotated[Fraction, positive_rational]

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """Return half of the squared differences."""
        return (predictions - labels) ** 2 / 2

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the differences."""
        return predictions - labels

    def max_slope(self, radius: float) -> float:
        """Return the largest difference of a prediction and a label."""
        return radius + float(self.label_bound)

    def _labels(self, labels: Floats) -> Floats:
        """Return labels within `label_bound`."""
        return np.clip(labels, -float(self.label_bound), float(self.label_bound))


@dataclass(frozen=True, kw_only=True)
class _OfMargin(Loss):
    """Base class of losses of the margin, which is label times prediction.

    Labels above 0 are 1, and all others -1.
    """

    def max_slope(self, radius: float) -> float:
        """Return 1, the slope of a hinge."""
        return 1.0

    def _labels(self, labels: Floats) -> Floats:
        """Return labels as 1 and -1; NaN stays."""
        return np.where(np.isnan(labels), np.nan, np.where(labels > 0, 1.0, -1.0))


@dataclass(frozen=True, kw_only=True)
class Logistic(_OfMargin):
    """Logistic loss ln(1 + exp(-margin)), for labels above 0 and others.

    >>> round(Logistic().mean([1, 0], [[1, 0], [2, 2]], [1, -1]), 4)
    1.2201
    """

    curvature: ClassVar[float] = 0.25

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the losses."""
        return np.logaddexp(0.0, -labels * predictions)

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the derivatives."""
        return -labels * np.exp(-np.logaddexp(0.0, labels * predictions))

    def max_slope(self, radius: float) -> float:
        """Return the slope where the prediction is as wrong as it can be."""
        return math.exp(-np.logaddexp(0.0, -radius))


@dataclass(frozen=True, kw_only=True)
class Hinge(_OfMargin):
    """Hinge loss max(0, 1 - margin), for labels above 0 and others.

    The slope at the corner is 0.

    >>> Hinge().mean([1, 0], [[1, 0], [2, 2]], [1, -1])
    1.5
    """

    curvature: ClassVar[float] = math.inf

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the losses."""
        return np.maximum(0.0, 1.0 - labels * predictions)

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """Return subgradients."""
        return np.where(labels * predictions < 1, -labels, 0.0 * labels)


@dataclass(frozen=True, kw_only=True)
class HuberisedHinge(_OfMargin):
    """Hinge loss with a parabola within `width` of its corner, which makes it smooth.

    Args:
        width: greater than 0; the curvature is 1 / (2 width).

    Source: Chaudhuri, Monteleoni, Sarwate (2011), "Differentially private empirical risk minimization".

    >>> HuberisedHinge(width="1/2").curvature
    1.0
    """

    width: Annotated[Fraction, positive_rational]

    def values(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the losses."""
        short = 1.0 - labels * predictions
        width = float(self.width)
        return np.where(short > width, short, np.maximum(short + width, 0.0) ** 2 / (4 * width))

    def slopes(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the derivatives."""
        short = 1.0 - labels * predictions
        width = float(self.width)
        return -labels * np.clip((short + width) / (2 * width), 0.0, 1.0)

    @property
    def curvature(self) -> float:
        """Second derivative of the parabola."""
        return 1 / (2 * float(self.width))


def _max_prediction(row_radius: Real, feasible: FeasibleSet) -> float:
    """Return the largest size of a prediction."""
    return float(positive_rational("row_radius", row_radius)) * feasible.max_distance(np.zeros(feasible.middle.size))


def products(rows: Floats, weights: Floats) -> Floats:
    """Return rows @ weights.T, column by column.

    Matrix products round differently at the edges of their blocks.
    """
    total = np.zeros((len(rows), len(weights)))
    for column, line in zip(rows.T, weights.T, strict=True):
        total += column[:, np.newaxis] * line
    return total
