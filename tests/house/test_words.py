"""Plain English: docstrings begin with a subject, and nothing has the phrases that readers stumbled over."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable

SOURCE = Path(deniable.__file__).parent
# "Of all of it, nearly surely": of what? "So many ranks from the truth an end is aimed": how many?
BANNED = re.compile(r"^(of|so|by|in|with|as|those|from below)\b|\bso (many|much)\b", re.IGNORECASE)
# Phrases as they stood, beside what an editor prints: "this many", "is not valid TOML", "takes a few seconds".
PHRASES = re.compile(
    r"\b(at most|about|of|in|for|these|not) so many\b|\bis no [A-Z]|\bit ends in seconds\b|\bneeds? it not\b"
)
ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *sorted(ROOT.glob("*.md"))]
KINDS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
ROOMS = sorted(path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())


def first_lines(text: str) -> Iterator[tuple[int, str]]:
    """Line number and first line of every docstring in the source of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, KINDS) and (said := ast.get_docstring(node)):
            yield node.body[0].lineno, said.partition("\n")[0]


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_begin_with_what_they_are_about(room: str) -> None:
    files = [SOURCE / f"{room}.py"] if (SOURCE / f"{room}.py").exists() else sorted((SOURCE / room).rglob("*.py"))
    lines = [
        (file.relative_to(SOURCE), number, line)
        for file in files
        for number, line in first_lines(file.read_text(encoding="utf-8"))
    ]
    assert lines
    assert [f"{file}:{number}: {line}" for file, number, line in lines if BANNED.search(line)] == []


@pytest.mark.parametrize(
    "line",
    ["Of all of it.", "So many ranks from the truth.", "The sum, so many times.", "In parts.", "Those of the bins."],
)
def test_a_first_line_without_a_subject_is_noticed(line: str) -> None:
    assert [found for _, found in first_lines(f'def f():\n    """{line}"""') if BANNED.search(found)] == [line]
    assert not BANNED.search("Offset of the lattice, as an exponent.")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_has_a_phrase_that_readers_stumbled_over(page: Path) -> None:
    found = [line for line in page.read_text(encoding="utf-8").splitlines() if PHRASES.search(line)]
    assert found == []


def test_no_docstring_has_a_phrase_that_readers_stumbled_over() -> None:
    found = [
        f"{file.relative_to(SOURCE)}: {match.group()}"
        for file in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, KINDS) and (match := PHRASES.search(ast.get_docstring(node) or ""))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["at most so many rows", "the file is no TOML", "it ends in seconds", "Parquet needs it not"]
)
def test_a_phrase_is_noticed(text: str) -> None:
    assert PHRASES.search(text)
