"""Base of order statistics of one column: public bounds and a grid between them."""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.numbers.rationals import Real, positive_rational, shown
from deniable.privacy import Relation, Sensitivity, of_count
from deniable.rows import numbers, whole_numbers
from deniable.statistics.bounded import Bounded
from deniable.statistics.bounds import Guess
from deniable.statistics.order.grid import ValueGrid, Values
from deniable.statistics.units import bounded_rows

_LARGE_SIZE = 10**9  # rows for which the error in ranks is stated: it hardly grows beyond some thousands
_FINEST, _COARSEST = Fraction("1e-300"), Fraction("1e300")  # steps that floats can hold


def checked_level(name: str, level: object) -> float:
    """Return the level of an interval that is drawn.

    Raises: InvalidParameterError.
    """
    if not isinstance(level, float) or not 0 < level <= 0.999:
        raise InvalidParameterError(f"{name} must be a level above 0 and at most 0.999, or None, got {level!r}")
    return level


@dataclass(frozen=True, kw_only=True)
class OrderStatistic(Bounded):
    """Base of choices among the points of a public grid by their ranks.

    A value that is not a number is left out under add/remove, and stands for the middle of the bounds under replace.
    Columns of an integer type stay integers, however large, with and without NULL; a list is read as floats.

    Args:
        bounds: public (lower, upper), to which values are clamped, or "auto".
        interval: the confidence level of the intervals, which take a part of the price; None spends all of it on the
            estimates.
        step: answers are multiples of it, and values are rounded to it: 1 for whole numbers. A coarse step helps where
            many rows are equal. By default about 2^-31 of the width of the bounds.
    """

    interval: Annotated[float | None, checked_level] = None
    step: Real | None = None

    def _check(self) -> None:
        if self.step is not None:
            step = positive_rational("step", self.step)
            if not _FINEST <= step <= _COARSEST:
                raise InvalidParameterError(f"step must be between 1e-300 and 1e300, got {shown(self.step)}")
            read_fields(self, step=step)
        _ = self.bounding, self._declared

    @property
    def _records(self) -> Sensitivity:
        """Sensitivity of the number of rows."""
        return of_count(rows=self.rows, groups=1, cells=1, relation=self.relation)

    @cached_property
    def _declared(self) -> ValueGrid | None:
        """Grid between public bounds, which are read exactly."""
        if isinstance(self.bounds, tuple | list):
            return ValueGrid.between((self.bounds[0], self.bounds[1]), self.step)
        return None

    def _on_grid(self, values: object, units: object, bits: Bits) -> tuple[Values, ValueGrid]:
        """Return the rows that count, without NaN, and the grid."""
        column, missing = _column(values)
        present = ~missing if self.relation is Relation.ADD_REMOVE else np.ones(column.shape, dtype=np.bool_)
        kept = bounded_rows(units, rows=self.rows, present=present, bits=bits)
        if not kept.all():
            column, missing = column[kept], missing[kept]
        grid = self._declared
        if grid is None:
            known = np.where(missing, np.nan, column) if missing.any() else column.astype(np.float64, copy=False)
            ends = self.bounding.ends(known, bits=bits)
            grid = ValueGrid.around(ends, self.step)
        if missing.any():
            column = np.where(missing, grid.points(np.array([grid.middle]))[0], column)
        return column, grid

    def _notes(self, grid: ValueGrid) -> tuple[str, ...]:
        """Return the sentences that a reader needs.

        About bounds that were found, and about the error where no interval says it.
        """
        ends = grid.value(0), grid.value(grid.size - 1)
        notes = self.bounding.notes(Guess(ends) if grid.guessed else ends)
        if self.interval is not None:
            return notes
        return *notes, self._error_note

    @cached_property
    def _error_note(self) -> str:
        return (
            f"Expected error: up to {self.expected_error(_LARGE_SIZE):.2g} ranks (rows in order of their values), "
            f"however many rows there are. interval=0.95 adds an interval, for {self._interval_share} of the price."
        )

    @property
    @abstractmethod
    def _interval_share(self) -> str:
        """Part of the price that intervals take, in words."""


def _column(values: object) -> tuple[Values, NDArray[np.bool_]]:
    """Return one column of floats, or of integers, and a mask of missing numbers.

    They are integers if the type of the column says so.
    """
    whole = whole_numbers(values)
    if whole is not None:
        return whole
    column = numbers(values)
    return column, np.isnan(column)
