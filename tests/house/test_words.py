"""Plain English: docstrings begin with a subject, and nothing has the phrases that readers stumbled over."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import deniable

SOURCE = Path(deniable.__file__).parent
# "Of all of it, nearly surely": of what? "So many ranks from the truth an end is aimed": how many?
BANNED = re.compile(r"^(of|so|by|in|with|as|those|what|the same|from below)\b|\bso (many|much)\b", re.IGNORECASE)
# Phrases as they stood, beside what an editor prints: "this many", "is not valid TOML", "takes a few seconds",
# "undeclared keys".
PHRASES = re.compile(
    r"\b(at most|about|of|in|for|these|not) so many\b|\bis no [A-Z]|\bit ends in seconds\b|\bneeds? it not\b"
    r"|\bnobody (has )?declared\b"
)
LONGEST_FIRST_LINE = 80
ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
KINDS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ROOMS = sorted(path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())


def docstrings(text: str) -> list[tuple[int, str]]:
    """Line number and text of every docstring in the source of a module."""
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, KINDS)]
    return [(node.body[0].lineno, said) for node in nodes if (said := ast.get_docstring(node))]


@cache
def docstrings_of(room: str) -> list[tuple[str, int, str]]:
    """File, line number and text of every docstring in a room."""
    files = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    return [
        (str(file.relative_to(SOURCE)), number, said)
        for file in files
        for number, said in docstrings(file.read_text(encoding="utf-8"))
    ]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_what_they_are_about(room: str) -> None:
    lines = [(file, number, said.partition("\n")[0]) for file, number, said in docstrings_of(room)]
    assert lines
    assert [f"{file}:{number}: {line}" for file, number, line in lines if BANNED.search(line)] == []


def long_first_lines(found: list[tuple[str, int, str]]) -> list[str]:
    lines = [(file, number, said.partition("\n")[0]) for file, number, said in found]
    return [f"{file}:{number}: {line}" for file, number, line in lines if len(line) > LONGEST_FIRST_LINE]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_one_short_line(room: str) -> None:
    """Private functions too: whoever opens a file reads these lines first."""
    assert long_first_lines(docstrings_of(room)) == []


def test_a_long_first_line_is_noticed() -> None:
    found = [("a.py", 1, "x" * 81), ("b.py", 2, "x" * 80 + "\n\n" + "y" * 100)]
    assert long_first_lines(found) == ["a.py:1: " + "x" * 81]


@pytest.mark.parametrize(
    "line",
    [
        "Of all of it.",
        "What is left.",
        "The same with noise.",
        "So many ranks from the truth.",
        "The sum, so many times.",
        "In parts.",
        "Those of the bins.",
    ],
)
def test_a_first_line_without_a_subject_is_noticed(line: str) -> None:
    assert [said for _, said in docstrings(f'def f():\n    """{line}"""') if BANNED.search(said)] == [line]
    assert not BANNED.search("Offset of the lattice, as an exponent.")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_phrase_that_readers_stumbled_over(page: Path) -> None:
    found = [line for line in page.read_text(encoding="utf-8").splitlines() if PHRASES.search(line)]
    assert found == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_docstring_has_a_phrase_that_readers_stumbled_over(room: str) -> None:
    assert [(file, number) for file, number, said in docstrings_of(room) if PHRASES.search(said)] == []


@pytest.mark.parametrize(
    "text",
    [
        "at most so many rows",
        "the file is no TOML",
        "it ends in seconds",
        "Parquet needs it not",
        "keys that nobody declared",
    ],
)
def test_a_phrase_is_noticed(text: str) -> None:
    assert PHRASES.search(text)
