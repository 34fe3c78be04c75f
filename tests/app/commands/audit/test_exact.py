"""`deniable audit exact` of functions that return probabilities."""

import json
from pathlib import Path

import pytest

from deniable.app.commands.audit.exact import read_value
from tests.app.conftest import Call

LAWS = """
def response(rows):
    return {rows[0]: "3/4", ({"no", "yes"} - {rows[0]}).pop(): "1/4"}
def count(rows):
    return {len(rows): 1}
def drawn(rows):
    return 0.5
"""
BITS = ("--values", "no,yes", "--rows", "1", "--least", "1", "--relation", "replace")


@pytest.fixture
def laws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"{tmp_path.name}_laws.py").write_text(LAWS, encoding="utf-8")
    return f"{tmp_path.name}_laws"


def test_epsilon_of_a_law_is_exact_and_a_false_claim_has_its_own_exit_code(call: Call, laws: str) -> None:
    """ln 3 = 1.0986."""
    result = call("audit", "exact", f"{laws}:response", *BITS, "--epsilon", "1")
    assert result.exit_code == 4
    assert result.stdout.startswith("The claim of epsilon=1 is false: epsilon is at least 1.099, certainly.")
    assert "on every pair of neighbouring tables, 1 in all" in result.stdout
    assert call("audit", "exact", f"{laws}:response", *BITS, "--epsilon", "1.1").exit_code == 0
    assert call("audit", "exact", f"{laws}:response", *BITS, "--epsilon", "1/2", "--delta", "1/2").exit_code == 0


def test_pairs_of_a_file_stand_in_for_all_tables(call: Call, laws: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.json").write_text('[[["no"], ["yes"]]]', encoding="utf-8")
    result = call("audit", "exact", f"{laws}:response", "--neighbours", "pairs.json", "--json", "--plot", "curve.svg")
    found = json.loads(result.stdout)
    assert (round(found["epsilon"], 3), found["tried"]) == (1.099, ["every set of outputs, both ways, on 1 pair"])
    assert (tmp_path / "curve.svg").exists()


def test_the_number_of_rows_is_seen_under_add_remove_alone(call: Call, laws: str) -> None:
    assert "epsilon is infinite, certainly" in call("audit", "exact", f"{laws}:count", "--epsilon", "9").stdout
    assert call("audit", "exact", f"{laws}:count", "--epsilon", "0", "--relation", "replace").exit_code == 0


def test_what_has_no_law_is_refused_in_one_sentence(call: Call, laws: str) -> None:
    for words, message in (
        ((f"{laws}:drawn",), "must map outputs to probabilities, got float"),
        ((f"{laws}:response",), "fails on () (IndexError). If the failure is visible"),
        ((f"{laws}:count", "--rows", "0"), "at least one pair of neighbours"),
        ((f"{laws}:count", "--values", "1,1"), "values must hold at least one value, and none twice"),
    ):
        result = call("audit", "exact", *words)
        assert result.exit_code == 2
        assert message in result.stderr


def test_values_are_numbers_where_they_read_as_numbers() -> None:
    assert [read_value(text) for text in ("1", " 0.5", "yes", "1/0")] == [1, 0.5, "yes", "1/0"]
