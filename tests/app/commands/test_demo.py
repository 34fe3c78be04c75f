"""The command tells the story and writes its report."""

from pathlib import Path

from tests.app.conftest import Call


def test_the_demo_runs_and_writes_its_report(call: Call, place: Path) -> None:
    result = call("demo", "--output", "report.html")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "report.html" in result.stdout
    assert (place / "report.html").stat().st_size > 10_000


def test_a_place_that_cannot_be_written_is_refused_before_the_story(call: Call) -> None:
    result = call("demo", "--output", "no/report.html")
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_price_that_is_none_is_refused_before_the_story(call: Call) -> None:
    result = call("demo", "--epsilon", "free")
    assert (result.exit_code, result.stdout) == (2, "")


def test_the_command_gives_a_table_to_begin_with(call: Call, place: Path) -> None:
    assert call("demo", "--data", "mine.csv").exit_code == 0
    assert (place / "mine.csv").read_text().startswith("visit,patient,ward,age,cost,day\n0,p")
    assert call("demo", "--data", "mine.xlsx").exit_code == 2
