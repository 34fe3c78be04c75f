"""Columns as small whole numbers: bins of numbers, and categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.learning.estimators.reading import Features
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import Real, shown, whole_number
from deniable.rows import array_of, distinct, indices_of, numbers, silence, without_rows
from deniable.rows.tables import frame_of, grid
from deniable.statistics.statistic import checked_bounds

Columns: TypeAlias = tuple[Real, Real] | Sequence[tuple[Real, Real] | None]
"""A pair (lower, upper) for all features, or a list with one for each, and None for those that are categories."""
Categories: TypeAlias = Mapping[int, Sequence[object]]
"""All values of each feature that is one of a list, by the place of its column."""


@dataclass(frozen=True, eq=False)
class Bins:
    """Codes of every feature: 0 for missing or undeclared values, then bins."""

    edges: tuple[Floats, ...]  # the upper ones of the bins of each feature; none for categories
    categories: tuple[tuple[Any, ...], ...]  # of each feature; none for numbers

    @classmethod
    @silence()
    def of(cls, bounds: object, categories: object, bins: object, rows: object) -> "Bins":
        """Return the bins of declared columns, or raise for rows of other types."""
        number = whole_number("bins", bins, lower=1, upper=1024)
        listed = {} if categories is None else categories
        if not isinstance(bounds, Sequence) or isinstance(bounds, str) or not bounds:
            raise InvalidParameterError(f"bounds must be a list with a pair for each feature, got {shown(bounds)}")
        if not any(isinstance(pair, tuple | list | None) for pair in bounds):  # one pair for all
            pairs = Features.of(bounds, rows)
            bounds = list(zip(pairs.lower.tolist(), pairs.upper.tolist(), strict=True))
        if not isinstance(listed, Mapping) or {index for index, pair in enumerate(bounds) if pair is None} != {*listed}:
            raise InvalidParameterError(
                "categories must have a list for each feature whose bounds are None, by its place: "
                'bounds=[(0, 100), None] with categories={1: ["no", "yes"]}'
            )
        edges, values = [], []
        for index, pair in enumerate(bounds):
            known: Any = () if pair is not None else listed[index]
            if isinstance(known, str) or not isinstance(known, Sequence | np.ndarray):
                raise InvalidParameterError(f"the categories of feature {index} must be a list of values")
            if pair is None and not len(known):
                raise InvalidParameterError(f"the categories of feature {index} must not be empty. Leave it out.")
            values.append(distinct(tuple(known)))
            edges.append(np.zeros(0) if pair is None else np.linspace(*checked_bounds(pair), number + 1)[1:])
        if not all(np.isfinite(edge).all() for edge in edges):
            raise InvalidParameterError("bounds must be at most 1e307 in size. Use another unit.")
        bins = cls(tuple(edges), tuple(values))
        if rows is not None:
            bins.codes(without_rows(rows))
        return bins

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of codes of each feature."""
        return np.array([1 + len(edge) + len(listed) for edge, listed in zip(self.edges, self.categories, strict=True)])

    @property
    def ordered(self) -> NDArray[np.bool_]:
        """Which features are numbers."""
        return np.array([not listed for listed in self.categories])

    def names(self, feature: int) -> list[str]:
        """Return the meaning of each code of a feature, in words."""
        texts = [str(value) for value in self.categories[feature]] or [f"to {edge:.4g}" for edge in self.edges[feature]]
        return ["missing", *texts]

    def codes(self, rows: object) -> NDArray[np.int64]:
        """Return the codes of rows, shape (rows, features).

        Each entry is read by itself; numbers beyond their bounds are in the first or last bin.
        """
        array = None if isinstance(rows, list | tuple) else array_of(rows)
        count = len(self.edges)
        if (frame := frame_of(rows, "X")) is not None:
            columns = [part.to_native() for part in frame.iter_columns()]
        elif array is not None and array.ndim == 2:
            columns = list(array.T)
        else:
            columns = list(grid(rows, "X", count, lambda given, _: (given.values,))[0][0].T)
        if len(columns) != count:
            raise InvalidParameterError(f"X must have {count} columns, as was declared, got {len(columns)}")
        return np.column_stack([self._code(*each) for each in enumerate(columns)])

    def _code(self, feature: int, column: object) -> NDArray[np.int64]:
        if known := self.categories[feature]:
            return (indices_of(column, known) + 1) % (len(known) + 1)
        values = numbers(column, f"feature {feature}")
        below = np.searchsorted(self.edges[feature][:-1], values, side="right")
        return np.where(np.isnan(values), 0, below + 1)
