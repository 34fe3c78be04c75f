"""Tables as text in columns of equal width and as HTML, and lines as HTML."""

import html
from collections.abc import Iterable, Sequence

Rows = Iterable[Sequence[str]]


def aligned(rows: Rows, *, right: Sequence[bool] = (), ruled: bool = False) -> list[str]:
    """Return the lines of a table, in columns of equal width.

    Args:
        rows: of cells, heads first where there are any.
        right: for each column, whether its cells end below each other; by default all begin there.
        ruled: whether a rule stands below the first row.
    """
    first, *others = rows
    widths = [max(map(len, column)) for column in zip(first, *others, strict=True)]
    rules = [["-" * width for width in widths]] if ruled else []
    padded = [str.rjust if each else str.ljust for each in right or [False] * len(first)]
    return [
        "  ".join(pad(cell, width) for pad, cell, width in zip(padded, row, widths, strict=True)).rstrip()
        for row in (first, *rules, *others)
    ]


def table(rows: Rows, *, heads: Sequence[str] = (), subjects: bool = False, kind: str = "", caption: str = "") -> str:
    """Return a table as HTML; every text is escaped.

    Args:
        rows: of cells.
        heads: of the columns; by default none.
        subjects: whether the first cell of a row is its head.
        kind: class of the table.
        caption: text above it.
    """
    lines = [[cell(html.escape(head), tag="th") for head in heads]] if heads else []
    for row in rows:
        tags = ("th" if subjects and not index else "td" for index in range(len(row)))
        lines.append([cell(html.escape(text), tag=tag) for text, tag in zip(row, tags, strict=True)])
    above = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return assembled(lines, kind=kind, above=above)


def headed(text: str) -> str:
    """Return lines of text as HTML, the first of them in bold; all are escaped."""
    first, *others = (html.escape(line) for line in text.splitlines())
    return f"<p><b>{first}</b></p><p>{'<br>'.join(others)}</p>"


def cell(content: str, *, tag: str = "td", attributes: str = "") -> str:
    """Return a cell of a table, whose content is HTML."""
    return f"<{tag}{attributes}>{content}</{tag}>"


def assembled(rows: Rows, *, kind: str = "", above: str = "") -> str:
    """Return a table as HTML.

    Args:
        rows: of cells that are HTML: see `cell`.
        kind: class of the table.
        above: HTML of its caption.
    """
    style = f' class="{kind}"' if kind else ""
    lines = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    return f"<table{style}>{above}{lines}</table>"
