"""Scores from a file to members found."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.app.conftest import Call

DICE = np.random.default_rng(21)


@pytest.fixture
def scores(place: Path) -> Path:
    member = np.repeat([True, False], 1000)
    rows = [f"{value},{str(inside).lower()}" for value, inside in zip(DICE.normal(3 * member), member, strict=True)]
    (place / "scores.csv").write_text("score,member\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return place


def test_members_are_found_at_a_low_rate(call: Call, scores: Path) -> None:
    result = call("attack", "membership", "scores.csv", "--json", "--plot", "curve.png")
    assert (result.exit_code, result.stderr) == (0, "")
    (told,) = json.loads(result.stdout).values()
    assert told["succeeded"]
    assert told["baseline"] == 0.01
    assert 0.4 < told["share"] < 0.85
    assert (scores / "curve.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("scores.csv", "--rate", "0.001"), "at least 3,688 strangers"),
        (("scores.csv", "--score", "shoe"), "no column 'shoe'. Columns: score, member."),
        (("scores.csv", "--member", "score"), "must be true for members"),
        (("survey.parquet", "--score", "region", "--member", "age"), "must be true for members"),
        (("survey.parquet", "--score", "age", "--member", "region"), "column 'region' must be numbers"),
        (("survey.parquet", "--score", "age", "--member", "person"), "column 'person' has missing values"),
        (("scores.csv", "--rate", "2"), "false_positive_rate must be in (0, 1)"),
    ],
)
def test_bad_scores_are_refused(call: Call, scores: Path, words: tuple[str, ...], message: str) -> None:
    result = call("attack", "membership", *words)
    assert result.exit_code == 2
    assert message in result.stderr
