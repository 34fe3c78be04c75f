"""Streams from the command line."""

import json
from pathlib import Path

import pyarrow.csv
import pytest
from typer.testing import CliRunner, Result

from deniable.app.cli import app
from tests.app.conftest import Call, spent

ASK = ("stream", "policy.toml", "--state", "x.stream", "--time", "day", "--start", "2024-02-28", "--steps", "30",
       "--epsilon", "0.5", "--delta", "1e-9")  # fmt: skip


@pytest.fixture
def paired(place: Path) -> None:
    """The policy of the folder, with a budget that has a delta."""
    text = (place / "policy.toml").read_text(encoding="utf-8")
    (place / "policy.toml").write_text(text.replace("epsilon = 1.0", "epsilon = 1.0\ndelta = 1e-6"), encoding="utf-8")


@pytest.mark.usefixtures("paired")
def test_days_are_released_once_and_paid_once(call: Call, place: Path) -> None:
    result = call(*ASK, "--until", "2024-03-01", "--key", "region", "--output", "days.csv")
    assert result.exit_code == 0, result.stderr
    table = pyarrow.csv.read_csv(place / "days.csv")
    assert (table.num_rows, table.column_names[:3]) == (4, ["step", "key", "total"])
    assert table["total"].to_pylist()[2] > 50  # 150 persons' first rows are of the north
    again = call(*ASK, "--until", "2024-03-01", "--key", "region", "--json")
    assert json.loads(again.stdout)["rows"][2]["total"] == pytest.approx(table["total"].to_pylist()[2])
    assert [entry["cost"] for entry in spent(call)["entries"]] == ["epsilon=0.5, delta=1e-09"]


@pytest.mark.usefixtures("paired")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--until", "soon"), "--until takes a day"),
        (("--start", "soon"), "--start takes a day"),
        (("--key", "income"), "no declared keys"),
        (("--sum", "income"), "no bounds"),
        (("--time", "age"), "column of dates"),
        (("--window", "31"), "longer than all"),
        (("--output", "policy.toml"), "--output takes"),
        (("--output", "days.csv", "--state", "days.csv"), "would replace"),
    ],
)
def test_mistakes_cost_nothing(call: Call, place: Path, options: tuple[str, ...], text: str) -> None:
    if "days.csv" in options:
        (place / "days.csv").touch()
    result = call(*ASK, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert text in result.stderr
    assert spent(call)["entries"] == []


@pytest.mark.usefixtures("paired")
def test_explanations_are_free(call: Call, place: Path) -> None:
    result = call(*ASK, "--explain", "--steps-per-unit", "2")
    assert result.exit_code == 0
    assert "up to 1 rows in each of up to 2 steps" in result.stdout
    assert not (place / "x.stream").exists()
    early = call(*ASK, "--until", "2024-02-28")
    assert (early.exit_code, early.stdout) == (0, "")


@pytest.mark.usefixtures("paired")
def test_lines_of_standard_input_go_on_after_a_restart(call: Call) -> None:
    ask = [word for word in ASK if word not in ("--time", "day")] + ["--lines", "--key", "region"]

    def feed(text: str, *options: str) -> Result:
        return CliRunner().invoke(app, [*ask, *options], input=text)

    text = "person,region\n" + "".join(f"{person},north\n" for person in range(300))
    early = feed(text, "--until", "2024-02-28T12:00")
    assert (early.exit_code, early.stdout) == (0, ""), early.stderr
    result = feed("person,region\n900,south\n", "--until", "2024-02-29T12:00", "--json")
    assert result.exit_code == 0, result.stderr
    north, south = [row["total"] for row in json.loads(result.stdout)["rows"]]
    assert (north, south) == pytest.approx((300, 0), abs=150)
    assert [entry["cost"] for entry in spent(call)["entries"]] == ["epsilon=0.5, delta=1e-09"]
    for options, said in (("--time day", "give --time"), ("--sum income", "no bounds"), ("", "does not name")):
        wrong = feed("x\n1\n", *options.split(), "--state", "y.stream")
        assert (wrong.exit_code, wrong.stdout) == (2, "")
        assert said in wrong.stderr
    assert len(spent(call)["entries"]) == 1
