"""The story is true of the survey, its prices add up, and it says what it needs."""

import re
import sys
from pathlib import Path

import pytest

from deniable.app.demo import COLUMNS, PAIR, exact_answers, run, survey
from deniable.errors import MissingExtraError


def test_the_two_counts_differ_by_the_colleague_alone() -> None:
    frame = survey()
    assert len(frame) == 6366
    assert exact_answers(frame) == [29, 28]
    group = frame[(frame.age == 42) & (frame.educ == 20)]
    (colleague,) = group[group.yrs_married <= 3].itertuples()
    assert 2 <= colleague.yrs_married <= 3
    assert colleague.affairs > 0
    assert len(group) > 60  # dozens


def test_declared_bounds_hold_for_the_survey() -> None:
    frame = survey()
    for name, declared in COLUMNS.items():
        assert declared.lower is not None
        assert declared.upper is not None
        assert frame[name].between(float(declared.lower), float(declared.upper)).all()


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


def test_without_the_survey_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    with pytest.raises(MissingExtraError, match=r"deniable\[demo\]"):
        survey()


def test_the_pair_differs_by_one_condition() -> None:
    assert PAIR[1].startswith(PAIR[0])
