"""What was spent can be listed and checked without the data."""

import json
from pathlib import Path

from tests.app.conftest import Call, spent

ASK = ("query", "policy.toml", "SELECT COUNT(*) AS n FROM survey", "--epsilon", "0.2")


def test_nothing_was_asked_and_no_file_is_made(call: Call, place: Path) -> None:
    result = call("budget", "policy.toml")
    assert result.exit_code == 0
    assert result.stdout == "Nothing was asked yet.\nbudget epsilon=1; left epsilon=1\n"
    assert not (place / "policy.ledger").exists()


def test_entries_are_listed_without_the_data(call: Call, place: Path) -> None:
    call(*ASK)
    (place / "survey.parquet").unlink()
    shown = call("budget", "policy.toml").stdout
    for word in ("SELECT COUNT(*) AS n FROM survey", "epsilon=0.2", "yes", "left epsilon=0.8", "head "):
        assert word in shown
    assert "time (UTC)" in shown
    assert "asked by" not in shown
    (entry,) = spent(call)["entries"]
    assert (entry["cost"], entry["charge"]["epsilon"], entry["answered"]) == ("epsilon=0.2", "1/5", True)


def test_several_who_asked_are_named(call: Call) -> None:
    for analyst in ("ada", "owner"):
        call(*ASK, "--analyst", analyst)
    told = call("budget", "policy.toml").stdout
    assert "asked by" in told
    assert "ada" in told


def test_a_ledger_verifies_against_a_noted_head(call: Call) -> None:
    call(*ASK)
    head = spent(call)["head"]
    call(*ASK, "--fresh")
    assert "verified" in call("budget", "policy.toml", "--expected-head", head).stdout
    assert json.loads(call("budget", "policy.toml", "--verify", "--json").stdout)["verified"] is True
    result = call("budget", "policy.toml", "--expected-head", "0" * 64)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "replaced, rolled back or cut" in result.stderr


def test_a_lost_ledger_does_not_verify(call: Call, place: Path) -> None:
    call(*ASK)
    for path in place.glob("policy.ledger*"):
        path.unlink()
    for words in (("--verify",), ("--expected-head", "0" * 64)):
        result = call("budget", "policy.toml", *words)
        assert result.exit_code == 2
        assert "no ledger" in result.stderr


def test_a_question_cannot_steer_the_terminal_of_the_owner(call: Call) -> None:
    call("query", "policy.toml", "SELECT COUNT(*) AS n FROM survey WHERE region = '\x1b[31m'", "--epsilon", "0.1")
    assert r"\x1b[31m" in call("budget", "policy.toml").stdout
