"""A small table of text about a database: what is declared, what was asked. Public, and without an error bar."""

from collections.abc import Iterator
from dataclasses import dataclass

from deniable.privacy import Budget
from deniable.privacy.budget import Remaining
from deniable.privacy.charge import Charge
from deniable.release.display import as_markup, printable


@dataclass(frozen=True)
class Listing:
    """Rows of text under heads; shown as an aligned table, and as one in notebooks.

    Args:
        empty: what is shown where there is no row.
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    empty: str = "nothing"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, str]]:
        """The rows, each as a dictionary."""
        return (dict(zip(self.heads, row, strict=True)) for row in self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return self.empty
        heads, *rows = ([printable(cell) for cell in row] for row in (self.heads, *self.rows))
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [heads, ["-" * width for width in widths], *rows]
        padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in lines)
        return "\n".join(line.rstrip() for line in padded)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<div>{as_markup(self.empty)}</div>"
        heads = "".join(f"<th>{as_markup(head)}</th>" for head in self.heads)
        rows = "".join("<tr>" + "".join(f"<td>{as_markup(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f'<table class="deniable-listing"><tr>{heads}</tr>{rows}</table>'


def pairs_as_html(pairs: Iterator[tuple[str, str]]) -> str:
    """Subjects and what is said about them, as a table for notebooks."""
    cells = "".join(f"<tr><th>{as_markup(subject)}</th><td>{as_markup(said)}</td></tr>" for subject, said in pairs)
    return f'<table class="deniable-explanation">{cells}</table>'


@dataclass(frozen=True)
class BudgetStatus:
    """What a database may spend, has spent and has left."""

    total: Budget
    spent: Charge
    left: Remaining

    def __str__(self) -> str:
        return f"budget {self.total}; left {self.left}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return pairs_as_html(iter([("budget", str(self.total)), ("left", str(self.left))]))
