"""Rows as an estimator reads them: by declared bounds and classes alone, each row by itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import Real, shown
from deniable.rows import Container, Floats, distinct, numbers, places_of, table
from deniable.statistics.statistic import checked_bounds, without_rows

Bounds: TypeAlias = tuple[Real, Real] | Sequence[tuple[Real, Real]]
"""A pair (lower, upper) for all features, or a list with one pair for each."""


@dataclass(frozen=True, eq=False)
class Features:
    """Public bounds of the features, both of shape (features,): values are cut to them."""

    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, bounds: object, rows: object) -> "Features":
        """Read the bounds, or raise; one pair for all features needs rows whose type tells how many there are."""
        if not isinstance(bounds, Sequence | np.ndarray) or isinstance(bounds, str) or not len(bounds):
            raise InvalidParameterError(f"bounds must be a pair (lower, upper) or a list of pairs, got {shown(bounds)}")
        listed: list[Any] = list(bounds)
        if isinstance(listed[0], Sequence | np.ndarray) and not isinstance(listed[0], str):
            pairs = [checked_bounds(tuple(pair) if isinstance(pair, np.ndarray) else pair) for pair in listed]
        else:
            shape: Any = getattr(rows, "shape", ())
            if len(shape) != 2 or not shape[1]:
                raise InvalidParameterError(
                    "bounds must be a list with one pair for each feature, unless X has the shape (rows, features)"
                )
            pairs = [checked_bounds(listed)] * shape[1]
        lower, upper = np.array(pairs).T
        found = cls(lower, upper)
        if rows is not None:
            found.cut(without_rows(rows))
        return found

    @property
    def count(self) -> int:
        """How many features there are."""
        return len(self.lower)

    @property
    def neutral(self) -> Floats:
        """What a value that is no number counts as: 0 where bounds start at 0, else their middle."""
        return np.where(self.lower == 0, 0.0, self.lower / 2 + self.upper / 2)

    def cut(self, values: Container | object) -> Floats:
        """The rows within their bounds, of shape (rows, features); raise for other columns, or no numbers."""
        found, _ = table(values, "X", columns=self.count)
        if found.shape[1] != self.count:
            raise InvalidParameterError(f"X must have {self.count} columns, as bounds has, got {found.shape[1]}")
        return np.clip(np.where(np.isnan(found), self.neutral, found), self.lower, self.upper)

    def scaled(self, values: Container | object) -> Floats:
        """The rows in [0, 1] where bounds start at 0, else in [-1, 1], so that what is no number becomes 0."""
        half = np.where(self.lower == 0, self.upper, self.upper / 2 - self.lower / 2)
        return np.clip((self.cut(values) - self.neutral) / half, -1.0, 1.0)


@dataclass(frozen=True)
class Labels:
    """Declared classes, all that may occur."""

    classes: tuple[Any, ...]

    @classmethod
    def of(cls, classes: object, labels: object) -> "Labels":
        """Read the classes and check that labels of this type can be among them, or raise."""
        if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray | range) or len(classes) < 2:
            raise InvalidParameterError(f"classes must be a list of all labels, two at least, got {shown(classes)}")
        found = cls(distinct(tuple(classes)))
        if labels is not None:
            found.places(without_rows(labels))
        return found

    def places(self, values: Container | object) -> NDArray[np.int64]:
        """The place of each label among the classes; their number for one that is not among them."""
        return np.asarray(places_of(values, self.classes))


def targets(values: Container | object, bounds: tuple[float, float]) -> Floats:
    """Numbers to predict, cut to public bounds; what is no number counts as their middle."""
    found = numbers(values, "y")
    return np.clip(np.where(np.isnan(found), sum(bounds) / 2, found), *bounds)
