"""Rows as an estimator reads them: by declared bounds and classes alone."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, shown
from deniable.rows import Container, distinct, frame_of, indices_of, numbers, table, without_rows
from deniable.statistics.statistic import checked_bounds

Bounds: TypeAlias = tuple[Real, Real] | Sequence[tuple[Real, Real]]
"""A pair (lower, upper) for all features, or a list with one pair for each."""


@dataclass(frozen=True, eq=False)
class Features:
    """Public bounds of the features, to which values are cut.

    Both have the shape (features,).
    """

    lower: Floats
    upper: Floats

    @classmethod
    def of(cls, bounds: object, rows: object) -> "Features":
        """Read the bounds, or raise.

        One pair for all features needs rows whose type states the number of columns.
        """
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
        features = cls(lower, upper)
        if rows is not None:
            features.cut(without_rows(rows))
        return features

    @property
    def count(self) -> int:
        """Number of features."""
        return len(self.lower)

    @property
    def neutral(self) -> Floats:
        """Value of a non-numeric entry: 0 where bounds start at 0, else their middle."""
        return np.where(self.lower == 0, 0.0, self.lower / 2 + self.upper / 2)

    def cut(self, values: Container | object) -> Floats:
        """Return rows within their bounds, shape (rows, features).

        Raises for other columns, or columns that are not numeric.
        """
        numbers_, _ = table(values, "X", columns=self.count)
        if numbers_.shape[1] != self.count:
            raise InvalidParameterError(f"X must have {self.count} columns, as bounds has, got {numbers_.shape[1]}")
        return np.clip(np.where(np.isnan(numbers_), self.neutral, numbers_), self.lower, self.upper)

    def scaled(self, values: Container | object) -> Floats:
        """Return rows in [0, 1] where bounds start at 0, else in [-1, 1].

        Non-numeric entries become 0.
        """
        half = np.where(self.lower == 0, self.upper, self.upper / 2 - self.lower / 2)
        return np.clip((self.cut(values) - self.neutral) / half, -1.0, 1.0)


def column_names(values: object) -> NDArray[Any] | None:
    """Return the names of a frame's columns, which are public.

    None for rows without names, or with names that are not text.
    """
    frame = frame_of(values, "X")
    if frame is None or not all(isinstance(name, str) for name in frame.columns):
        return None
    return np.array(frame.columns, dtype=object)


def check_column_names(model: str, fitted: NDArray[Any] | None, given: NDArray[Any] | None) -> None:
    """Compare the names of columns with those of the fit.

    The words are scikit-learn's.

    Raises: InvalidParameterError if the names are others, or stand in another order.
    """
    if fitted is None or given is None:
        if (fitted is None) != (given is None):
            lacks, has = ("X does not have valid", "") if given is None else ("X has", "out")
            warnings.warn(f"{lacks} feature names, but {model} was fitted with{has} feature names", stacklevel=4)
    elif fitted.tolist() != given.tolist():
        now, known = list(given), list(fitted)
        words = ["The feature names should match those that were passed during fit."]
        for title, some, others in (
            ("Feature names unseen at fit time", now, known),
            ("Feature names seen at fit time, yet now missing", known, now),
        ):
            if differ := [f"- {name}\n" for name in some if name not in others]:
                words.append(f"{title}:\n{''.join(differ)}")
        if len(words) == 1:
            words.append(f"Feature names must be in the same order as they were in fit: {', '.join(known)}.")
        raise InvalidParameterError("\n".join(words))


@dataclass(frozen=True)
class Labels:
    """Declared classes, all that may occur."""

    classes: tuple[Any, ...]

    @classmethod
    def of(cls, classes: object, labels: object) -> "Labels":
        """Read the classes and check that labels of this type can be among them, or raise."""
        if isinstance(classes, str) or not isinstance(classes, Sequence | np.ndarray | range) or len(classes) < 2:
            raise InvalidParameterError(f"classes must be a list of all labels, two at least, got {shown(classes)}")
        read = cls(distinct(tuple(classes)))
        if labels is not None:
            try:
                read.indices(without_rows(labels))
            except InvalidParameterError as unlike:
                raise InvalidParameterError(f"classes must be of the type of the labels: {unlike}") from None
        return read

    def indices(self, values: Container | object) -> NDArray[np.int64]:
        """Return the index of each label among the classes.

        The number of classes for an undeclared one.
        """
        return np.asarray(indices_of(values, self.classes))


def targets(values: Container | object, bounds: tuple[float, float]) -> Floats:
    """Return targets cut to public bounds; non-numeric ones are their middle."""
    values_ = numbers(values, "y")
    return np.clip(np.where(np.isnan(values_), sum(bounds) / 2, values_), *bounds)
