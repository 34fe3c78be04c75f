"""Asking through the command line: forms of the answer, repeated questions, files."""

import csv
import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.app.conftest import POLICY, Call, spent

SQL = "SELECT region, COUNT(*) AS n FROM survey GROUP BY region"
ASK = ("query", "policy.toml", SQL, "--epsilon", "0.2")


def test_an_answer_has_errors_cost_and_what_is_left(call: Call) -> None:
    result = call(*ASK)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "±" in result.stdout
    assert "cost epsilon=0.2; left epsilon=0.8" in result.stdout


def test_the_same_question_is_free_and_gets_the_same_answer(call: Call) -> None:
    first, second = (json.loads(call(*ASK, "--json").stdout) for _ in range(2))
    assert first["rows"] == second["rows"]
    assert (first["cost"], second["cost"]) == ("epsilon=0.2", "epsilon=0.2")
    assert (first["charged"], second["charged"]) == ("epsilon=0.2", "epsilon=0")
    assert len(spent(call)["entries"]) == 1


def test_fresh_noise_is_paid(call: Call) -> None:
    call(*ASK)
    call(*ASK, "--fresh")
    assert spent(call)["left"] == {"epsilon": "3/5"}


def test_limits_of_one_question_are_those_of_the_policy_or_smaller(call: Call) -> None:
    for command in ("query", "explain"):
        result = call(command, *ASK[1:], "--rows", "1", "--groups", "9")
        assert (result.exit_code, result.stdout) == (2, "")
        assert "groups must be from 1 to the declared" in result.stderr
        assert call(command, *ASK[1:], "--rows", "1").exit_code == 0
        assert "not beside rows and groups" in call(command, *ASK[1:], "--total-rows", "1").stderr


def test_a_picture_is_drawn_of_what_was_paid_or_nothing_is(
    call: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong in ("a.doc", "policy.png/../policy.toml", "no/a.png"):
        refused = call(*ASK, "--plot", wrong)
        assert (refused.exit_code, "--plot" in refused.stderr) == (2, True)
    monkeypatch.setattr("deniable.app.pictures.find_spec", lambda _: None)
    assert "pip install '.[plot]'" in call(*ASK, "--plot", "a.png").stderr
    monkeypatch.undo()
    monkeypatch.chdir(place)
    assert spent(call)["entries"] == []
    result = call(*ASK, "--plot", "a.svg", "--output", "a.csv")
    assert (result.exit_code, result.output) == (0, "")
    assert "north" in (place / "a.svg").read_text() or (place / "a.svg").stat().st_size > 1000
    assert json.loads((place / "a.csv.json").read_text())["cost"] == "epsilon=0.2"


def test_csv_holds_the_rows_and_nothing_else(call: Call) -> None:
    rows = list(csv.DictReader(io.StringIO(call(*ASK, "--csv").stdout)))
    assert [row["region"] for row in rows] == ["north", "south"]
    assert all(float(row["n_lower"]) < float(row["n"]) < float(row["n_upper"]) for row in rows)


def test_a_file_is_written_and_nothing_is_printed(call: Call, place: Path) -> None:
    result = call(*ASK, "--output", "answer.parquet")
    assert (result.exit_code, result.output) == (0, "")
    assert pq.read_table(place / "answer.parquet")["region"].to_pylist() == ["north", "south"]
    assert sorted(path.name for path in place.iterdir() if path.name.startswith(("answer", ".deniable"))) == [
        "answer.parquet"
    ]


@pytest.mark.parametrize(
    "output",
    ["no/answer.csv", "answer.xlsx", "answer", "survey.parquet", "policy.toml", "policy.ledger", "."],
)
def test_a_bad_place_is_refused_before_anything_is_spent(call: Call, place: Path, output: str) -> None:
    before = (place / "survey.parquet").read_bytes()
    result = call(*ASK, "--output", output)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--output" in result.stderr
    assert spent(call)["entries"] == []
    assert (place / "survey.parquet").read_bytes() == before


def test_no_answer_and_no_picture_replaces_a_ledger_of_any_name(call: Call, place: Path) -> None:
    policy = place / "policy.toml"
    for name, words in (("kept.json", "--output"), ("kept.svg", "--plot")):
        policy.write_text(POLICY.replace("epsilon = 1.0", f'epsilon = 1.0\nledger = "{name}"'))
        assert call(*ASK).exit_code == 0
        refused = call(*ASK, "--fresh", words, name)
        assert (refused.exit_code, "the ledger" in refused.stderr) == (2, True)
        assert len(spent(call)["entries"]) == 1


def test_a_refused_question_leaves_the_old_file(call: Call, place: Path) -> None:
    (place / "answer.csv").write_text("old")
    assert call("query", "policy.toml", SQL, "--epsilon", "7", "--output", "answer.csv").exit_code == 3
    assert (place / "answer.csv").read_text() == "old"
    assert not list(place.glob(".deniable*"))


def test_two_forms_at_once_are_refused(call: Call) -> None:
    result = call(*ASK, "--json", "--csv")
    assert result.exit_code == 2
    assert "one of --json, --csv and --output" in result.stderr


def test_limits_of_the_engine_are_passed_on(call: Call) -> None:
    assert call(*ASK, "--memory", "1GB", "--threads", "1").exit_code == 0
    result = call(*ASK, "--memory", "much", "--fresh")
    assert result.exit_code == 2
    assert "memory" in result.stderr
    assert len(spent(call)["entries"]) == 1


def test_delta_and_rho_are_passed_on(call: Call, place: Path) -> None:
    policy = place / "policy.toml"
    policy.write_text(policy.read_text().replace("epsilon = 1.0", "rho = 0.5"))
    assert call("query", "policy.toml", SQL, "--rho", "0.25").exit_code == 0
    assert spent(call)["left"] == {"rho": "1/4"}
    assert call("query", "policy.toml", SQL, "--rho", "0.3").exit_code == 3


def test_data_that_moved_are_refused_until_the_command_line_says_so(call: Call, place: Path) -> None:
    first = call(*ASK, "--csv").stdout
    policy = place / "policy.toml"
    (place / "survey.parquet").rename(place / "moved.parquet")
    policy.write_text(policy.read_text().replace("survey.parquet", "moved.parquet"))
    for command in ("query", "explain"):
        refused = call(command, *ASK[1:])
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "--moved" in refused.stderr
    assert [call(*ASK, "--csv", *word).stdout for word in (("--moved",), ())] == [first, first]
