"""All lists of people that agree with the published tables of a block."""

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deniable.attacks.census.tables import BlockTables, Statistic
from deniable.attacks.chunks import stretches
from deniable.attacks.numbers import Integers, whole
from deniable.attacks.result import AttackResult, Share
from deniable.errors import InvalidParameterError

Record = tuple[Any, ...]  # age, then values

_FAR = 1 << 30
_AT_ONCE = 20_000  # partial lists that are extended together


@dataclass(frozen=True, kw_only=True)
class BlockSolutions:
    """Every list of people that agrees with the tables.

    Args:
        columns: "age", then the attributes.
        solutions: lists of people, each a sorted tuple of records with one value a column.
        complete: whether these are all. If so, and there is one, the tables determine everybody.
        possible_records: how many different records one person could have.
    """

    columns: tuple[str, ...]
    solutions: tuple[tuple[Record, ...], ...]
    complete: bool
    possible_records: int

    @property
    def unique(self) -> bool:
        """Whether it is proved that one list alone agrees with the tables."""
        return self.complete and len(self.solutions) == 1

    @property
    def certain(self) -> tuple[Record, ...]:
        """Records that stand in every list, as often as in the list where they are rarest."""
        if not self.complete or not self.solutions:
            return ()
        every = set(self.solutions[0])
        least = {record: min(one.count(record) for one in self.solutions) for record in every}
        return tuple(sorted(record for record in every for _ in range(least[record])))


def reconstruct_block(
    tables: BlockTables, *, truth: Sequence[Mapping[str, int | str]] | None = None, most: int = 10_000
) -> AttackResult:
    """Reconstruct the people of a block from its published tables.

    A record counts as learned where it is proved: it stands in every list of people that agrees with the tables.

    Args:
        tables: what was published.
        truth: the people, to check against; None: whatever is proved is right.
        most: lists that are kept; with more, nothing is proved.

    Returns: `learned` are the proved records, one a row: age and the attributes in their order.
    Raises: InvalidParameterError if no list agrees with the tables.
    Source: Garfinkel, Abowd, Martindale (2018), "Understanding database reconstruction attacks on public data".

    >>> from deniable.attacks.census import Group, tabulate_block
    >>> people = [{"age": 8, "sex": "female"}, {"age": 30, "sex": "female"}, {"age": 82, "sex": "male"}]
    >>> groups, sexes = [Group(where={"sex": "male"}), Group(most=8)], {"sex": ["female", "male"]}
    >>> tables = tabulate_block(people, groups, attributes=sexes, ages=(0, 99))
    >>> reconstruct_block(tables).success.value
    1.0
    """
    solved = solve_block(tables, most=most)
    if solved.complete and not solved.solutions:
        raise InvalidParameterError("no list of people agrees with these tables: at least one number is wrong")
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


def solve_block(tables: BlockTables, *, most: int = 10_000, effort: int = 50_000_000) -> BlockSolutions:
    """Find every list of people that agrees with the tables, or the first ones.

    People are placed in order of age. A partial list is dropped once a group is too full, cannot fill up any more, has
    passed its median, or can no longer reach its mean; thousands of partial lists are tested at once.
    docs/theory/attacks/census.md proves that no list that agrees is dropped.

    Args:
        tables: what was published.
        most: lists that are kept, at least 1.
        effort: partial lists that are looked at before the search is given up.

    >>> from deniable.attacks.census import tabulate_block
    >>> tables = tabulate_block([{"age": 0, "sex": "male"}], [], attributes={"sex": ["female", "male"]}, ages=(0, 9))
    >>> solve_block(tables).solutions
    (((0, 'female'),), ((0, 'male'),))
    """
    whole("most", most), whole("effort", effort)
    search = _Search(tables)
    found, complete = search.run(most, effort)
    return BlockSolutions(
        columns=("age", *tables.attributes),
        solutions=tuple(found),
        complete=complete,
        possible_records=search.possible_records,
    )


@dataclass(frozen=True)
class _Partial:
    """Lists of the youngest people, as many in each."""

    ages: Integers  # (lists, people so far), ascending
    cells: Integers  # likewise: indexes of combinations of attributes, ascending where ages are equal
    counts: NDArray[np.int16]  # (lists, groups), members so far
    totals: Integers  # (lists, groups), sum of their ages
    lower: Integers  # (lists, groups), age of the lower of the two in the middle of an even group, once it is placed

    def __len__(self) -> int:
        return len(self.ages)

    def take(self, chosen: Any) -> "_Partial":
        columns = (self.ages, self.cells, self.counts, self.totals, self.lower)
        return _Partial(*(column[chosen] for column in columns))


class _Search:
    """The tables as arrays over groups, and over kinds: stretches of ages, of one cell, that lie in the same groups."""

    def __init__(self, tables: BlockTables) -> None:
        self.people = tables.people
        self.values = list(itertools.product(*tables.attributes.values()))
        lines = tables.statistics
        first, last = tables.ages
        joins: list[list[bool]] = []
        kinds: list[list[int]] = []
        for cell, values in enumerate(self.values):
            where = dict(zip(tables.attributes, values, strict=True))
            for age in range(first, last + 1):
                person: dict[str, int | str] = {"age": age, **where}
                if any(group.holds(person) for group in tables.impossible):
                    continue
                row = [one.group.holds(person) for one in lines]
                if kinds and kinds[-1][0] == cell and kinds[-1][2] == age - 1 and joins[-1] == row:
                    kinds[-1][2] = age
                else:
                    kinds.append([cell, age, age])
                    joins.append(row)
        self.cell, self.first, self.last = np.array(kinds, dtype=np.int64).reshape(-1, 3).T
        self.member = np.array(joins, dtype=bool).reshape(-1, len(lines))  # (kinds, groups)
        hidden = tables.minimum_count - 1 if tables.minimum_count else self.people
        self.least = np.array([one.count or 0 for one in lines], dtype=np.int16)
        self.most = np.array([hidden if one.count is None else one.count for one in lines], dtype=np.int16)
        self.low, self.high = np.array([_sums(one, tables.mean_unit) for one in lines]).T
        told = np.array([one.median is not None and (one.count or 0) > 0 for one in lines])
        self.odd, self.even = told & (self.least % 2 == 1), told & (self.least % 2 == 0)
        self.half = self.least // 2
        self.twice = np.array([round(2 * (one.median or 0)) for one in lines], dtype=np.int64)
        self.oldest = np.where(self.member, self.last[:, None], 0).max(axis=0, initial=0)

    @property
    def possible_records(self) -> int:
        """How many different records there are."""
        return int((self.last - self.first + 1).sum())

    def run(self, most: int, effort: int) -> tuple[list[tuple[Record, ...]], bool]:
        """Complete lists; and whether these are all."""
        empty = np.zeros((1, self.member.shape[1]), dtype=np.int64)
        nobody = np.empty((1, 0), dtype=np.int64)
        stack = [_Partial(nobody, nobody, empty.astype(np.int16), empty, empty)]
        found: list[tuple[Record, ...]] = []
        while stack:
            partial = stack.pop()
            if partial.ages.shape[1] == self.people:
                for ages, cells in zip(partial.ages.tolist(), partial.cells.tolist(), strict=True):
                    found.append(tuple((age, *self.values[cell]) for age, cell in zip(ages, cells, strict=True)))
                if len(found) > most:
                    return found[:most], False
                continue
            if len(partial) > _AT_ONCE:
                stack.append(partial.take(slice(_AT_ONCE, None)))
                partial = partial.take(slice(_AT_ONCE))
            for extended in self._extend(partial):
                effort -= len(extended)
                stack.append(extended)
            if effort < 0:
                return found, False
        return found, True

    def _extend(self, partial: _Partial) -> Iterator[_Partial]:
        """Lists with one more person, without those that cannot agree with the tables."""
        left = self.people - partial.ages.shape[1] - 1
        counts = partial.counts[:, None] + self.member  # (lists, kinds, groups)
        fits = ((counts <= self.most) & (counts >= self.least - left)).all(axis=2)
        parent, kind = np.nonzero(fits)
        first, last = self.first[kind], np.minimum(self.last[kind], self._oldest_next(partial)[parent])
        if partial.ages.shape[1]:
            same_age = self.cell[kind] >= partial.cells[parent, -1]
            first = np.maximum(first, partial.ages[parent, -1] + ~same_age)
        # Who completes the middle of a group has an age that the median gives.
        middle = self.member[kind] & (counts[fits] == self.half + 1)
        told = np.where(self.odd, self.twice, 2 * (self.twice - partial.lower[parent]))
        told = np.where(middle & (self.odd | self.even), told, -1)
        first = np.maximum(first, -(-told.max(axis=1) // 2))
        last = np.minimum(last, np.where(told < 0, _FAR, told // 2).min(axis=1))
        many = np.maximum(last - first + 1, 0)
        for start, stop in stretches(many, 10 * _AT_ONCE):
            length = many[start:stop]
            age = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length - first[start:stop], length)
            yield self._placed(partial, np.repeat(parent[start:stop], length), np.repeat(kind[start:stop], length), age)

    def _placed(self, partial: _Partial, parent: Integers, kind: Integers, age: Integers) -> _Partial:
        joins, column = self.member[kind], age[:, None]
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
        """Largest age of the next person: nobody after is younger."""
        counts, missing = partial.counts, self.least - partial.counts
        middle = np.where(counts < self.half, self.twice // 2, self.twice - partial.lower)
        ends = np.where(self.odd & (counts <= self.half), self.twice // 2, _FAR)
        ends = np.where(self.even & (counts <= self.half), middle, ends)
        ends = np.minimum(ends, np.where(missing > 0, self.oldest, _FAR))
        young, later = self._rest(partial)
        room = self.high - partial.totals - later // 2
        ends = np.minimum(ends, np.where(young > 0, room // np.maximum(young, 1), np.where(room < 0, -1, _FAR)))
        found: Integers = ends.min(axis=1)
        return found

    def _rest(self, partial: _Partial) -> tuple[Integers, Integers]:
        """How many of the missing members are only known to be no younger, and twice the least sum of the others."""
        counts, missing = partial.counts, np.maximum(self.least - partial.counts, 0)
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
        """Twice the greatest sum that each group can still reach."""
        counts, missing = partial.counts, np.maximum(self.least - partial.counts, 0)
        top = 2 * self.oldest
        best = missing * top
        best = np.where(self.odd & (counts <= self.half), (self.half + 1 - counts) * self.twice + self.half * top, best)
        above = (self.half - 1) * top
        best = np.where(self.even & (counts < self.half), (self.half - counts + 1) * self.twice + above, best)
        upper = 2 * (self.twice - partial.lower)
        best = np.where(self.even & (counts == self.half), upper + above, best)
        reached: Integers = 2 * partial.totals + best
        return reached


def _sums(line: Statistic, unit: Fraction) -> tuple[int, int]:
    """Smallest and largest sum of ages that rounds to the published mean."""
    if line.mean is None or not line.count:
        return 0, _FAR
    mean = Fraction(str(line.mean))
    return math.ceil(line.count * (mean - unit / 2)), math.floor(line.count * (mean + unit / 2))
