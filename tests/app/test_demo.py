"""The story is true of the survey, its prices add up, and it says what it needs."""

import re
from pathlib import Path

import duckdb
import pytest

from deniable.app.demo import COLUMNS, exact_answers, run
from deniable.datasets import survey


def test_the_two_counts_differ_by_the_colleague_alone() -> None:
    table = survey()
    assert table.num_rows == 4000
    assert exact_answers(table) == [29, 28]  # dozens
    old = "FROM survey WHERE department = 'research' AND age >= 58"
    with duckdb.connect() as connection:
        connection.register("survey", table)
        assert connection.execute(f"SELECT age, years, leaving {old} AND years <= 1").fetchall() == [(61, 0, True)]
        assert connection.execute(f"SELECT COUNT(*) > 60, MIN(years) {old} AND years > 1").fetchall() == [(True, 3)]


def test_declared_bounds_hold_for_the_survey() -> None:
    table = survey()
    for name, declared in COLUMNS.items():
        values = set(table[name].to_pylist())
        if declared.keys is not None:
            assert values == set(declared.keys)
        else:
            assert declared.lower is not None
            assert declared.upper is not None
            assert declared.lower <= min(values) <= max(values) <= declared.upper


def test_the_story_shows_the_secret_the_noise_and_what_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path / "report.html", "1/5")
    told = capsys.readouterr().out
    assert "29 - 28 = 1" in told
    assert re.search(r"left epsilon=1.8", told)
    assert "budget epsilon=2; left epsilon=0.8" in told
    assert "Nothing was spent" in " ".join(told.split())
    assert (tmp_path / "report.html").exists()
