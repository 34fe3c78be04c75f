"""Search for all lists of people that agree with the tables of a block."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.census.tables import BlockStatistic, BlockTables
from deniable.attacks.chunks import stretches
from deniable.attacks.numbers import Integers, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Record = tuple[Any, ...]  # age, then values

_UNBOUNDED = 1 << 30  # larger than every age and every sum of ages
_LISTS_AT_ONCE = 20_000  # partial lists that are extended together: 20 MB


@dataclass(frozen=True, kw_only=True)
class BlockSolutions:
    """Lists of people that agree with the tables of a block.

    Args:
        columns: "age", then the attributes.
        solutions: lists of people, each a sorted tuple of records with one value for each column.
        complete: whether these are all. If so, and there is one, the tables determine everybody.
        possible_records: number of different records that one person could have.

    >>> from deniable.attacks import solve_block, tabulate_block
    >>> tables = tabulate_block([{"age": 7}], [], attributes={}, ages=(0, 9))
    >>> solve_block(tables).unique
    True
    """

    columns: tuple[str, ...]
    solutions: tuple[tuple[Record, ...], ...]
    complete: bool
    possible_records: int

    def __repr__(self) -> str:
        count = f"{'' if self.complete else 'at least '}{len(self.solutions):,}"
        return f"<BlockSolutions: {count} list{'s' * (len(self.solutions) != 1)} of people agree with the tables>"

    @property
    def unique(self) -> bool:
        """Whether exactly one list is proved to agree with the tables."""
        return self.complete and len(self.solutions) == 1

    @property
    def certain(self) -> tuple[Record, ...]:
        """Records in every list, as often as in the list where they are rarest."""
        if not self.complete or not self.solutions:
            return ()
        every = set(self.solutions[0])
        rarest = {record: min(one.count(record) for one in self.solutions) for record in every}
        return tuple(sorted(record for record in every for _ in range(rarest[record])))


def reconstruct_block(
    tables: BlockTables, *, truth: Sequence[Mapping[str, int | str]] | None = None, max_lists: int = 10_000
) -> AttackResult:
    """Reconstruct the people of a block from its published tables.

    A record counts as learned where it is proved: it is in every list of people that agrees with the tables.

    Args:
        tables: as published.
        truth: the people, to judge the records; None: every proved record counts as right.
        max_lists: number of lists that are kept; with more, nothing is proved.

    Returns: `learned` holds the proved records, one in each row: age and the attributes in their order.
    Raises: InvalidParameterError if no list agrees with the tables.
    Source: Garfinkel, Abowd, Martindale (2018), "Understanding database reconstruction attacks on public data".

    >>> from deniable.attacks.census import Group, tabulate_block
    >>> people = [{"age": 8, "sex": "female"}, {"age": 30, "sex": "female"}, {"age": 82, "sex": "male"}]
    >>> groups, sexes = [Group(where={"sex": "male"}), Group(max_age=8)], {"sex": ["female", "male"]}
    >>> tables = tabulate_block(people, groups, attributes=sexes, ages=(0, 99))
    >>> reconstruct_block(tables).success.value
    1.0
    """
    solved = solve_block(tables, max_lists=max_lists)
    if solved.complete and not solved.solutions:
        raise InvalidParameterError(
            "no list of people agrees with these tables: at least one of their numbers is wrong"
        )
    proved = solved.certain
    right = len(proved)
    if truth is not None:
        people = [tuple(person[name] for name in solved.columns) for person in truth]
        right = sum(min(proved.count(one), people.count(one)) for one in set(proved))
    return AttackResult(
        attack="Reconstruction from tables",
        target="person's whole record",
        success=Share(right=right, attempts=tables.people),
        baseline=1 / solved.possible_records,
        guess="a record drawn at random",
        learned=np.array(proved, dtype=object).reshape(len(proved), len(solved.columns)),
        facts={
            "lists of people that agree": f"{'' if solved.complete else 'at least '}{len(solved.solutions):,}",
            "unique": "proved" if solved.unique else "no" if solved.complete else "not known",
        },
    )


def solve_block(tables: BlockTables, *, max_lists: int = 10_000, effort: int = 50_000_000) -> BlockSolutions:
    """Find every list of people that agrees with the tables, or the first ones.

    People are placed in order of age. A partial list is dropped once a group is too full, cannot fill up any more, has
    passed its median, or can no longer reach its mean; thousands of partial lists are tested at once.
    docs/theory/attacks/census.md proves that no list that agrees is dropped.

    Args:
        tables: as published.
        max_lists: number of lists that are kept, at least 1.
        effort: number of partial lists that are tried before the search ends.

    Returns: a `BlockSolutions`.

    >>> from deniable.attacks.census import tabulate_block
    >>> tables = tabulate_block([{"age": 0, "sex": "male"}], [], attributes={"sex": ["female", "male"]}, ages=(0, 9))
    >>> solve_block(tables).solutions
    (((0, 'female'),), ((0, 'male'),))
    """
    whole("max_lists", max_lists)
    whole("effort", effort)
    search = _Search(tables)
    solutions, complete = search.run(max_lists, effort)
    return BlockSolutions(
        columns=("age", *tables.attributes),
        solutions=tuple(solutions),
        complete=complete,
        possible_records=search.possible_records,
    )


@dataclass(frozen=True)
class _Partial:
    """Lists of the youngest people, all of one length."""

    ages: Integers  # (lists, people so far), ascending
    cells: Integers  # likewise: indexes of combinations of attributes, ascending where ages are equal
    counts: NDArray[np.int16]  # (lists, groups), members so far
    totals: Integers  # (lists, groups), sum of their ages
    lower: Integers  # (lists, groups), age of the lower of the two in the middle of an even group, once it is placed

    def __len__(self) -> int:
        return len(self.ages)

    def take(self, chosen: Any) -> "_Partial":
        """Return some of the lists."""
        columns = (self.ages, self.cells, self.counts, self.totals, self.lower)
        return _Partial(*(column[chosen] for column in columns))


class _Search:
    """Search over lists of people in order of age.

    The tables are arrays over groups, and over kinds: stretches of ages, of one combination of attributes, in the same
    groups.
    """

    def __init__(self, tables: BlockTables) -> None:
        self.people = tables.people
        self.values = list(itertools.product(*tables.attributes.values()))
        lines = tables.statistics
        kinds, joins = _kinds(tables, self.values)
        self.cell, self.first, self.last = np.array(kinds, dtype=np.int64).reshape(-1, 3).T
        self.member = np.array(joins, dtype=bool).reshape(-1, len(lines))  # (kinds, groups)
        hidden = tables.minimum_count - 1 if tables.minimum_count else self.people
        self.lower_counts = np.array([one.count or 0 for one in lines], dtype=np.int16)
        self.upper_counts = np.array([hidden if one.count is None else one.count for one in lines], dtype=np.int16)
        self.low, self.high = np.array([_sums(one, tables.mean_unit) for one in lines]).T
        has_median = np.array([one.median is not None and (one.count or 0) > 0 for one in lines])
        self.odd = has_median & (self.lower_counts % 2 == 1)
        self.even = has_median & (self.lower_counts % 2 == 0)
        self.half = self.lower_counts // 2
        self.twice = np.array([round(2 * (one.median or 0)) for one in lines], dtype=np.int64)
        self.oldest = np.where(self.member, self.last[:, None], 0).max(axis=0, initial=0)

    @property
    def possible_records(self) -> int:
        """Number of different records."""
        return int((self.last - self.first + 1).sum())

    def run(self, max_lists: int, effort: int) -> tuple[list[tuple[Record, ...]], bool]:
        """Return complete lists, and whether these are all."""
        empty = np.zeros((1, self.member.shape[1]), dtype=np.int64)
        nobody = np.empty((1, 0), dtype=np.int64)
        stack = [_Partial(nobody, nobody, empty.astype(np.int16), empty, empty)]
        solutions: list[tuple[Record, ...]] = []
        while stack:
            partial = stack.pop()
            if partial.ages.shape[1] == self.people:
                for ages, cells in zip(partial.ages.tolist(), partial.cells.tolist(), strict=True):
                    solutions.append(tuple((age, *self.values[cell]) for age, cell in zip(ages, cells, strict=True)))
                if len(solutions) > max_lists:
                    return solutions[:max_lists], False
                continue
            if len(partial) > _LISTS_AT_ONCE:
                stack.append(partial.take(slice(_LISTS_AT_ONCE, None)))
                partial = partial.take(slice(_LISTS_AT_ONCE))
            for extended in self._extend(partial):
                effort -= len(extended)
                stack.append(extended)
            if effort < 0:
                return solutions, False
        return solutions, True

    def _extend(self, partial: _Partial) -> Iterator[_Partial]:
        """Yield lists with one more person that may agree with the tables."""
        left = self.people - partial.ages.shape[1] - 1
        counts = partial.counts[:, None] + self.member  # (lists, kinds, groups)
        fits = ((counts <= self.upper_counts) & (counts >= self.lower_counts - left)).all(axis=2)
        parent, kind = np.nonzero(fits)
        first = self.first[kind]
        last = np.minimum(self.last[kind], self._oldest_next(partial)[parent])
        if partial.ages.shape[1]:
            same_age = self.cell[kind] >= partial.cells[parent, -1]
            first = np.maximum(first, partial.ages[parent, -1] + ~same_age)
        # The person who completes the middle of a group has an age that the median gives.
        middle = self.member[kind] & (counts[fits] == self.half + 1)
        twice_age = np.where(self.odd, self.twice, 2 * (self.twice - partial.lower[parent]))
        twice_age = np.where(middle & (self.odd | self.even), twice_age, -1)
        first = np.maximum(first, -(-twice_age.max(axis=1) // 2))
        last = np.minimum(last, np.where(twice_age < 0, _UNBOUNDED, twice_age // 2).min(axis=1))
        lengths = np.maximum(last - first + 1, 0)
        for start, stop in stretches(lengths, 10 * _LISTS_AT_ONCE):
            length = lengths[start:stop]
            age = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length - first[start:stop], length)
            yield self._placed(partial, np.repeat(parent[start:stop], length), np.repeat(kind[start:stop], length), age)

    def _placed(self, partial: _Partial, parent: Integers, kind: Integers, age: Integers) -> _Partial:
        """Return lists with one more person of some kind and age."""
        joins = self.member[kind]
        column = age[:, None]
        counts = partial.counts[parent] + joins
        extended = _Partial(
            ages=np.concatenate([partial.ages[parent], column], axis=1),
            cells=np.concatenate([partial.cells[parent], self.cell[kind][:, None]], axis=1),
            counts=counts,
            totals=partial.totals[parent] + np.where(joins, column, 0),
            lower=np.where(joins & self.even & (counts == self.half), column, partial.lower[parent]),
        )
        young, later = self._rest(extended)
        within = 2 * (extended.totals + young * column) + later <= 2 * self.high
        within &= self._greatest(extended) >= 2 * self.low
        return extended.take(within.all(axis=1))

    def _oldest_next(self, partial: _Partial) -> Integers:
        """Return the largest age of the next person: nobody after is younger."""
        counts = partial.counts
        missing = self.lower_counts - counts
        middle = np.where(counts < self.half, self.twice // 2, self.twice - partial.lower)
        ends = np.where(self.odd & (counts <= self.half), self.twice // 2, _UNBOUNDED)
        ends = np.where(self.even & (counts <= self.half), middle, ends)
        ends = np.minimum(ends, np.where(missing > 0, self.oldest, _UNBOUNDED))
        young, later = self._rest(partial)
        room = self.high - partial.totals - later // 2
        ends = np.minimum(ends, np.where(young > 0, room // np.maximum(young, 1), np.where(room < 0, -1, _UNBOUNDED)))
        oldest: Integers = ends.min(axis=1)
        return oldest

    def _rest(self, partial: _Partial) -> tuple[Integers, Integers]:
        """Return the number of missing members without a bound, and a sum for the others.

        Of the first it is only known that they are no younger; twice the least sum is returned for the others.
        """
        counts = partial.counts
        missing = np.maximum(self.lower_counts - counts, 0)
        before = counts < self.half
        young = np.where(self.odd & (counts <= self.half), self.half - counts, missing)
        later = np.where(self.odd & (counts <= self.half), (self.half + 1) * self.twice, 0)
        young = np.where(self.even & before, self.half - counts - 1, young)
        later = np.where(self.even & before, (self.half + 1) * self.twice, later)
        upper = self.even & (counts == self.half)
        young = np.where(upper, 0, young)
        later = np.where(upper, 2 * self.half * (self.twice - partial.lower), later)
        return young, later

    def _greatest(self, partial: _Partial) -> Integers:
        """Return twice the greatest sum of ages that each group can still have."""
        counts = partial.counts
        missing = np.maximum(self.lower_counts - counts, 0)
        top = 2 * self.oldest
        best = missing * top
        best = np.where(self.odd & (counts <= self.half), (self.half + 1 - counts) * self.twice + self.half * top, best)
        above = (self.half - 1) * top
        best = np.where(self.even & (counts < self.half), (self.half - counts + 1) * self.twice + above, best)
        upper = 2 * (self.twice - partial.lower)
        best = np.where(self.even & (counts == self.half), upper + above, best)
        greatest: Integers = 2 * partial.totals + best
        return greatest


def _kinds(tables: BlockTables, cells: Sequence[tuple[str, ...]]) -> tuple[list[list[int]], list[list[bool]]]:
    """Return kinds of people as (cell, first age, last age), and their groups.

    A cell is a combination of attributes. People of one kind are in the same groups.
    """
    kinds: list[list[int]] = []
    joins: list[list[bool]] = []
    first, last = tables.ages
    for cell, values in enumerate(cells):
        where = dict(zip(tables.attributes, values, strict=True))
        for age in range(first, last + 1):
            person: dict[str, int | str] = {"age": age, **where}
            if any(group.holds(person) for group in tables.impossible):
                continue
            row = [one.group.holds(person) for one in tables.statistics]
            if kinds and kinds[-1][0] == cell and kinds[-1][2] == age - 1 and joins[-1] == row:
                kinds[-1][2] = age
            else:
                kinds.append([cell, age, age])
                joins.append(row)
    return kinds, joins


def _sums(line: BlockStatistic, unit: Fraction) -> tuple[int, int]:
    """Return the smallest and the largest sum of ages that rounds to the mean."""
    if line.mean is None or not line.count:
        return 0, _UNBOUNDED
    mean = Fraction(str(line.mean))
    return math.ceil(line.count * (mean - unit / 2)), math.floor(line.count * (mean + unit / 2))
