"""Lists of people that agree with published tables: all of them, beside brute force and a linear program."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import LinearConstraint, milp

from deniable.attacks import read_block, reconstruct_block, solve_block, tabulate_block
from deniable.attacks.census import Group
from deniable.attacks.census.tables import BlockTables
from deniable.errors import InvalidParameterError

BLOCK = Path(__file__).parents[4] / "shared" / "data" / "block.json"
AGES = (0, 6)
ATTRIBUTES = {"sex": ("f", "m"), "race": ("b", "w")}
GROUPS = [
    Group(where={"sex": "f"}),
    Group(where={"race": "b"}),
    Group(where={"sex": "m", "race": "w"}),
    Group(min_age=3),
    Group(where={"sex": "m"}, max_age=4),
]
KNOWN = [
    (8, "female", "black or African American", "single"),
    (18, "male", "white", "single"),
    (24, "female", "white", "single"),
    (30, "male", "white", "married"),
    (36, "female", "black or African American", "married"),
    (66, "female", "black or African American", "married"),
    (84, "male", "black or African American", "married"),
]
Person = dict[str, int | str]


def person(record: tuple[int | str, ...]) -> Person:
    return dict(zip(("age", *ATTRIBUTES), record, strict=True))


def everybody(size: int) -> Iterator[list[Person]]:
    records = itertools.product(range(AGES[0], AGES[1] + 1), *ATTRIBUTES.values())
    return (list(map(person, chosen)) for chosen in itertools.combinations_with_replacement(records, size))


def published(people: list[Person], minimum_count: int) -> BlockTables:
    return tabulate_block(people, GROUPS, attributes=ATTRIBUTES, ages=AGES, minimum_count=minimum_count)


@pytest.mark.parametrize("minimum_count", [0, 2])
def test_the_search_finds_what_brute_force_finds(minimum_count: int) -> None:
    """All blocks of three people that give the same tables, tabulated one by one: an independent route."""
    by_tables: dict[str, list[list[Person]]] = {}
    for people in everybody(3):
        by_tables.setdefault(repr(published(people, minimum_count)), []).append(people)
    dice = np.random.default_rng(0)
    sets = list(by_tables.values())
    many = sorted(range(len(sets)), key=lambda one: -len(sets[one]))[:10]
    for one in [*many, *dice.choice(len(sets), size=40, replace=False)]:
        solved = solve_block(published(sets[one][0], minimum_count))
        assert solved.complete
        found = sorted([tuple(map(tuple, people)) for people in solved.solutions])
        assert found == sorted([tuple(tuple(each.values()) for each in people) for people in sets[one]])


@pytest.mark.parametrize("size", [4, 5])
def test_larger_blocks_hold_the_truth_and_every_list_gives_the_same_tables(size: int) -> None:
    dice = np.random.default_rng(size)
    cells = list(itertools.product(range(AGES[0], AGES[1] + 1), *ATTRIBUTES.values()))
    for _ in range(12):
        truth = [cells[place] for place in sorted(dice.integers(len(cells), size=size))]
        tables = published(list(map(person, truth)), 2)
        solved = solve_block(tables, max_lists=100_000)
        assert solved.complete
        assert tuple(truth) in solved.solutions
        assert len(set(solved.solutions)) == len(solved.solutions)
        for people in solved.solutions[:20]:
            assert published(list(map(person, people)), 2) == tables


@pytest.mark.skipif(not BLOCK.exists(), reason="needs the shared data")
def test_the_seven_people_of_the_published_example_are_the_only_ones() -> None:
    tables = read_block(json.loads(BLOCK.read_text()))
    solved = solve_block(tables)
    assert solved.unique
    assert list(solved.solutions[0]) == KNOWN
    result = reconstruct_block(tables)
    assert result.success.right == 7
    assert result.facts is not None
    assert result.facts["unique"] == "proved"


@pytest.mark.skipif(not BLOCK.exists(), reason="needs the shared data")
def test_an_integer_program_agrees_that_no_second_list_exists() -> None:
    """HiGHS finds the known list, and that no list has a record outside it: a second proof of uniqueness.

    Counts of records are integers. Where the two in the middle of an even group have the ages v - t and v + t, the
    binary z_t says which t: its constraints on how many are below and up to these ages hold where z_t = 1.
    """
    tables = read_block(json.loads(BLOCK.read_text()))
    values = list(itertools.product(range(1, 126), *tables.attributes.values()))
    people = [dict(zip(("age", *tables.attributes), record, strict=True)) for record in values]
    ages = np.array([record[0] for record in values], dtype=float)
    rows: list[tuple[NDArray[np.float64], dict[int, float], float, float]] = []  # records, binaries, limits
    binaries = 0
    for line in tables.statistics:
        inside = np.array([line.group.holds(one) for one in people], dtype=float)
        count = line.count
        if count is None:
            rows.append((inside, {}, 0, 2))
            continue
        assert line.mean is not None
        assert line.median is not None
        rows.append((inside, {}, count, count))
        rows.append((inside * ages, {}, count * (line.mean - 0.05), count * (line.mean + 0.05)))
        half, median = count // 2, line.median
        if count % 2:
            rows.append((inside * (ages < median), {}, 0, half))
            rows.append((inside * (ages <= median), {}, half + 1, count))
            continue
        steps = range(int(median))
        rows.append((inside * 0, {binaries + t: 1.0 for t in steps}, 1, 1))
        for t in steps:
            for age, least, most in ((median - t, half, half - 1), (median + t, half + 1, half - (t == 0))):
                here = {binaries + t: 7.0}
                rows.append((inside * (ages < age), here, -10, most + 7))
                rows.append((inside * (ages <= age), {binaries + t: -7.0}, least - 7, 10))
        binaries += len(steps)
    matrix = np.zeros((len(rows), len(values) + binaries))
    for place, (records, others, _, _) in enumerate(rows):
        matrix[place, : len(values)] = records
        matrix[place, [len(values) + one for one in others]] = list(others.values())
    tabulated = LinearConstraint(matrix, [row[2] for row in rows], [row[3] for row in rows])
    outside = np.append([value not in KNOWN for value in values], np.zeros(binaries)).astype(float)
    barred = np.array([tables.impossible[0].holds(one) for one in people])
    limits = np.append(np.where(barred, 0, 7), np.ones(binaries))

    def solved(least_outside: int) -> bool:
        found = milp(
            np.zeros(len(outside)),
            constraints=[tabulated, LinearConstraint(outside[None], least_outside, 7 * (least_outside > 0))],
            integrality=np.ones(len(outside)),
            bounds=(0, limits),
        )
        return bool(found.success)

    assert solved(0)
    assert not solved(1)


def test_a_few_numbers_alone_prove_little() -> None:
    tables = tabulate_block(
        [{"age": 3, "sex": "f"}, {"age": 5, "sex": "m"}], [], attributes={"sex": ("f", "m")}, ages=(0, 9)
    )
    solved = solve_block(tables)
    assert not solved.unique
    assert solved.certain == ()
    result = reconstruct_block(tables)
    assert result.success.right == 0


def test_what_is_proved_is_checked_against_the_truth() -> None:
    truth: list[Person] = [{"age": age, "sex": "f"} for age in (2, 7)]
    tables = tabulate_block(
        truth, [Group(where={"sex": "f"}), Group(max_age=2)], attributes={"sex": ("f", "m")}, ages=(2, 9)
    )
    assert reconstruct_block(tables, truth=truth).success.right == 2
    other: list[Person] = [{"age": 2, "sex": "f"}, {"age": 7, "sex": "m"}]
    assert reconstruct_block(tables, truth=other).success.right == 1


@pytest.mark.parametrize("limit", [{"max_lists": 3}, {"effort": 1}])
def test_a_search_that_stops_early_proves_nothing(limit: dict[str, int]) -> None:
    tables = tabulate_block([{"age": 5}] * 4, [], attributes={}, ages=(0, 30))
    solved = solve_block(tables, **limit)
    assert not solved.complete
    assert len(solved.solutions) <= 3
    assert solved.certain == ()


def test_tables_that_contradict_each_other_are_refused() -> None:
    tables = tabulate_block([{"age": 5}, {"age": 7}], [Group(max_age=4)], attributes={}, ages=(0, 9))
    lines = [*tables.statistics, *tabulate_block([{"age": 9}], [], attributes={}, ages=(0, 9)).statistics[:1]]
    wrong = BlockTables(attributes={}, ages=(0, 9), statistics=lines)
    with pytest.raises(InvalidParameterError, match="at least one of their numbers is wrong"):
        reconstruct_block(wrong)
    with pytest.raises(InvalidParameterError, match="max_lists must be"):
        solve_block(tables, max_lists=0)
