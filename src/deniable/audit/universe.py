"""Finite universes: all small tables, all pairs of neighbours, and histograms."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import TypeAlias

from deniable.arguments import read_fields
from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy import AddRemove, Relation

__all__ = ["Universe", "ZeroOut", "hamming_distance", "norm1_distance"]

Records: TypeAlias = tuple[Hashable, ...]
"""Table as records: one value for each row."""

MAX_TABLES = 10**5
"""Largest number of tables of a universe: more take minutes."""


@dataclass(frozen=True, kw_only=True)
class ZeroOut:
    """Neighbouring relation under which one row becomes a public blank value.

    Args:
        blank: that value; it must be one of the universe.

    >>> from deniable.audit.universe import Universe, ZeroOut
    >>> list(Universe(values=(0, 7), rows=1).pairs(ZeroOut(blank=0)))
    [((0,), (7,))]
    """

    blank: Hashable = 0

    def __str__(self) -> str:
        return "zero-out"


Neighbouring: TypeAlias = Relation | ZeroOut


@dataclass(frozen=True, kw_only=True)
class Universe:
    """Universe of all small tables whose rows take some values.

    Args:
        values: possible values of a row.
        rows: number of rows of the largest table.
        min_rows: number of rows of the smallest table.
        ordered: whether the order of rows matters; if not, a table is a histogram, written as sorted rows.

    >>> from deniable.audit.universe import Universe
    >>> list(Universe(values=("no", "yes"), rows=1).tables())
    [(), ('no',), ('yes',)]
    """

    values: tuple[Hashable, ...]
    rows: int
    min_rows: int = 0
    ordered: bool = False

    def __post_init__(self) -> None:
        try:
            read_fields(self, values=tuple(self.values))
            different = len(set(self.values))
        except TypeError:
            raise InvalidParameterError(f"values must be hashable, in a tuple, got {shown(self.values)}") from None
        if not 0 < len(self.values) == different:
            raise InvalidParameterError(
                f"values must hold at least one value, and none twice, got {shown(self.values)}"
            )
        whole_number("rows", self.rows, lower=0, upper=MAX_TABLES)
        whole_number("min_rows", self.min_rows, lower=0, upper=self.rows)
        if self.size > MAX_TABLES:
            raise InvalidParameterError(
                f"a universe may hold at most {MAX_TABLES:,} tables, got {self.size:,}. Take fewer rows or values."
            )

    @classmethod
    def of_bits(cls, rows: int) -> "Universe":
        """Return all bit vectors of one length: bit i is the secret of person i.

        Args:
            rows: length of the vectors.
        """
        return cls(values=(0, 1), rows=rows, min_rows=rows, ordered=True)

    @property
    def size(self) -> int:
        """Number of tables."""
        kinds = len(self.values)
        sizes = range(self.min_rows, self.rows + 1)
        if self.ordered:
            return sum(kinds ** min(rows, 64) for rows in sizes)  # more than 64 rows of two kinds are refused anyway
        return sum(math.comb(rows + kinds - 1, rows) for rows in sizes)

    def tables(self) -> Iterator[Records]:
        """Yield every table, smaller ones first."""
        for rows in range(self.min_rows, self.rows + 1):
            if self.ordered:
                yield from product(self.values, repeat=rows)
            else:
                yield from combinations_with_replacement(self.values, rows)

    def neighbours(self, table: Sequence[Hashable], relation: Neighbouring) -> Iterator[Records]:
        """Yield every neighbour of one table in the universe.

        Args:
            table: rows, each one of the values.
            relation: AddRemove, Replace, or a ZeroOut.
        """
        yield from sorted(self._around(self.checked(table), relation), key=lambda one: (len(one), self._indices(one)))

    def pairs(self, relation: Neighbouring) -> Iterator[tuple[Records, Records]]:
        """Yield every pair of neighbours, once.

        Args:
            relation: AddRemove, Replace, or a ZeroOut.
        """
        for table in self.tables():
            rank = (-len(table), self._indices(table))
            for other in self._around(table, relation):
                if (-len(other), self._indices(other)) > rank:
                    yield table, other

    def checked(self, table: Sequence[Hashable]) -> Records:
        """Return a table of this universe in its order of rows, or refuse it.

        Args:
            table: rows, each one of the values.
        """
        if not self.min_rows <= len(table) <= self.rows or not set(table) <= set(self.values):
            raise InvalidParameterError(
                f"a table of this universe must have {self.min_rows} to {self.rows} rows out of {shown(self.values)}, "
                f"got {shown(tuple(table))}"
            )
        return self._written(tuple(table))

    def histogram(self, table: Sequence[Hashable]) -> tuple[int, ...]:
        """Return the counts of each value: the table as a point of N^values.

        Args:
            table: rows, each one of the values.
        """
        counts = Counter(self.checked(table))
        return tuple(counts[value] for value in self.values)

    def records(self, histogram: Sequence[int]) -> Records:
        """Return the table of a histogram, its rows sorted.

        Args:
            histogram: counts of each value.
        """
        if len(histogram) != len(self.values):
            raise InvalidParameterError(f"histogram must hold {len(self.values)} counts, got {len(histogram)}")
        counts = [whole_number("a count", count, lower=0, upper=self.rows) for count in histogram]
        return self.checked([value for value, count in zip(self.values, counts, strict=True) for _ in range(count)])

    def bits(self, table: Sequence[Hashable]) -> tuple[int, ...]:
        """Return whether each value occurs, as 0 or 1; no value may occur twice.

        Args:
            table: rows, each one of the values.
        """
        counts = self.histogram(table)
        if max(counts) > 1:
            raise InvalidParameterError("a table that holds a value twice is not a bit vector. Take its histogram")
        return counts

    def _around(self, table: Records, relation: Neighbouring) -> dict[Records, None]:
        """Return the neighbours of a table, each once."""
        size = len(table)
        if isinstance(relation, ZeroOut) and relation.blank not in self.values:
            raise InvalidParameterError("the blank of ZeroOut must be one of the values of the universe")
        if not isinstance(relation, ZeroOut) and Relation.checked(relation) is AddRemove:
            fewer = (table[:k] + table[k + 1 :] for k in range(size) if size > self.min_rows)
            positions = range(size + 1) if size < self.rows else ()
            more = ((*table[:k], value, *table[k:]) for k in positions for value in self.values)
            return dict.fromkeys(map(self._written, (*fewer, *more)))
        replaced = (
            (*table[:k], other, *table[k + 1 :])
            for k, value in enumerate(table)
            for other in self.values
            if other != value and (not isinstance(relation, ZeroOut) or relation.blank in (value, other))
        )
        return dict.fromkeys(map(self._written, replaced))

    def _written(self, table: Records) -> Records:
        """Return a table in its order of rows."""
        return table if self.ordered else tuple(sorted(table, key=self.values.index))

    def _indices(self, table: Records) -> tuple[int, ...]:
        """Return the indices of the values of rows."""
        return tuple(self.values.index(value) for value in table)


def norm1_distance(table: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the l1 distance of two tables as histograms.

    It is 1 for one row more or less, 2 for one row replaced.

    Args:
        table, other: rows.

    Source: Dwork, Roth (2014), definition 2.4.

    >>> from deniable.audit.universe import norm1_distance
    >>> norm1_distance(["a", "b"], ["b", "c"])
    2
    """
    counts = Counter(table)
    others = Counter(other)
    return sum(abs(counts[value] - others[value]) for value in counts | others)


def hamming_distance(table: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Return the number of rows in which two tables of one length differ.

    Args:
        table, other: rows, the same number of each.

    Raises: InvalidParameterError if the lengths differ.

    >>> from deniable.audit.universe import hamming_distance
    >>> hamming_distance([0, 1, 1], [0, 0, 1])
    1
    """
    if len(table) != len(other):
        raise InvalidParameterError(
            f"tables must have one length for a Hamming distance, got {len(table)} and {len(other)}"
        )
    return sum(value != here for value, here in zip(table, other, strict=True))
