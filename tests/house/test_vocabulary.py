"""The words of the glossary: first lines, arguments and examples of public names, one home a class, names."""

import ast
import importlib
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import deniable
from tests.house.test_reference import API, public_modules

SOURCE = Path(deniable.__file__).parent
GLOSSARY = (Path(__file__).parents[2] / "docs" / "glossary.md").read_text(encoding="utf-8")
AVOIDED = {
    word
    for line in GLOSSARY.partition("## Names in the code")[2].splitlines()
    for word in re.findall(r"`(\w+)`", line.split("|")[1] if line.startswith("|") else "")
}
MODULES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
ROOMS = sorted({path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in MODULES})
HELP = re.compile(r"^(?:Args|Attributes):$", re.MULTILINE)


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def exported() -> Iterator[tuple[str, str, Callable[..., Any]]]:
    """Room, full name and value of every public function and class of ours, once; exceptions and enums aside."""
    seen: set[int] = set()
    for module in public_modules():
        for name in API.public_names(module):
            value = getattr(module, name)
            home = getattr(value, "__module__", "")
            if not callable(value) or id(value) in seen or not home.startswith("deniable."):
                continue
            seen.add(id(value))
            yield home.split(".")[1], f"{module.__name__}.{name}", value


def names_in(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and name, without leading underscores, of everything that a module names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            name = node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.FunctionDef):
            name = node.name
        else:
            continue
        yield node.lineno, name.strip("_")


def arguments_of(value: Callable[..., Any]) -> list[str]:
    """Names of the parameters that a caller may give."""
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []


def is_raised_or_listed(value: Any) -> bool:
    """Whether a class is an exception, an enumeration or a protocol, whose docstring says all."""
    return inspect.isclass(value) and (issubclass(value, BaseException) or hasattr(value, "__members__"))


PUBLIC = list(exported())


@pytest.mark.parametrize("room", ROOMS)
def test_no_name_is_one_that_the_glossary_avoids(room: str) -> None:
    files = {path: tree for path, tree in MODULES.items() if room_of(path) == room}
    uses = [(path, line, name) for path, tree in files.items() for line, name in names_in(tree)]
    assert [f"{path}:{line} {name}" for path, line, name in uses if name in AVOIDED] == []


def test_no_file_is_named_by_a_word_that_the_glossary_avoids() -> None:
    assert [str(path.relative_to(SOURCE)) for path in MODULES if path.stem.strip("_") in AVOIDED] == []


def test_a_name_that_the_glossary_avoids_is_noticed() -> None:
    tree = ast.parse("def f(place, *, row):\n    found = self.told = _MOST = 1")
    assert {name for _, name in names_in(tree) if name in AVOIDED} == {"place", "found", "told", "MOST"}


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_say_what_they_are_in_one_short_line(room: str) -> None:
    lines = {path: inspect.getdoc(value) or "" for home, path, value in PUBLIC if home == room}
    assert [path for path, text in lines.items() if not 0 < len(text.partition("\n")[0]) <= 80] == []


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_explain_their_arguments(room: str) -> None:
    values = [(path, value) for home, path, value in PUBLIC if home == room and not is_raised_or_listed(value)]
    assert [
        path for path, value in values if arguments_of(value) and not HELP.search(inspect.getdoc(value) or "")
    ] == []


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_show_an_example(room: str) -> None:
    values = [(path, value) for home, path, value in PUBLIC if home == room and not is_raised_or_listed(value)]
    assert [path for path, value in values if ">>>" not in (inspect.getdoc(value) or "")] == []


def test_a_public_class_has_one_home() -> None:
    """Two public classes of one name are two things with one word."""
    homes = defaultdict(set)
    for path, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(str(path.relative_to(SOURCE)))
    assert {name: sorted(files) for name, files in homes.items() if len(files) > 1} == {}


def test_star_import_shadows_no_builtin() -> None:
    assert importlib.import_module("builtins").__dict__.keys() & set(deniable.__all__) == set()
