"""Public facts about the columns of a table, and its rows in the units they give."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.numbers.rationals import exact_rational
from deniable.privacy import Relation
from deniable.rows import table
from deniable.statistics.units import bounded_rows

_LARGEST = 1e100  # deviations; what lies further out, infinities too, is as far out as this: its square is a float
_EXTREME = 1e75, 1e-75  # no public number is larger, and no deviation smaller
_FAR = 8.0  # deviations in every column, which hardly any row is from the mean


@dataclass(frozen=True, eq=False)
class Columns:
    """Public bounds of the means of columns and of their standard deviations.

    NaN until they are found.

    Args:
        middle, half: the mean of a column lies within `half` of `middle`, both of shape (columns,).
        deviations: no standard deviation is larger.
        limit: norm of the largest distance of a row from the middle, in deviations.
    """

    middle: Floats
    half: Floats
    deviations: Floats
    limit: float = math.inf

    @classmethod
    def of(cls, bounds: object, deviations: object, *, known: bool = False) -> "Columns":
        """Return the columns that a caller declares.

        Args:
            bounds: one pair (lower, upper) for each column, or "auto".
            deviations: one number for all columns, or one for each; "auto" where bounds are "auto" too.
            known: whether a mean may be known, which is a pair of equal numbers.

        Raises: InvalidParameterError unless all are numbers in the right order, with squares that are floats.
        """
        if not isinstance(bounds, tuple | list) or not bounds:
            raise InvalidParameterError(
                f'bounds must be pairs (lower, upper) or "auto", one for each column, got {bounds!r}'
            )
        given = deviations if isinstance(deviations, tuple | list) else [deviations] * len(bounds)
        if len(given) != len(bounds):
            raise InvalidParameterError(
                f"deviations must be one number, or one for each of {len(bounds)} columns, got {len(given)}"
            )
        pairs = np.array([_pair(pair, known) for pair in bounds])
        spreads = np.array([_spread(spread, pair) for spread, pair in zip(given, bounds, strict=True)])
        if (spreads <= 0).any():
            raise InvalidParameterError(f"deviations must be > 0, got {deviations!r}")
        sizes = np.append(np.abs(pairs), spreads)
        largest, lowest = _EXTREME
        if (sizes > largest).any() or (spreads < lowest).any():
            raise InvalidParameterError(
                f"bounds and deviations must be at most {largest:g}, and deviations at least {lowest:g}, got "
                f"{bounds!r} and {deviations!r}. Use another unit."
            )
        return cls(pairs.mean(axis=1), np.diff(pairs, axis=1)[:, 0] / 2, spreads)

    def __len__(self) -> int:
        return len(self.middle)

    @property
    def unknown(self) -> NDArray[np.bool_]:
        """Columns of which nothing is known."""
        return np.isnan(self.deviations)

    @property
    def unbounded(self) -> NDArray[np.bool_]:
        """Columns of which the deviations are known, and no bounds of the mean."""
        return np.isnan(self.half) & ~self.unknown

    def completed(self, lower: Floats, upper: Floats, *, mean_radius: float) -> "Columns":
        """Return the columns with what was found; the rest is as declared.

        Args:
            lower, upper: for each unknown column, the ends to which its values are clamped.
            mean_radius: for the unbounded ones, how far from 0 their means are at most, in deviations.
        """
        middle, half, deviations = self.middle.copy(), self.half.copy(), self.deviations.copy()
        middle[self.unbounded] = 0.0
        half[self.unbounded] = mean_radius * deviations[self.unbounded]
        middle[self.unknown] = (lower + upper) / 2
        half[self.unknown] = deviations[self.unknown] = (upper - lower) / 2
        return Columns(middle, half, deviations, math.sqrt(len(self)) if self.unknown.all() else math.inf)

    @property
    def mean_radius(self) -> float:
        """Norm of the largest distance of the mean from the middle, in deviations."""
        return float(np.linalg.norm(self.half / self.deviations))

    @property
    def row_radius(self) -> float:
        """Distance of a row from a mean within the bounds that is hardly ever exceeded.

        In deviations.
        """
        return 2 * self.mean_radius + _FAR * math.sqrt(len(self))

    def read(
        self, values: object, units: object, *, rows: int, relation: Relation, bits: Bits
    ) -> tuple[Floats, tuple[str, ...]]:
        """Return the rows that count, of shape (rows, columns), and their names.

        Under add/remove a row with a value that is not a number is left out; under replace such a value is NaN.

        Raises: InvalidParameterError if the table has another number of columns, which is public.
        """
        rows_of_table, names = table(values, columns=len(self))
        if rows_of_table.shape[1] != len(self):
            raise InvalidParameterError(
                f"bounds must be one pair for each column, got {len(self)} for {rows_of_table.shape[1]} columns"
            )
        private = relation is Relation.ADD_REMOVE
        present = np.asarray(~np.isnan(rows_of_table).any(axis=1) | (not private), dtype=np.bool_)
        return rows_of_table[bounded_rows(units, rows=rows, present=present, bits=bits)], names

    def scaled(self, rows: Floats, scale: Floats) -> Floats:
        """Return rows as (x - middle) / scale; a value that is not a number is the middle."""
        known = np.where(np.isnan(rows), self.middle, rows)
        with np.errstate(over="ignore"):
            return np.clip((known - self.middle) / scale, -_LARGEST, _LARGEST)


def _pair(pair: object, known: bool) -> tuple[float, float]:
    if _is_auto(pair):
        return math.nan, math.nan
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidParameterError(f"bounds must be pairs (lower, upper), one for each column, got {pair!r}")
    lower, upper = (float(exact_rational("bounds", bound)) for bound in pair)
    if not (lower < upper or (known and lower == upper)):
        raise InvalidParameterError(f"bounds must be pairs lower < upper, got ({lower:g}, {upper:g})")
    return lower, upper


def _spread(spread: object, pair: object) -> float:
    if not _is_auto(spread):
        return float(exact_rational("deviations", spread))
    if not _is_auto(pair):
        raise InvalidParameterError(
            f'deviations must be declared where bounds are, got deviations="auto" and bounds {pair!r}: bounds of a '
            'mean say nothing about the rows. Give a number, or bounds="auto".'
        )
    return math.nan


def _is_auto(given: object) -> bool:
    return isinstance(given, str) and given == "auto"
