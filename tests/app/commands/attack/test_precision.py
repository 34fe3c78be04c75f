"""Published numbers from a file, with noise in doubles, rounded, and ours."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.app.conftest import Call
from tests.attacks.implementation.ours import group_sums

DICE = np.random.default_rng(30)


def publish(place: Path, answers: np.ndarray) -> None:
    (place / "told.csv").write_text("answer\n" + "\n".join(map(str, answers.tolist())) + "\n", encoding="utf-8")


def test_noise_in_doubles_rules_true_values_out(call: Call, place: Path) -> None:
    publish(place, DICE.laplace(size=400))
    result = call("attack", "precision", "told.csv", "--center", "0", "--center", "1", "--json", "--plot", "told.png")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)["answer"]
    assert told["succeeded"]
    assert (told["facts"]["ruled out 0.0"], told["share"] > 0.25) == ("by 0.0%", True)
    assert (place / "told.png").exists()


def test_our_answers_and_rounded_ones_rule_nothing_out(call: Call, place: Path) -> None:
    for answers in (group_sums(1), DICE.laplace(size=400).round(4)):
        publish(place, answers)
        result = call("attack", "precision", "told.csv")
        assert (result.exit_code, result.stderr) == (0, "")
        assert "this attack learned nothing" in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--center", "1"), "at least 2 candidates"),
        (("--column", "n"), "no column"),
        (("--center", "nan", "--center", "2"), "NaN or infinity"),
    ],
)
def test_what_cannot_be_read_is_refused(call: Call, place: Path, words: tuple[str, ...], message: str) -> None:
    publish(place, DICE.laplace(size=4))
    result = call("attack", "precision", "told.csv", *words)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
