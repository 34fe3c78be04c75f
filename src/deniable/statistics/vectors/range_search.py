"""Private search for the bounds of undeclared columns, before the first step."""

from dataclasses import dataclass

import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.bits import Bits
from deniable.numbers.arrays import Floats
from deniable.privacy import Relation
from deniable.statistics.bounds import SHARE, TOO_FEW, Bounding, Guess, resolve
from deniable.statistics.vectors.columns import Columns

_WIDER = 0.25  # of the distance of ends that were found, on both sides
_SUPPOSED = 8.0  # deviations, for an expected error
_MARGIN = 2.0  # deviations from a range that holds a fifth of the rows: no mean is further away


@dataclass(frozen=True, kw_only=True)
class RangeSearch:
    """Searches for bounds, which share a quarter of the price.

    Each is a `Bounding` of one column of numbers.

    All columns with declared deviations are one search, over the largest of their values in deviations: loose bounds
    are enough for a mean, and one search costs the same for any number of columns. A column of which nothing is
    declared has a search of its own, over its values.

    Args:
        together: for all columns of which the deviations alone are declared; None if there are none.
        alone: one for each column of which nothing is declared.

    Guarantee: the price of the searches. The means lie within the bounds that are found together if a fifth of the rows
        lie within the range of the search, and no deviation exceeds its declared one; those that are found alone hold
        all rows, which are clamped to them: docs/theory/statistics/vectors.md.
    """

    together: Bounding | None = None
    alone: tuple[Bounding, ...] = ()

    @classmethod
    def of(cls, columns: Columns, price: Price, *, relation: Relation, rows: int) -> tuple["RangeSearch", Price]:
        """Return the searches, and the price that they leave.

        All of it if everything is declared.
        """
        alone, together = int(columns.unknown.sum()), bool(columns.unbounded.any())
        if not alone + together:
            return cls(), price
        parts = price.split(*[1] * (alone + together))
        searches = [resolve("auto", part, relation=relation, rows=rows)[0] for part in parts]
        rest, _ = price.split(1 - SHARE, SHARE)
        return cls(together=searches.pop() if together else None, alone=tuple(searches)), rest

    def __call__(self, columns: Columns, rows: Floats, bits: Bits) -> tuple[Columns, Floats, tuple[str, ...]]:
        """Return the columns with what was found, the rows clamped to it, and notes.

        Args:
            rows: those that count, of shape (rows, columns); NaN is not a value.
        """
        if self.together is None and not self.alone:
            return columns, rows, ()
        mean_radius = 0.0
        notes = []
        if self.together is not None:
            indices = np.flatnonzero(columns.unbounded)
            ends = self.together.ends(_largest(rows[:, indices], columns.deviations[indices]), bits=bits)
            mean_radius = max(-ends[0], ends[1]) + _MARGIN
            notes += [f"Means were found privately to lie within {mean_radius:.3g} deviations of 0."]
            notes += [TOO_FEW] if isinstance(ends, Guess) else []
        indices = np.flatnonzero(columns.unknown)
        ends_alone = [each.ends(rows[:, at], bits=bits) for each, at in zip(self.alone, indices, strict=True)]
        lower, upper = _widened(ends_alone)
        rows = rows.copy()
        rows[:, indices] = np.clip(rows[:, indices], lower, upper)
        if ends_alone:
            notes += self.alone[0].notes(*ends_alone)
            notes += ["For vectors these bounds were widened by half of their distance, and values clamped there."]
        return columns.completed(lower, upper, mean_radius=mean_radius), rows, tuple(notes)

    def supposed(self, columns: Columns) -> Columns:
        """Return an assumed result, for expected errors.

        Values from -1 to 1, and means within 8 deviations of 0.
        """
        lower, upper = _widened([(-1 / (1 + 2 * _WIDER), 1 / (1 + 2 * _WIDER))] * len(self.alone))
        return columns.completed(lower, upper, mean_radius=_SUPPOSED)


def _widened(ends: list[tuple[float, float]]) -> tuple[Floats, Floats]:
    """Return ends further out, where the values are that a search overlooks.

    They are in the bins beside those it found.
    """
    lower, upper = np.array(ends, dtype=np.float64).reshape(len(ends), 2).T
    return lower - _WIDER * (upper - lower), upper + _WIDER * (upper - lower)


def _largest(rows: Floats, deviations: Floats) -> Floats:
    """Return the largest size of the values in each row, in deviations.

    NaN if none is a number.
    """
    with np.errstate(over="ignore"):
        sizes = np.abs(rows) / deviations
    return np.asarray(np.fmax.reduce(sizes, axis=1))
