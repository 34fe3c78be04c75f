"""The six tables of PL 94-171 by name, and the published budget of 2020."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.noise.bits import DeterministicBits
from deniable.privacy import Replace
from deniable.synthesis.hierarchy import (
    HOUSING_KEYS,
    PERSON_KEYS,
    PERSONS_2020,
    TABLES,
    HierarchicalCounts,
)
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.constraints import Constraints
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.redistricting import HOUSEHOLD, LEVELS, RACE_SETS
from tests.synthesis.hierarchy.trees import TREE, plan_of


def made(keys: dict[str, tuple[Any, ...]]) -> tuple[HierarchicalCounts, Any]:
    """Counts with hardly any noise, and the exact numbers as (unit, keys of the cell): count."""
    cells = CountedCells(tuple(keys), tuple(keys.values()))
    exact = np.random.default_rng(0).poisson(1, size=(5, cells.size))
    plan = plan_of(TREE, cells, rho=10**6, queries={"cells": 1})
    measured = plan.measure(exact.ravel(), DeterministicBits(1))
    counts = HierarchicalCounts(measured=measured, constraints=Constraints(TREE, cells), cost=plan.loss)
    named = list(zip(*cells.keys_of(cells.whole).values(), strict=True))
    return counts, [
        (path, dict(zip(keys, cell, strict=True)), count)
        for path, row in zip(TREE.paths, exact.tolist(), strict=True)
        for cell, count in zip(named, row, strict=True)
    ]


PERSONS, PERSON_CELLS = made(dict(PERSON_KEYS))
UNIVERSES = {
    "P1": lambda cell: True,
    "P2": lambda cell: True,
    "P3": lambda cell: cell["voting_age"],
    "P4": lambda cell: cell["voting_age"],
    "P5": lambda cell: cell["group_quarters"] != HOUSEHOLD,
}


@pytest.mark.parametrize("name", UNIVERSES)
def test_tables_of_persons_count_their_universe(name: str) -> None:
    table = TABLES[name].of(PERSONS, "county")
    for row in table.to_pylist():
        path = (row.pop("state"), row.pop("county"))
        inside = [(cell, count) for unit, cell, count in PERSON_CELLS if unit == path and UNIVERSES[name](cell)]
        by_label: dict[str, int] = {}
        for key, label in TABLES[name].labels.items():
            by_label.setdefault(label, row[key])
        assert by_label["Total"] == sum(count for _, count in inside)
        if name in ("P2", "P4"):
            assert by_label["Hispanic or Latino"] == sum(count for cell, count in inside if cell["hispanic"])
            inside = [(cell, count) for cell, count in inside if not cell["hispanic"]]
        if name == "P5":
            for kind in PERSON_KEYS["group_quarters"][1:]:
                assert by_label[kind] == sum(count for cell, count in inside if cell["group_quarters"] == kind)
            continue
        several = sum(count for cell, count in inside if ";" in cell["race"])
        assert by_label["Population of two or more races"] == several
        for races in RACE_SETS:
            label = races if ";" in races else f"{races} alone"
            assert by_label[label] == sum(count for cell, count in inside if cell["race"] == races)


def test_lines_are_those_of_the_published_file() -> None:
    """Numbers of lines and labels as in the technical documentation of the 2020 file."""
    assert {name: len(table.lines) for name, table in TABLES.items()} == {
        "P1": 71, "P2": 73, "P3": 71, "P4": 73, "P5": 10, "H1": 3,
    }  # fmt: skip
    labels = TABLES["P1"].labels
    assert labels["P0010003"] == "White alone"
    assert labels["P0010009"] == "Population of two or more races"
    assert labels["P0010010"] == "Population of two races"
    assert labels["P0010025"] == "Native Hawaiian and Other Pacific Islander; Some Other Race"
    assert labels["P0010047"] == "Population of four races"
    assert labels["P0010071"].count(";") == 5
    assert TABLES["P2"].labels["P0020004"] == "Population of one race"
    assert TABLES["P5"].labels["P0050007"] == "Noninstitutionalized population"
    assert TABLES["H1"].labels["H0010003"] == "Vacant"


def test_housing_units_are_occupied_or_vacant() -> None:
    counts, cells = made(dict(HOUSING_KEYS))
    (row,) = TABLES["H1"].of(counts, "all").to_pylist()
    occupied = sum(count for _, cell, count in cells if cell["occupied"])
    assert row == {
        "H0010001": sum(count for *_, count in cells),
        "H0010002": occupied,
        "H0010003": row["H0010001"] - occupied,
    }


def test_tables_need_their_columns() -> None:
    counts, _ = made({"race": RACE_SETS})
    assert TABLES["P1"].of(counts, "all").num_columns == 71
    with pytest.raises(InvalidParameterError, match="table P4 counts voting_age, hispanic"):
        TABLES["P4"].of(counts, "all")


def test_the_published_budget_is_recomputed() -> None:
    """rho = (542/339)^2 is 17.14 at delta 1e-10, the published figure; levels in 4,099ths."""
    assert PERSONS_2020.rho == Fraction(542, 339) ** 2
    assert PERSONS_2020.loss.epsilon("1e-10").upper == pytest.approx(17.14, abs=0.005)
    assert [share * 4099 for share in PERSONS_2020.levels.values()] == [104, 1440, 447, 687, 1256, 165]
    assert sum(PERSONS_2020.levels.values()) == 1


def test_the_plan_has_the_published_variances() -> None:
    """1 / sigma^2 = (share of the level) (share of the query) / global_scale^2, as the published code has it."""
    tree = Geography(LEVELS, [(state, "1", "1", "1", "1") for state in ("01", "02")])
    cells = CountedCells(tuple(PERSON_KEYS), tuple(PERSON_KEYS.values()))
    plan = plan_of(tree, cells, weights=PERSONS_2020.shares, relation=Replace, rho=PERSONS_2020.rho)
    scale = Fraction(339, 542)
    for level, query, share in (
        ("state", "total", Fraction(1440, 4099) * Fraction(3773, 4097)),
        ("block", "cells", Fraction(165, 4099) * Fraction(3945, 4097)),
        ("tract", "hispanic * race", Fraction(687, 4099) * Fraction(1933, 4102)),
    ):
        variance = plan.variance(tree.index_of(level), plan.tables.index(cells.table(query)))
        assert variance == pytest.approx(float(scale**2 / share), rel=1e-3)
    assert plan.noises[0][plan.tables.index(())] is None  # the nation's total is not measured
    assert plan.loss.epsilon("1e-10").upper <= 17.145
