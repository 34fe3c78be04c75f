"""What the tables of a block may say."""

import json
from pathlib import Path
from typing import Any

import pytest

from deniable.attacks import read_block, tabulate_block
from deniable.attacks.census import BlockStatistic, BlockTables, Group
from deniable.errors import InvalidParameterError

BLOCK = Path(__file__).parents[4] / "shared" / "data" / "block.json"
SEX = {"sex": ("female", "male")}
EVERYBODY = BlockStatistic(group=Group(), count=3)


def data(**other: Any) -> dict[str, Any]:
    given = {"attributes": {"age": [1, 9], "sex": ["f", "m"]}, "statistics": [{"group": {}, "count": 2}]}
    return given | other


@pytest.mark.skipif(not BLOCK.exists(), reason="needs the shared data")
def test_the_published_example_is_read_as_it_stands() -> None:
    tables = read_block(json.loads(BLOCK.read_text()))
    assert tables.people == 7
    assert tables.ages == (1, 125)
    assert len(tables.statistics) == 14
    assert tables.minimum_count == 3
    assert tables.impossible == [Group(where={"marital_status": "married"}, max_age=14)]
    assert tables.statistics[6] == BlockStatistic(
        group=Group(where={"marital_status": "married"}, min_age=18), count=4, median=51, mean=54
    )


def test_groups_can_be_described_in_place() -> None:
    tables = read_block(data(statistics=[{"group": {}, "count": 2}, {"group": {"least": 5}, "count": None}]))
    assert tables.statistics[1] == BlockStatistic(group=Group(min_age=5))
    assert tables.impossible == []


def test_tables_of_known_people_are_exact_and_withheld_below_the_minimum() -> None:
    people: list[dict[str, int | str]] = [{"age": age, "sex": "male"} for age in (1, 2, 4, 8)]
    tables = tabulate_block(people, [Group(min_age=4), Group(max_age=0)], attributes=SEX, ages=(0, 9), minimum_count=2)
    lines = [(one.count, one.median, one.mean) for one in tables.statistics]
    assert lines == [(4, 3.0, 3.8), (2, 6.0, 6.0), (None, None, None)]
    assert tabulate_block(people, [Group(max_age=0)], attributes=SEX, ages=(0, 9)).statistics[1].count == 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"statistics": []},
        {"statistics": [EVERYBODY, BlockStatistic(group=Group(where={"sex": "x"}), count=1)]},
        {"statistics": [EVERYBODY, BlockStatistic(group=Group(where={"race": "x"}), count=1)]},
        {"statistics": [EVERYBODY, BlockStatistic(group=Group(), median=3)]},
        {"statistics": [BlockStatistic(group=Group(), count=-1)]},
        {"statistics": [EVERYBODY, BlockStatistic(group=Group(), count=1, median=3.3)]},
        {"ages": (5, 4)},
        {"mean_unit": 0},
    ],
)
def test_tables_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    given = {"attributes": SEX, "ages": (0, 9), "statistics": [EVERYBODY]} | wrong
    with pytest.raises(InvalidParameterError):
        BlockTables(**given)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        data(attributes={"sex": ["f"]}),
        data(attributes={"age": "integer"}),
        data(statistics=[{"count": 3}]),
        data(statistics=[{"group": "left-handed", "count": 3}]),
        data(statistics=[{"group": {"shape": 3}, "count": 3}]),
        data(statistics=[{"group": {}, "count": "many"}]),
    ],
)
def test_data_of_another_form_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameterError):
        read_block(wrong)


def test_infants_are_not_everybody() -> None:
    lines = [BlockStatistic(group=Group(max_age=0), count=1), BlockStatistic(group=Group(), count=3)]
    assert BlockTables(attributes={}, ages=(0, 99), statistics=lines).people == 3
