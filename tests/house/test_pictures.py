"""Every picture is shown on a page, with words for those who do not see it, and is made by a script that is there."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
SHOWN = re.compile(r"!\[([^\]]*)\]\(\.\./assets/([^)]+)\)")


def shown() -> dict[str, str]:
    pages = (page.read_text(encoding="utf-8") for page in DOCS.glob("*/*.md"))
    return {name: words for page in pages for words, name in SHOWN.findall(page)}


def test_every_picture_is_shown_and_told_in_words() -> None:
    found = shown()
    assert set(found) == {picture.name for picture in (DOCS / "assets").glob("*.svg")}
    assert all(len(words.split()) > 10 for words in found.values())


def test_the_tables_of_accuracy_are_pictures_too() -> None:
    for table in ("accuracy", "coinpress", "hypothesis", "quantiles", "regression"):
        assert f"statistics-{table}.svg" in shown()


def test_pictures_are_small_and_have_a_ground_of_their_own() -> None:
    """White behind the lines: black text stays readable on a dark page."""
    for picture in (DOCS / "assets").glob("*.svg"):
        assert picture.stat().st_size < 200_000
        assert "fill: #ffffff" in picture.read_text(encoding="utf-8")
