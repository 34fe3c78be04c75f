"""What is public about the columns of a table, and its rows in the units that follow from that."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.noise.bits import Bits
from deniable.privacy import Relation
from deniable.privacy.exact import exact_rational
from deniable.statistics.data import Floats, bounded_rows, table

_LARGEST = 1e100  # what lies further out, infinities too, is as far out as this: its square is still a float


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

        Raises: InvalidParameterError unless all are finite numbers in the right order.
        """
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
        return cls(pairs.mean(axis=1), np.diff(pairs, axis=1)[:, 0] / 2, spreads)

    def __len__(self) -> int:
        return len(self.middle)

    def rows(
        self, values: object, units: object, *, scale: Floats, rows: int, relation: Relation, bits: Bits
    ) -> tuple[Floats, tuple[str, ...]]:
        """The rows that count, as (x - middle) / scale of shape (rows, columns), and the names of the columns.

        Under add/remove a row with a value that is no number is left out; under replace such a value is the middle.

        Raises: InvalidParameterError if the table has another number of columns, which is public.
        """
        found, names = table(values)
        if found.shape[1] != len(self):
            raise InvalidParameterError(
                f"bounds must be one pair for each column, got {len(self)} for {found.shape[1]} columns"
            )
        missing = np.isnan(found)
        private = relation is Relation.ADD_REMOVE
        present = np.asarray(~missing.any(axis=1) | (not private), dtype=np.bool_)
        kept = bounded_rows(units, rows=rows, present=present, bits=bits)
        found = np.where(missing[kept], self.middle, found[kept])
        return np.clip((np.clip(found, -_LARGEST, _LARGEST) - self.middle) / scale, -_LARGEST, _LARGEST), names


def _pair(pair: object, known: bool) -> tuple[float, float]:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise InvalidParameterError(f"bounds must be pairs (lower, upper), one for each column, got {pair!r}")
    lower, upper = (float(exact_rational("bounds", bound)) for bound in pair)
    if not (lower < upper or (known and lower == upper)):
        raise InvalidParameterError(f"bounds must be pairs lower < upper, got ({lower:g}, {upper:g})")
    return lower, upper
