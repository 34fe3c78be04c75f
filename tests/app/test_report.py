"""The page is whole, loads nothing, and escapes everything."""

import sys
from html.parser import HTMLParser

import pyarrow as pa
import pytest

import deniable as dn
from deniable.app.report import report_page
from deniable.app.story import Asked, DemoQuestion

HOSTILE = "<script>alert('x')</script>"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "img"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def answers() -> list[Asked]:
    frame = pa.table({"region": ["north", HOSTILE] * 50})
    keys = dn.Keys(["north", HOSTILE])
    db = dn.connect(frame, name="t", unit=dn.each_row(), budget=dn.Budget(epsilon=1), columns={"region": keys})
    release = db.sql("SELECT region, COUNT(*) AS n FROM t GROUP BY region", epsilon=1)
    return [Asked(DemoQuestion("one", "SELECT"), release), Asked(DemoQuestion("two", "SELECT"), release),
            Asked(DemoQuestion(HOSTILE, "SELECT", "n"), release)]  # fmt: skip


def test_the_page_loads_nothing_and_escapes_everything(answers: list[Asked]) -> None:
    page = report_page([29, 28], answers, HOSTILE, HOSTILE)
    seen = Tags()
    seen.feed(page)
    assert seen.open == []
    assert "script" not in {tag for tag, _ in seen.tags}
    sources = [attributes["src"] for tag, attributes in seen.tags if "src" in attributes]
    assert len(sources) == 1
    assert (sources[0] or "").startswith("data:image/svg+xml;base64,")
    assert not [tag for tag, attributes in seen.tags if "href" in attributes]
    assert "29 - 28 = <b>1</b>" in page


def test_without_matplotlib_the_page_has_tables_alone(answers: list[Asked], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    page = report_page([29, 28], answers, "", "")
    assert "<img" not in page
    assert page.count('<div class="wide"><table>') == 3
