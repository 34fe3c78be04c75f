"""Redistricting data of the United States: the six tables of PL 94-171.

Stated here too is how the census of 2020 shared its budget. Levels and queries of the published production run are a
preset of `Database.hierarchy`; the tables are made from its counts by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import InvalidParameterError
from deniable.privacy import ConcentratedLoss, PrivacyLoss
from deniable.synthesis.hierarchy.counts import HierarchicalCounts

if TYPE_CHECKING:
    import pyarrow as pa

    from deniable.numbers.arrays import Floats

RACES = (
    "White",
    "Black or African American",
    "American Indian and Alaska Native",
    "Asian",
    "Native Hawaiian and Other Pacific Islander",
    "Some Other Race",
)
RACE_SETS = tuple("; ".join(races) for count in range(1, 7) for races in combinations(RACES, count))  # 63 of them
HOUSEHOLD = "Household"
INSTITUTIONS = (
    "Correctional facilities for adults",
    "Juvenile facilities",
    "Nursing facilities/Skilled-nursing facilities",
    "Other institutional facilities",
)
OTHER_QUARTERS = ("College/University student housing", "Military quarters", "Other noninstitutional facilities")
NUMBERS = ("one race", "two races", "three races", "four races", "five races", "six races")
PERSON_KEYS: Mapping[str, tuple[Any, ...]] = {  # columns of rows of persons, with their keys
    "group_quarters": (HOUSEHOLD, *INSTITUTIONS, *OTHER_QUARTERS),
    "voting_age": (False, True),
    "hispanic": (False, True),
    "race": RACE_SETS,
}
HOUSING_KEYS: Mapping[str, tuple[Any, ...]] = {"occupied": (False, True)}  # of rows of housing units
LEVELS = ("state", "county", "tract", "block_group", "block")
Line = tuple[str, Mapping[str, Sequence[Any]]]  # a label, and the keys of some columns that count


@dataclass(frozen=True)
class RedistrictingTable:
    """One of the six tables of the redistricting file (Public Law 94-171).

    Args:
        name: P1 to P5, or H1.
        title: as it is published.
        lines: labels, each with the keys that it counts.

    >>> from deniable.synthesis.hierarchy import TABLES
    >>> {name: len(table.lines) for name, table in TABLES.items()}
    {'P1': 71, 'P2': 73, 'P3': 71, 'P4': 73, 'P5': 10, 'H1': 3}
    """

    name: str
    title: str
    lines: tuple[Line, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that must have been counted."""
        return tuple(dict.fromkeys(column for _, keys in self.lines for column in keys))

    @property
    def labels(self) -> dict[str, str]:
        """Label of every column of `of`, by its name: P0010001 is the first of P1."""
        table = f"{self.name[0]}{int(self.name[1:]):03}"
        return {f"{table}{number:04}": label for number, (label, _) in enumerate(self.lines, 1)}

    def of(self, made: HierarchicalCounts, level: str, *, unsafe: bool = False) -> pa.Table:
        """Return the table for every unit of a level.

        It has the keys of the unit, and one column for each line.

        Args:
            made: counts with the columns of the table and the keys of `PERSON_KEYS` or `HOUSING_KEYS`.
            level: name of a level.
            unsafe: return counts although the noise behind them came from a test stream.

        Raises: InvalidParameterError if a column was not counted; as `HierarchicalCounts.counts`.
        """
        missing = [column for column in self.columns if column not in made.plan.cells.names]
        if missing:
            raise InvalidParameterError(f"table {self.name} counts {', '.join(missing)}: name it among the columns.")
        index = made.geography.index_of(level)
        units = made.counts(level, "total", unsafe=unsafe).select(list(made.geography.levels[:index]))
        numbers = made.numbers[index].astype(np.float64) @ self._matrix(made).T  # below 2^53: exact
        for name, column in zip(self.labels, numbers.astype(np.int64).T, strict=True):
            units = units.append_column(name, [column])
        return units

    def _matrix(self, made: HierarchicalCounts) -> Floats:
        """Cells that each line counts, of shape (lines, cells)."""
        cells = made.plan.cells
        keys = {name: np.array(column, dtype=object) for name, column in cells.keys_of(cells.whole).items()}
        rows = []
        for _, counted in self.lines:
            row = np.ones(cells.size, dtype=np.bool_)
            for column, values in counted.items():
                row &= np.isin(keys[column].astype(str), [str(value) for value in values])
            rows.append(row)
        return np.stack(rows).astype(np.float64)


def _races(within: Mapping[str, Sequence[Any]]) -> list[Line]:
    """Lines of all sets of races, with totals of each number of races."""
    lines: list[Line] = []
    for count, number in enumerate(NUMBERS, 1):
        sets = [races for races in RACE_SETS if races.count(";") == count - 1]
        if count == 2:
            several = [races for races in RACE_SETS if ";" in races]
            lines.append(("Population of two or more races", {**within, "race": several}))
        lines.append((f"Population of {number}", {**within, "race": sets}))
        alone = " alone" if count == 1 else ""
        lines += [(f"{races}{alone}", {**within, "race": [races]}) for races in sets]
    return lines


def _by_race(within: Mapping[str, Sequence[Any]]) -> tuple[Line, ...]:
    return (("Total", {**within, "race": RACE_SETS}), *_races(within))


def _by_origin(within: Mapping[str, Sequence[Any]]) -> tuple[Line, ...]:
    """Lines of people of Hispanic or Latino origin, and of all others by race."""
    return (
        ("Total", {**within, "hispanic": [False, True]}),
        ("Hispanic or Latino", {**within, "hispanic": [True]}),
        ("Not Hispanic or Latino", {**within, "hispanic": [False]}),
        *_races({**within, "hispanic": [False]}),
    )


def _quarters(label: str, kinds: Sequence[str]) -> list[Line]:
    of_kinds: list[Line] = [(kind, {"group_quarters": [kind]}) for kind in kinds]
    return [(label, {"group_quarters": kinds}), *of_kinds]


ADULTS: Mapping[str, Sequence[Any]] = {"voting_age": [True]}
TABLES: Mapping[str, RedistrictingTable] = {
    table.name: table
    for table in (
        RedistrictingTable("P1", "Race", _by_race({})),
        RedistrictingTable("P2", "Hispanic or Latino, and not Hispanic or Latino by race", _by_origin({})),
        RedistrictingTable("P3", "Race for the population 18 years and over", _by_race(ADULTS)),
        RedistrictingTable(
            "P4",
            "Hispanic or Latino, and not Hispanic or Latino by race for the population 18 years and over",
            _by_origin(ADULTS),
        ),
        RedistrictingTable(
            "P5",
            "Group quarters population by major group quarters type",
            (
                ("Total", {"group_quarters": [*INSTITUTIONS, *OTHER_QUARTERS]}),
                *_quarters("Institutionalized population", INSTITUTIONS),
                *_quarters("Noninstitutionalized population", OTHER_QUARTERS),
            ),
        ),
        RedistrictingTable(
            "H1",
            "Occupancy status",
            (
                ("Total", {"occupied": [False, True]}),
                ("Occupied", {"occupied": [True]}),
                ("Vacant", {"occupied": [False]}),
            ),
        ),
    )
}


@dataclass(frozen=True)
class PublishedSplit:
    """Published budget of a release, and how its levels and queries shared it.

    Args:
        rho: of all tables together.
        shares: of each query of each level; they add up to 1.
        source: where the numbers stand.

    >>> from deniable.synthesis.hierarchy import PERSONS_2020
    >>> round(PERSONS_2020.loss.epsilon("1e-10").upper, 2), PERSONS_2020.levels["block"]
    (17.14, Fraction(165, 4099))
    """

    rho: Fraction
    shares: Mapping[str, Mapping[str, Fraction]]
    source: str

    @property
    def loss(self) -> PrivacyLoss:
        """Loss of all tables together, for the replacement of one person."""
        return ConcentratedLoss(self.rho)

    @property
    def levels(self) -> dict[str, Fraction]:
        """Share of each level."""
        return {level: sum(queries.values(), Fraction(0)) for level, queries in self.shares.items()}


_QUERIES = (
    "total",
    "race",
    "hispanic",
    "voting_age",
    "group_quarters",
    "hispanic * race",
    "voting_age * race",
    "voting_age * hispanic",
    "voting_age * hispanic * race",
    "cells",
)
# Shares of the levels in 4,099ths, and within each of the queries above. The query `hhinstlevels`, group quarters in
# three classes, is not a sum over columns here: its share, as large as that of `hhgq`, went to "group_quarters".
_PERSONS: Mapping[str, tuple[int, int, tuple[int, ...]]] = {
    "all": (104, 4097, (0, 52, 26, 26, 52, 130, 130, 26, 442, 3213)),
    "state": (1440, 4097, (3773, 6, 6, 6, 12, 12, 12, 6, 34, 230)),
    "county": (447, 4097, (3126, 10, 10, 10, 20, 28, 28, 10, 101, 754)),
    "tract": (687, 4102, (1567, 8, 5, 5, 10, 1933, 20, 5, 67, 482)),
    "block_group": (1256, 4099, (1705, 3, 3, 3, 6, 1055, 9, 3, 24, 1288)),
    "block": (165, 4097, (5, 9, 5, 5, 10, 21, 21, 5, 71, 3945)),
}
PERSONS_2020 = PublishedSplit(
    rho=Fraction(542, 339) ** 2,
    shares={
        level: {
            query: Fraction(of_level, 4099) * Fraction(part, whole)
            for query, part in zip(_QUERIES, parts, strict=True)
            if part
        }
        for level, (of_level, whole, parts) in _PERSONS.items()
    },
    source="U.S. Census Bureau, code of the 2020 redistricting run: configs/production/pl94/person_default.ini (global "
    "scale 339/542) and person_US.ini (levels), strategy ProductionCandidate20210527US_mult8_add02_dsepJune3 (queries)",
)
