"""The rules for tests: each can fail, and none asks how long something took."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCKS = {"perf_counter", "process_time", "monotonic", "thread_time", "timeit", "time_ns"}


@pytest.fixture(scope="module")
def files() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(TESTS.rglob("*.py"))}


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def called(function: ast.AST) -> set[str]:
    """The last names of all that is called: `f` of f(), m.f() and self.f()."""
    calls = (node.func for node in ast.walk(function) if isinstance(node, ast.Call))
    return {call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "") for call in calls}


def judges(function: ast.AST) -> bool:
    return bool(called(function) & {"raises", "warns", "fail"}) or any(
        isinstance(node, ast.Assert) for node in ast.walk(function)
    )


def toothless(trees: list[ast.Module]) -> set[str]:
    """Tests that assert nothing, neither themselves nor by a function of the tests that they call."""
    everything = [function for tree in trees for function in functions(tree)]
    judging = {function.name for function in everything if judges(function)}
    others = [(one.name, called(one)) for one in everything if one.name not in judging]
    while more := {name for name, calls in others if name not in judging and calls & judging}:
        judging |= more
    return {one.name for one in everything if one.name.startswith("test_")} - judging


def clocked(tree: ast.AST) -> list[str]:
    """Tests that read a clock."""
    return [one.name for one in functions(tree) if one.name.startswith("test_") and called(one) & CLOCKS]


def test_every_test_can_fail(files: dict[Path, ast.Module]) -> None:
    assert toothless(list(files.values())) == set()


def test_a_test_that_asserts_nothing_is_found() -> None:
    tree = ast.parse("def look(x):\n  assert x\ndef test_a():\n  look(1)\ndef test_b():\n  print(1)\n")
    assert toothless([tree]) == {"test_b"}


def test_no_test_asks_for_the_time(files: dict[Path, ast.Module]) -> None:
    found = {str(path.relative_to(TESTS)): clocked(tree) for path, tree in files.items()}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_test_that_reads_a_clock_is_found() -> None:
    assert clocked(ast.parse("import time\ndef test_a():\n  assert time.perf_counter() < 3\n")) == ["test_a"]
