"""`deniable audit canaries` of a file with scores and coins."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.app.conftest import Call


@pytest.fixture
def scores(tmp_path: Path) -> str:
    dice = np.random.default_rng(1)
    coins = dice.random(400) < 0.5
    seen = coins + dice.normal(scale=0.5, size=400)
    rows = "".join(f"{score},{coin}\n" for score, coin in zip(seen, coins, strict=True))
    (tmp_path / "scores.csv").write_text("score,included\n" + rows, encoding="utf-8")
    return str(tmp_path / "scores.csv")


def test_scores_that_tell_canaries_apart_refute_a_small_epsilon(call: Call, scores: str) -> None:
    result = call("audit", "canaries", scores, "--epsilon", "1")
    assert result.exit_code == 4
    assert result.stdout.startswith("The claim of epsilon=1 is false: epsilon is at least 2.")
    found = call("audit", "canaries", scores, "--delta", "1e-5", "--method", "count", "--json")
    assert found.exit_code == 0
    assert 1 < json.loads(found.stdout)["epsilon"] < 4
    assert call("audit", "canaries", scores, "--epsilon", "8").exit_code == 5


def test_what_is_missing_in_the_file_is_said_in_one_sentence(call: Call, scores: str) -> None:
    for words, message in (
        (("--score", "loss"), "no column 'loss'. Columns: score, included."),
        (("--included", "score"), "included must hold True or False"),
        (("--method", "luck"), "method must be one of bets"),
        (("--confidence", "2"), "confidence must be in (0, 1)"),
    ):
        result = call("audit", "canaries", scores, *words)
        assert result.exit_code == 2
        assert message in result.stderr
    assert "there is no file" in call("audit", "canaries", "none.csv").stderr
