"""`deniable audit` of a stranger's function: verdicts, files, refusals."""

import json
from pathlib import Path

import pytest

from deniable.app.commands.audit.function import read_pairs
from deniable.errors import SourceError
from tests.app.conftest import Call

MECHANISMS = """
import numpy as np
rng = np.random.default_rng(1)
def noisy_sum(rows):
    return sum(rows) + rng.laplace(scale=1)
def noisy_sums(rows, runs):
    return sum(rows) + rng.laplace(scale=1, size=runs)
def exact_sum(rows):
    return sum(rows)
class Inside:
    scale = 3
"""
QUICK = ("--runs", "2000", "--ignore-low-bits")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Path:
    """A module of another name for every test, as modules are imported once."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / f"module_{abs(hash(request.node.name))}.py").write_text(MECHANISMS, encoding="utf-8")
    return tmp_path


def module(folder: Path) -> str:
    return next(folder.glob("module_*.py")).stem


def test_a_function_that_keeps_its_claim_passes(call: Call, folder: Path) -> None:
    result = call("audit", f"{module(folder)}:noisy_sum", "--epsilon", "1", *QUICK)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("No violation found of epsilon=1: epsilon is at least 0.")
    assert "8 pairs of inputs, of which this was measured:" in result.stdout


def test_a_claim_that_is_false_has_its_own_exit_code(call: Call, folder: Path) -> None:
    result = call("audit", f"{module(folder)}:noisy_sum", "--epsilon", "1/2", *QUICK)
    assert result.exit_code == 4
    assert result.stdout.startswith("The claim of epsilon=0.5 is false: epsilon is at least")
    assert call("audit", f"{module(folder)}:exact_sum", "--epsilon", "1", *QUICK).exit_code == 4


def test_the_low_bits_of_floats_are_looked_at_unless_ignored(call: Call, folder: Path) -> None:
    (folder / "pairs.json").write_text('{"third": [[1], [0.3333333333333333]]}', encoding="utf-8")
    words = ("audit", f"{module(folder)}:noisy_sums", "--epsilon", "1", "--batched", "--neighbours", "pairs.json")
    result = call(*words)
    assert result.exit_code == 4
    assert "power of two" in result.stdout
    assert call(*words, "--ignore-low-bits").exit_code == 0


def test_json_and_a_picture(call: Call, folder: Path) -> None:
    words = ("--neighbours", "answers", "--delta", "0.1", "--json", "--plot", "found.svg", "--length", "2")
    result = call("audit", f"{module(folder)}:noisy_sums", "--batched", *QUICK, *words)
    found = json.loads(result.stdout)
    assert found["claim"] is None
    assert found["delta"] == 0.1
    assert 1 < found["epsilon"] < 2
    assert "all below" in found["tried"][0] or "all above" in found["tried"][0]
    assert (folder / "found.svg").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("noisy_sum",), "name what to audit as MODULE:FUNCTION"),
        (("no_such_module:f",), "cannot be imported (ModuleNotFoundError"),
        (("math:tau",), "math:tau cannot be called"),
        (("math:fsum", "--neighbours", "none.json"), "cannot be read as JSON"),
        (("math:fsum", "--neighbours", "wrong.json"), "must hold [[data, neighbour], ...]"),
        (("math:fsum", "--plot", "found.doc"), "--plot takes a name that ends in"),
        (("math:fsum", "--epsilon", "-1"), "epsilon"),
        (("math:fsum", "--confidence", "1"), "confidence must be in"),
    ],
)
def test_what_cannot_be_audited_is_refused_in_one_sentence(
    call: Call, folder: Path, words: tuple[str, ...], message: str
) -> None:
    (folder / "wrong.json").write_text("[1, 2]", encoding="utf-8")
    result = call("audit", *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_pairs_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(SourceError, match="cannot be read as JSON"):
        read_pairs(tmp_path / "deep.json")
