"""One's own file beside a public roll."""

import json
from pathlib import Path

import pytest

from tests.app.conftest import Call


@pytest.fixture
def files(place: Path) -> Path:
    (place / "patients.csv").write_text("zip,birth,who\n02138,1950,Ann\n02139,1951,Bob\n02139,1951,Eve\n")
    (place / "roll.csv").write_text("name,zip,birth\nAnn,02138,1950\nBob,02139,1951\n")
    return place


def test_names_are_counted_and_checked(call: Call, files: Path) -> None:
    words = ("attack", "linkage", "patients.csv", "--roll", "roll.csv", "--columns", "zip,birth", "--name", "name")
    result = call(*words, "--truth", "who")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "1 of 3 right" in result.stdout
    assert "wrong names: 0" in result.stdout
    assert json.loads(call(*words, "--json").stdout)["facts"]["wrong names"] == "not checked"
    assert "Ann" not in result.stdout


def test_the_outcome_is_drawn(call: Call, files: Path) -> None:
    pytest.importorskip("matplotlib")
    words = ("--roll", "roll.csv", "--columns", "zip", "--name", "name", "--plot", "names.png")
    assert call("attack", "linkage", "patients.csv", *words).exit_code == 0
    assert (files / "names.png").stat().st_size > 1000


def test_a_missing_truth_is_refused(call: Call, files: Path) -> None:
    words = ("--roll", "roll.csv", "--columns", "zip", "--name", "name", "--truth", "nobody")
    result = call("attack", "linkage", "patients.csv", *words)
    assert result.exit_code == 2
    assert "--truth 'nobody' is not a column" in result.stderr
