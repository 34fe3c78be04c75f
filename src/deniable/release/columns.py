"""Columns of a release: public keys, noisy values, measures and estimates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.numbers.arrays import Floats

Numbers: TypeAlias = NDArray[np.float64] | NDArray[np.int64]
Expression: TypeAlias = Callable[[Mapping[str, Any]], Any]


class Bounds(NamedTuple):
    """Lower and upper ends of intervals, one a row.

    Infinite where nothing is known, NaN where none is given.
    """

    lower: Floats
    upper: Floats


class ErrorLaw(Protocol):
    """Distribution of one noise variable, symmetric about 0, in the unit of the value."""

    def quantile(self, p: Floats) -> Floats:
        """Return the smallest x with P[noise <= x] >= p."""
        ...

    def half_width(self, level: float) -> float:
        """Return the smallest h with P[|noise| <= h] >= level."""
        ...

    def standard_deviation(self) -> float: ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Noisy:
    """Values from a mechanism, one per row, each with its own draw of the same noise."""

    name: str
    values: Numbers
    law: ErrorLaw


@dataclass(frozen=True, kw_only=True, eq=False)
class Key:
    """Column of public values that say what each row is about.

    Args:
        kind: Arrow's name of the type, such as "string" or "int64"; None lets Arrow infer it from the values.
        edge: which end of a bin the values are, where the rows are bins of numbers.
    """

    name: str
    values: Sequence[object]
    kind: str | None = None
    edge: Literal["lower", "upper"] | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Measure:
    """Column computed from noisy values, with its post-processing stated.

    Args:
        bases: names of the noisy columns that it reads.
        evaluate: maps the arrays of the bases to an array. Works element by element and for any shape. None: the one
            base as it is.
        denominators: every divisor in `evaluate` that depends on a base. Where the noise leaves the sign of one open,
            the interval is unbounded.
        lower, upper: public bounds of the true value; value and interval are clamped to them. None: no bound.
        digits: decimal places to which the value is rounded, and the interval outwards; None: not rounded.
    """

    name: str
    bases: tuple[str, ...]
    evaluate: Expression | None = None
    denominators: tuple[Expression, ...] = ()
    lower: float | None = None
    upper: float | None = None
    digits: int | None = None

    def __post_init__(self) -> None:
        if not self.bases:
            raise InvalidParameterError(f"{self.name} reads no noisy column. Make it a Key: it is public.")
        if self.evaluate is None and len(self.bases) != 1:
            raise InvalidParameterError(f"{self.name} has {len(self.bases)} bases and no expression. Give evaluate.")

    @property
    def post_processing(self) -> str:
        """Post-processing of the values in words; empty if there was none."""
        steps = []
        if self.lower is not None or self.upper is not None:
            steps.append(f"clamped to [{_end(self.lower, '-inf')}, {_end(self.upper, 'inf')}]")
        if self.digits is not None:
            steps.append(f"rounded to {self.digits} decimal places")
        return ", ".join(steps)

    def raw(self, arrays: Mapping[str, Any]) -> NDArray[Any]:
        """Return the expression on these arrays; what division makes infinite is NaN."""
        with np.errstate(all="ignore"):
            result = np.asarray(arrays[self.bases[0]] if self.evaluate is None else self.evaluate(arrays))
        if result.dtype.kind == "f":
            return np.where(np.isfinite(result), result, np.nan)
        return result

    def values(self, arrays: Mapping[str, Numbers]) -> NDArray[Any]:
        """Return the published values, clamped and rounded; NaN where undefined."""
        result = self.raw(arrays)
        if self.lower is not None or self.upper is not None:
            result = np.clip(result, self.lower, self.upper)
        return result if self.digits is None else np.round(result, self.digits)


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """Column of public values whose error is not that of added noise.

    Examples are a quantile, a coefficient and a p-value.

    Args:
        estimates: one a row; NaN where undefined.
        ends: intervals for the true values at a confidence level, from public numbers alone; None if none is given.
        post_processing: what was done to the values after they left the mechanism, in words.
        digits: decimal places to which values are shown; None: as many as the interval leaves meaning in.
    """

    name: str
    estimates: Numbers
    ends: Callable[[float], Bounds] | None = None
    post_processing: str = ""
    digits: int | None = None

    def bounds(self, level: float) -> Bounds:
        """Return the intervals, widened to the estimates; NaN where none is given."""
        if self.ends is None:
            return Bounds(np.full(len(self.estimates), np.nan), np.full(len(self.estimates), np.nan))
        return widened(self.ends(level), self.estimates)


def widened(bounds: Bounds, values: Numbers) -> Bounds:
    """Return intervals that hold the published values too.

    They stay as they are where a value is undefined or no interval is given.
    """
    shown = np.asarray(values, dtype=np.float64)
    lower = np.where(np.isnan(shown), bounds.lower, np.minimum(bounds.lower, shown))
    upper = np.where(np.isnan(shown), bounds.upper, np.maximum(bounds.upper, shown))
    return Bounds(lower, upper)


def select(column: Noisy | Key | Estimate, rows: NDArray[np.int64]) -> Any:
    """Return the column with these rows only, in this order."""
    if isinstance(column, Estimate):
        ends = None if column.ends is None else partial(_some, column.ends, rows)
        return replace(column, estimates=column.estimates[rows], ends=ends)
    if isinstance(column, Noisy):
        return replace(column, values=column.values[rows])
    return replace(column, values=tuple(column.values[row] for row in rows))


def _some(ends: Callable[[float], Bounds], rows: NDArray[np.int64], level: float) -> Bounds:
    bounds = ends(level)
    return Bounds(bounds.lower[rows], bounds.upper[rows])


def _end(bound: float | None, absent: str) -> str:
    return absent if bound is None or math.isinf(bound) else f"{bound:g}"


def free(name: str, taken: Sequence[str]) -> str:
    """Return the name, with underscores until no column of the release has it."""
    return free(f"{name}_", taken) if name in taken else name
