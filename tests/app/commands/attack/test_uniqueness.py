"""How many people a few columns of one's own file single out."""

import json
from pathlib import Path

from tests.app.conftest import Call


def test_unique_people_are_counted_and_drawn(call: Call, place: Path) -> None:
    words = ("attack", "uniqueness", "survey.parquet", "--columns", "person", "--cells", "1000")
    result = call(*words, "--plot", "out.svg")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 of 601 right" in result.stdout
    assert "if all combinations were equally likely" in result.stdout
    assert b"<svg" in (place / "out.svg").read_bytes()
    assert json.loads(call(*words, "--json").stdout)["right"] == 1
    assert "Rumpelstiltskin" not in result.stdout


def test_a_missing_column_is_refused(call: Call, place: Path) -> None:
    result = call("attack", "uniqueness", "survey.parquet", "--columns", "person,name")
    assert result.exit_code == 2
    assert "names no column" in result.stderr
