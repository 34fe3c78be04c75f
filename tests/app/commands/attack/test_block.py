"""The people of a block, from a JSON file of its tables."""

import json
from pathlib import Path

import pytest

from tests.app.conftest import Call

TABLES = {
    "attributes": {"age": [0, 99], "sex": ["female", "male"]},
    "statistics": [
        {"group": {}, "count": 3, "median_age": 30, "mean_age": 40},
        {"group": {"where": {"sex": "female"}}, "count": 3, "mean_age": 40},
        {"group": {"least": 81}, "count": 1},
        {"group": {"most": 8}, "count": 1, "mean_age": 8},
    ],
}


def test_proved_people_are_listed(call: Call, place: Path) -> None:
    (place / "block.json").write_text(json.dumps(TABLES), encoding="utf-8")
    result = call("attack", "block", "block.json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "unique: proved" in result.stdout
    assert [line.split() for line in result.stdout.splitlines()[-3:]] == [
        ["8", "female"], ["30", "female"], ["82", "female"]
    ]  # fmt: skip
    data = json.loads(call("attack", "block", "block.json", "--json").stdout)
    assert (data["right"], data["attempts"]) == (3, 3)


def test_a_picture_of_another_kind_is_refused(call: Call, place: Path) -> None:
    assert "--plot takes a name" in call("attack", "block", "block.json", "--plot", "block.txt").stderr


@pytest.mark.parametrize("text", ["", "[]", '{"attributes": 3}'])
def test_what_is_no_block_is_refused(call: Call, place: Path, text: str) -> None:
    (place / "block.json").write_text(text, encoding="utf-8")
    assert call("attack", "block", "block.json").exit_code == 2
