"""Finite universes: every small table, every pair of neighbours, and the three ways to write a table down."""

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from typing import TypeAlias

from deniable.errors import InvalidParameterError
from deniable.numbers.rationals import shown, whole_number
from deniable.privacy import AddRemove, Relation

Table: TypeAlias = tuple[Hashable, ...]
"""A table as records: one value a row."""

MOST_TABLES = 10**5


@dataclass(frozen=True, kw_only=True)
class ZeroOut:
    """Neighbouring relation under which one row becomes a public value that stands for nobody.

    Args:
        blank: that value; it must be one of the universe.
    """

    blank: Hashable = 0

    def __str__(self) -> str:
        return "zero-out"


Neighbouring: TypeAlias = Relation | ZeroOut


@dataclass(frozen=True, kw_only=True)
class Universe:
    """All tables with few rows, each row one of a few values.

    Args:
        values: what a row may be.
        rows: of the largest table.
        least: rows of the smallest table.
        ordered: whether the order of rows matters; if not, a table is a histogram, written as sorted rows.

    >>> list(Universe(values=("no", "yes"), rows=1).tables())
    [(), ('no',), ('yes',)]
    """

    values: tuple[Hashable, ...]
    rows: int
    least: int = 0
    ordered: bool = False

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "values", tuple(self.values))
            different = len(set(self.values))
        except TypeError:
            raise InvalidParameterError(f"values must be hashable, in a tuple, got {shown(self.values)}") from None
        if not 0 < len(self.values) == different:
            raise InvalidParameterError(f"values must be different and at least one, got {shown(self.values)}")
        whole_number("rows", self.rows, lower=0, upper=MOST_TABLES)
        whole_number("least", self.least, lower=0, upper=self.rows)
        if self.size > MOST_TABLES:
            raise InvalidParameterError(
                f"a universe may hold at most {MOST_TABLES:,} tables, got {self.size:,}. Take fewer rows or values."
            )

    @classmethod
    def of_bits(cls, rows: int) -> "Universe":
        """All bit vectors of one length: bit i is the secret of person i."""
        return cls(values=(0, 1), rows=rows, least=rows, ordered=True)

    @property
    def size(self) -> int:
        """Number of tables."""
        kinds, sizes = len(self.values), range(self.least, self.rows + 1)
        if self.ordered:
            return sum(kinds ** min(rows, 64) for rows in sizes)  # beyond 64 rows of two kinds it is refused anyway
        return sum(math.comb(rows + kinds - 1, rows) for rows in sizes)

    def tables(self) -> Iterator[Table]:
        """Every table, smaller ones first."""
        for rows in range(self.least, self.rows + 1):
            yield from (
                product(self.values, repeat=rows) if self.ordered else combinations_with_replacement(self.values, rows)
            )

    def neighbours(self, table: Sequence[Hashable], relation: Neighbouring) -> Iterator[Table]:
        """Every neighbour of one table that lies in the universe.

        Args:
            table: rows, each one of the values.
            relation: AddRemove, Replace, or a ZeroOut.
        """
        yield from sorted(self._around(self.checked(table), relation), key=lambda one: (len(one), self._places(one)))

    def pairs(self, relation: Neighbouring) -> Iterator[tuple[Table, Table]]:
        """Every pair of neighbours, once."""
        for table in self.tables():
            place = (-len(table), self._places(table))
            for other in self._around(table, relation):
                if (-len(other), self._places(other)) > place:
                    yield table, other

    def checked(self, table: Sequence[Hashable]) -> Table:
        """A table of this universe, in the order in which it is written here."""
        if not self.least <= len(table) <= self.rows or not set(table) <= set(self.values):
            raise InvalidParameterError(
                f"a table of this universe has {self.least} to {self.rows} rows out of {shown(self.values)}, "
                f"got {shown(tuple(table))}"
            )
        return self._written(tuple(table))

    def histogram(self, table: Sequence[Hashable]) -> tuple[int, ...]:
        """Rows of each value: the table as a point of N^values."""
        counts = Counter(self.checked(table))
        return tuple(counts[value] for value in self.values)

    def records(self, histogram: Sequence[int]) -> Table:
        """The table with this histogram, its rows sorted."""
        if len(histogram) != len(self.values):
            raise InvalidParameterError(f"a histogram has {len(self.values)} counts, got {len(histogram)}")
        counts = [whole_number("a count", count, lower=0, upper=self.rows) for count in histogram]
        return self.checked([value for value, count in zip(self.values, counts, strict=True) for _ in range(count)])

    def bits(self, table: Sequence[Hashable]) -> tuple[int, ...]:
        """Whether each value occurs; a table that holds one twice is refused."""
        counts = self.histogram(table)
        if max(counts) > 1:
            raise InvalidParameterError("a table that holds a value twice is not a bit vector; take its histogram")
        return counts

    def _around(self, table: Table, relation: Neighbouring) -> dict[Table, None]:
        size = len(table)
        if isinstance(relation, ZeroOut) and relation.blank not in self.values:
            raise InvalidParameterError("the blank of ZeroOut must be one of the values of the universe")
        if not isinstance(relation, ZeroOut) and Relation.checked(relation) is AddRemove:
            fewer = (table[:k] + table[k + 1 :] for k in range(size) if size > self.least)
            places = range(size + 1) if size < self.rows else ()
            more = ((*table[:k], value, *table[k:]) for k in places for value in self.values)
            return dict.fromkeys(map(self._written, (*fewer, *more)))
        found = (
            (*table[:k], other, *table[k + 1 :])
            for k, value in enumerate(table)
            for other in self.values
            if other != value and (not isinstance(relation, ZeroOut) or relation.blank in (value, other))
        )
        return dict.fromkeys(map(self._written, found))

    def _written(self, table: Table) -> Table:
        return table if self.ordered else tuple(sorted(table, key=self.values.index))

    def _places(self, table: Table) -> tuple[int, ...]:
        return tuple(self.values.index(value) for value in table)


def norm1_distance(table: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Distance of two tables as histograms: 1 for one row more or less, 2 for one row replaced.

    Args: table: rows; other likewise.
    Source: Dwork, Roth (2014), definition 2.4.

    >>> norm1_distance(["a", "b"], ["b", "c"])
    2
    """
    counts, others = Counter(table), Counter(other)
    return sum(abs(counts[value] - others[value]) for value in counts | others)


def hamming_distance(table: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    """Number of rows in which two tables of one length differ.

    Args: table: rows; other likewise, as many.
    Raises: InvalidParameterError if the lengths differ.

    >>> hamming_distance([0, 1, 1], [0, 0, 1])
    1
    """
    if len(table) != len(other):
        raise InvalidParameterError(f"Hamming distance needs tables of one length, got {len(table)} and {len(other)}")
    return sum(value != here for value, here in zip(table, other, strict=True))
