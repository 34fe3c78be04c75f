"""The course has no gap: every item and erratum has its section, its test, and code that runs or a reason."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs" / "hooks"))
import course_index  # noqa: E402

PARTS: list[dict[str, Any]] = course_index.course()["parts"]
ITEMS = {f"item-{number}": entry for part in PARTS for number, entry in part["items"].items()}
ERRATA = {number.lower(): entry for part in PARTS for number, entry in part["errata"].items()}
SECTIONS = course_index.sections()


def test_the_list_holds_248_items_and_96_errata_once() -> None:
    assert sum(len(part["items"]) for part in PARTS) == len(ITEMS) == 248
    assert sum(len(part["errata"]) for part in PARTS) == len(ERRATA) == 96
    assert set(ITEMS) == {f"item-{number}" for number in range(1, 249)}
    assert set(ERRATA) == {f"e{number:02}" for number in range(1, 97)}


def test_every_mark_is_an_item_or_an_erratum() -> None:
    assert set(SECTIONS) <= set(ITEMS) | set(ERRATA)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: str(part["title"]))
def test_a_finished_part_has_no_gap(part: dict[str, Any]) -> None:
    marks = [f"item-{number}" for number in part["items"]] + [number.lower() for number in part["errata"]]
    missing = [mark for mark in marks if mark not in SECTIONS]
    assert not missing or not part["finished"]


def test_every_section_of_an_item_runs_or_says_why_not() -> None:
    silent = {mark for mark in ITEMS if mark in SECTIONS and not course_index.runs(SECTIONS[mark][1])}
    assert silent == {mark for mark, entry in ITEMS.items() if mark in SECTIONS and len(entry) > 2}


def test_every_test_that_is_named_exists() -> None:
    named = {
        tuple(entry[1].split("::")) for entry in (*ITEMS.values(), *ERRATA.values()) if len(entry) > 1 and entry[1]
    }
    assert len(named) > 150
    written = {file: (ROOT / file).read_text(encoding="utf-8") for file, _ in named}
    assert not [(file, test) for file, test in named if f"\ndef {test}(" not in written[file]]


def test_every_wrong_statement_is_said_to_be_of_the_notes() -> None:
    for path in sorted(course_index.COURSE.glob("*.md")):
        headings = course_index.HEADING.findall(path.read_text(encoding="utf-8"))
        assert not [title for _, title, mark in headings if mark in ERRATA and not title.startswith("The notes: ")]


def test_sections_are_told_apart() -> None:
    text = "# T\n## A {#item-1}\none\n### B {#e01}\n```python\n# x {#item-2}\n```\n## C {#item-3}\nthree\n# D\n"
    found = course_index.marked(text)
    assert set(found) == {"item-1", "e01", "item-3"}
    assert "x {#item-2}" in found["item-1"]
    assert found["item-3"] == "\nthree\n"
    assert course_index.runs(found["e01"])
    assert not course_index.runs(found["item-3"])
    with pytest.raises(ValueError, match="item-1 is marked twice"):
        course_index.marked("## A {#item-1}\n## B {#item-1}\n")


def test_no_heading_of_the_course_has_a_mark_that_is_not_read() -> None:
    for path in sorted(course_index.COURSE.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^#.*\{#(?!item-\d+\}$|e\d\d\}$)", text, re.MULTILINE), path.name
