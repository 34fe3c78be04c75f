"""Base of linear regressions: bounds, scaled rows, coefficients in user units."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import PrivacyLoss, Relation, compose
from deniable.release.columns import Bounds, Estimate, Key
from deniable.rows import dimensions, numbers, table
from deniable.statistics.bounds import Bounding, resolve
from deniable.statistics.statistic import Answer, BoundsLike, Statistic, Takes
from deniable.statistics.units import bounded_rows

SMALL = 1e-300  # so wide are bounds at least


@dataclass(frozen=True, eq=False)
class ScaledRows:
    """Rows that count, each column scaled to [-1, 1] between its bounds.

    Args:
        features: shape (rows, columns); target: shape (rows,).
        middles, halves: of the bounds of the features, and of the target at the end.
    """

    features: Floats
    target: Floats
    names: tuple[str, ...]
    middles: Floats
    halves: Floats
    ends: tuple[tuple[float, float], ...]

    def terms(self, scaled: Floats) -> Floats:
        """Return the coefficients of the columns as they came, the intercept first.

        From those of scaled columns.
        """
        coefficients = self.back @ scaled
        coefficients[0] += self.middles[-1]
        return np.asarray(coefficients, dtype=np.float64)

    @property
    def back(self) -> Floats:
        """Linear part of the map from scaled coefficients to those of the columns."""
        slopes = self.halves[-1] / self.halves[:-1]
        linear_map = np.diag(np.append(self.halves[-1], slopes))
        linear_map[0, 1:] = -slopes * self.middles[:-1]
        return np.asarray(linear_map, dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Regression(Statistic):
    """Base of regressions y = intercept + sum of slope * x, one coefficient per row.

    Call it with the pair (features, target): a table, or one column, and a column of equal length. Values are clamped
    to the bounds. A row in which a value is not a number is left out under add/remove; under replace such a value is
    the middle of its bounds.

    Args:
        bounds: for each feature a pair (lower, upper), or "auto".
        target_bounds: a pair (lower, upper) for the target, or "auto".

    Error: `expected_error` is the root mean squared error of the fitted line that the noise adds, as a share of half of
        the width of the target's bounds, where features are spread evenly over their bounds.
    """

    takes: ClassVar[Takes] = "pair"

    bounds: BoundsLike | Sequence[BoundsLike]
    target_bounds: BoundsLike

    def _check(self) -> None:
        _ = self._bounding

    @abstractmethod
    def _losses(self) -> list[PrivacyLoss]:
        """Losses of everything but the search for bounds."""

    @abstractmethod
    def _fit(self, rows: ScaledRows, bits: Bits) -> tuple[Floats, Callable[[float], Bounds], tuple[str, ...]]:
        """Noisy coefficients in the user's units, their intervals, and notes."""

    @property
    def features(self) -> int:
        """Number of columns that the target depends on."""
        assert isinstance(self.bounds, Sequence)
        return len(self.bounds)

    @cached_property
    def privacy_loss(self) -> PrivacyLoss:
        losses = self._losses()
        for search in self._bounding[0]:
            losses = [search.with_loss(losses)]
        return self.price.stated(compose(losses) if len(losses) > 1 else losses[0])

    @cached_property
    def _bounding(self) -> tuple[tuple[Bounding, ...], Price]:
        """Bounds of each column, the target last, and the price that is left."""
        listed = self.bounds if isinstance(self.bounds, Sequence) and not isinstance(self.bounds, str) else ()
        if not listed or not all(isinstance(each, Sequence) for each in listed):
            raise InvalidParameterError(
                f'bounds must be a list with a pair (lower, upper) or "auto" for each feature, got {self.bounds!r}'
            )
        columns = [*listed, self.target_bounds]
        searched = [isinstance(pair, str) for pair in columns]
        parts = self.price.split(*[1] * max(sum(searched), 1))
        boundings, rest = zip(
            *[resolve(pair, parts[0], relation=self.relation, rows=self.rows) for pair in columns], strict=True
        )
        left = [part for part, search in zip(rest, searched, strict=True) if search]
        return boundings, _together(left) if left else self.price

    @property
    def _public_size(self) -> bool:
        return self.relation is Relation.REPLACE and self.rows == 1

    def _answer(self, values: object, units: object, bits: Bits) -> Answer:
        rows = self._read(values, units, bits)
        coefficients, ends, notes = self._fit(rows, bits)
        pairs = zip(self._bounding[0], rows.ends, strict=True)
        searched = [(search, ends) for search, ends in pairs if search.public is None]
        if searched:
            notes = (*notes, *searched[0][0].notes(*(ends for _, ends in searched)))
        return Answer(
            parts=(
                Key(name="term", values=("intercept", *rows.names), kind="string"),
                Estimate(name="coefficient", estimates=coefficients, ends=ends),
            ),
            notes=notes,
        )

    def _read(self, values: object, units: object, bits: Bits) -> ScaledRows:
        assert isinstance(values, tuple | list)
        features, names = _features(values[0], self.features)
        target = numbers(values[1], "target")
        if features.shape[1] != self.features:
            raise InvalidParameterError(
                f"bounds must have one pair for each feature: {self.features} pairs, {features.shape[1]} features"
            )
        columns = np.column_stack([features, target])
        missing = np.isnan(columns)
        private = self.relation is Relation.ADD_REMOVE
        present = np.asarray(~missing.any(axis=1) | (not private), dtype=np.bool_)
        kept = bounded_rows(units, rows=self.rows, present=present, bits=bits)
        columns, missing = columns[kept], missing[kept]
        ends = tuple(
            search.ends(np.ascontiguousarray(column), bits=bits)
            for search, column in zip(self._bounding[0], columns.T, strict=True)
        )
        lower, upper = np.array(ends).T
        middles = lower / 2 + upper / 2
        halves = np.maximum(upper / 2 - lower / 2, SMALL)
        scaled = np.where(missing, 0.0, (np.clip(columns, lower, upper) - middles) / halves)
        scaled = np.clip(scaled, -1.0, 1.0)
        return ScaledRows(scaled[:, :-1], scaled[:, -1], names, middles, halves, ends)


def _features(values: object, columns: int) -> tuple[Floats, tuple[str, ...]]:
    """Return a table, or one column as a table."""
    if dimensions(values) == 1 and not isinstance(values, list | tuple):
        name = getattr(values, "name", None)
        return numbers(values, "features")[:, np.newaxis], (name if isinstance(name, str) else "x0",)
    return table(values, "features", columns=columns)


def _together(parts: Sequence[Price]) -> Price:
    """Return the sum of equal prices."""
    first = parts[0]
    count = len(parts)
    if first.rho is not None:
        return Price(rho=first.rho * count)
    assert first.epsilon is not None
    return Price(epsilon=first.epsilon * count, delta=first.delta * count)
