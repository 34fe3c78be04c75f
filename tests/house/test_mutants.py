"""The lists of planted bugs fit the code and the tests of today, and the tool that plants them tells found from not."""

import ast
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.plant import TREE, Copy, Mutant, rooms

LISTED = [(room, mutant) for room, mutants in rooms().items() for mutant in mutants]


def fault(room: str, mutant: Mutant) -> str | None:
    """What is wrong with an entry of a list: a bug that is not one, or tests that are not there."""
    if mutant.path.parts[2].removesuffix(".py") != room:
        return "another room"
    text = (TREE / mutant.path).read_text(encoding="utf-8")
    try:
        planted = mutant.planted(text)
    except ValueError as error:
        return str(error)
    body, before = ast.parse(planted).body, statements(text)
    if len(body) == len(before) and all(ast.dump(new) == old for new, old in zip(body, before, strict=True)):
        return "changes nothing"
    missing = [test for test in mutant.tests if not there(test)]
    return f"no {missing[0]}" if missing else None if mutant.tests else "no tests"


@cache
def statements(text: str) -> list[str]:
    return [ast.dump(each) for each in ast.parse(text).body]


def there(test: str) -> bool:
    file, *names = test.split("::")
    if not (path := TREE / "tests" / file).is_file():
        return False
    return {name.split("[")[0] for name in names} <= functions(path)


@cache
def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {each.name for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)}


def test_every_planted_bug_has_its_place_and_its_tests() -> None:
    faults = [(mutant.file, mutant.why, said) for room, mutant in LISTED if (said := fault(room, mutant))]
    assert faults == []
    assert len({(mutant.file, mutant.old, mutant.new) for _, mutant in LISTED}) == len(LISTED)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"old": "not there"}, "games/money.py has 0 times 'not there', not once"),
        ({"new": "def amounts( name:"}, "changes nothing"),
        ({"tests": ()}, "no tests"),
        ({"tests": ("games/test_none.py",)}, "no games/test_none.py"),
        ({"tests": ("games/test_money.py::test_none",)}, "no games/test_money.py::test_none"),
        ({"file": "limits/packing.py"}, "another room"),
    ],
    ids=["sound", "old text", "same code", "nothing to run", "file", "test", "room"],
)
def test_an_entry_that_rots_is_seen(changed: dict[str, Any], said: str | None) -> None:
    entry = {
        "file": "games/money.py",
        "old": "def amounts(name:",
        "new": "def amounts(nam:",
        "tests": ("games/test_money.py",),
    }
    assert fault("games", Mutant(**{**entry, "why": "", **changed})) == said


def test_a_bug_that_no_test_finds_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of two files: one test sees one of two bugs, and another that no code can start is broken."""
    (tmp_path / "src/deniable").mkdir(parents=True)
    (tmp_path / "tests").mkdir()
    (tmp_path / "src/deniable/__init__.py").write_text("def double(x):\n    return 2 * x\n\nUNSEEN = 1\n")
    (tmp_path / "tests/test_it.py").write_text(
        "import deniable\n\ndef test_double():\n    assert deniable.double(1) == 2\n"
    )
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take longer to start than the test
    copy = Copy(tmp_path)
    told = [copy.finds(Mutant(file="__init__.py", old=old, new=new, tests=("test_it.py",), why="")) for old, new in (
        ("2 * x", "3 * x"), ("UNSEEN = 1", "UNSEEN = 2"), ("def double", "def triple = double"),
    )]  # fmt: skip
    assert told == ["found", "lives", "is broken"]
