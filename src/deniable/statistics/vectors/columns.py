"""What is public about the columns of a table, and its rows in the units that follow from that."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.privacy import Relation
from deniable.privacy.exact import exact_rational
from deniable.statistics.data import Floats, bounded_rows, table

_LARGEST = 1e100  # deviations; what lies further out, infinities too, is as far out as this: its square is a float
_EXTREME = 1e75, 1e-75  # no public number is larger, and no deviation smaller
_FAR = 8.0  # deviations in every column, which hardly any row is from the mean


@dataclass(frozen=True, eq=False)
class Columns:
    """Public bounds of the means of columns, and public bounds of their standard deviations.

    Args:
        middle, half: the mean of a column lies within `half` of `middle`, both of shape (columns,).
        deviations: no standard deviation is larger.
    """

    middle: Floats
    half: Floats
    deviations: Floats

    @classmethod
    def of(cls, bounds: object, deviations: object, *, known: bool = False) -> "Columns":
        """The columns that a caller declares.

        Args:
            bounds: one pair (lower, upper) for each column.
            deviations: one number for all columns, or one for each.
            known: whether a mean may be known, which is a pair of equal numbers.

        Raises: InvalidParameterError unless all are numbers in the right order, with squares that are floats.
        """
        if bounds == "auto" or (isinstance(bounds, tuple | list) and "auto" in bounds):
            raise InvalidParameterError(
                f"bounds of vectors must be declared, one pair (lower, upper) for each column, got {bounds!r}. They "
                "may be too wide by orders of magnitude."
            )
        if not isinstance(bounds, tuple | list) or not bounds:
            raise InvalidParameterError(f"bounds must be pairs (lower, upper), one for each column, got {bounds!r}")
        pairs = np.array([_pair(pair, known) for pair in bounds])
        given = deviations if isinstance(deviations, tuple | list) else [deviations] * len(bounds)
        if len(given) != len(bounds):
            raise InvalidParameterError(
                f"deviations must be one number, or one for each of {len(bounds)} columns, got {len(given)}"
            )
        spreads = np.array([float(exact_rational("deviations", spread)) for spread in given])
        if not (spreads > 0).all():
            raise InvalidParameterError(f"deviations must be > 0, got {deviations!r}")
        sizes = np.append(np.abs(pairs), spreads)
        largest, smallest = _EXTREME
        if sizes.max() > largest or spreads.min() < smallest:
            raise InvalidParameterError(
                f"bounds and deviations must be at most {largest:g}, and deviations at least {smallest:g}, got "
                f"{bounds!r} and {deviations!r}. Use another unit."
            )
        return cls(pairs.mean(axis=1), np.diff(pairs, axis=1)[:, 0] / 2, spreads)

    def __len__(self) -> int:
        return len(self.middle)

    @property
    def reach(self) -> float:
        """The norm of the largest distance of the mean from the middle, in deviations."""
        return float(np.linalg.norm(self.half / self.deviations))

    @property
    def farthest(self) -> float:
        """A distance of a row from a mean within the bounds that is hardly ever exceeded, in deviations."""
        return 2 * self.reach + _FAR * sqrt(len(self))

    def rows(
        self, values: object, units: object, *, scale: Floats, rows: int, relation: Relation, bits: Bits
    ) -> tuple[Floats, tuple[str, ...]]:
        """The rows that count, as (x - middle) / scale of shape (rows, columns), and the names of the columns.

        Under add/remove a row with a value that is no number is left out; under replace such a value is the middle.

        Raises: InvalidParameterError if the table has another number of columns, which is public.
        """
        found, names = table(values, columns=len(self))
        if found.shape[1] != len(self):
            raise InvalidParameterError(
                f"bounds must be one pair for each column, got {len(self)} for {found.shape[1]} columns"
            )
        missing = np.isnan(found)
        private = relation is Relation.ADD_REMOVE
        present = np.asarray(~missing.any(axis=1) | (not private), dtype=np.bool_)
        kept = bounded_rows(units, rows=rows, present=present, bits=bits)
        found = np.where(missing[kept], self.middle, found[kept])
        with np.errstate(over="ignore"):
            return np.clip((found - self.middle) / scale, -_LARGEST, _LARGEST), names


def _pair(pair: object, known: bool) -> tuple[float, float]:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidParameterError(f"bounds must be pairs (lower, upper), one for each column, got {pair!r}")
    lower, upper = (float(exact_rational("bounds", bound)) for bound in pair)
    if not (lower < upper or (known and lower == upper)):
        raise InvalidParameterError(f"bounds must be pairs lower < upper, got ({lower:g}, {upper:g})")
    return lower, upper
