"""Tables that people and notebooks read: what is aligned, what is escaped."""

from html.parser import HTMLParser

from deniable import layout

ROWS = [("a", "<b>"), ("long", "1")]


def cells(page: str) -> list[tuple[str, str]]:
    """Tag and text of every cell, as a browser reads them."""
    read: list[tuple[str, str]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, _: object) -> None:
            if tag in ("td", "th"):
                read.append((tag, ""))

        def handle_data(self, data: str) -> None:
            if read:
                read[-1] = (read[-1][0], read[-1][1] + data)

    Reader().feed(page)
    return read


def test_columns_are_as_wide_as_their_widest_cell_and_end_without_spaces() -> None:
    assert layout.aligned(ROWS) == ["a     <b>", "long  1"]
    assert layout.aligned(ROWS, right=[True, False]) == ["   a  <b>", "long  1"]
    assert layout.aligned(ROWS, ruled=True) == ["a     <b>", "----  ---", "long  1"]


def test_texts_are_escaped_in_every_part_of_a_table() -> None:
    page = layout.table(ROWS, heads=("<i>", "y"), subjects=True, kind="wide", caption="<u>")
    assert cells(page) == [("th", "<i>"), ("th", "y"), ("th", "a"), ("td", "<b>"), ("th", "long"), ("td", "1")]
    assert page.startswith('<table class="wide"><caption>&lt;u&gt;</caption><tr><th>&lt;i&gt;</th>')


def test_a_table_of_finished_cells_is_left_as_it_is() -> None:
    page = layout.assembled([[layout.cell("<svg/>", attributes=' class="bar"'), layout.cell("", tag="th")]])
    assert page == '<table><tr><td class="bar"><svg/></td><th></th></tr></table>'


def test_the_first_of_several_lines_is_bold() -> None:
    assert layout.headed("x<y\na\nb") == "<p><b>x&lt;y</b></p><p>a<br>b</p>"
