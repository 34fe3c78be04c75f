"""Small table of public text about a database: columns, history."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, overload

from deniable.privacy import Budget
from deniable.privacy.budget.rule import Remaining
from deniable.privacy.charge import Charge
from deniable.release.display import aligned, as_markup, printable

Row = tuple[str, ...]
Item = TypeVar("Item")


@dataclass(frozen=True, eq=False)
class LazyRows(Sequence[Row], Generic[Item]):
    """Rows of text that are made of items when they are read, each time."""

    items: Sequence[Item]
    make: Callable[[Item], Row]

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> "LazyRows[Item]": ...
    def __getitem__(self, index: int | slice) -> "Row | LazyRows[Item]":
        return replace(self, items=self.items[index]) if isinstance(index, slice) else self.make(self.items[index])


@dataclass(frozen=True, eq=False)
class Listing(Sequence[dict[str, str]]):
    """Rows of text under heads, printed as an aligned table.

    Each row is a dictionary; notebooks show a table.

    Equal to another with the same heads and rows. A slice is a listing too.

    Args:
        empty: what is shown where there is no row.
    """

    heads: tuple[str, ...]
    rows: Sequence[Row]
    empty: str = "nothing"

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, str]: ...
    @overload
    def __getitem__(self, index: slice) -> "Listing": ...
    def __getitem__(self, index: int | slice) -> "dict[str, str] | Listing":
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        return dict(zip(self.heads, self.rows[index], strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listing) and self._cells == other._cells

    def __hash__(self) -> int:
        return hash(self._cells)

    @property
    def _cells(self) -> tuple[Row, ...]:
        return (self.heads, *self.rows)

    def __iter__(self) -> Iterator[dict[str, str]]:
        """Return the rows, each as a dictionary."""
        return (dict(zip(self.heads, row, strict=True)) for row in self.rows)

    def __str__(self) -> str:
        if not self.rows:
            return self.empty
        heads, *rows = ([printable(cell) for cell in row] for row in (self.heads, *self.rows))
        return "\n".join(aligned(heads, rows))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<div>{as_markup(self.empty)}</div>"
        heads = "".join(f"<th>{as_markup(head)}</th>" for head in self.heads)
        rows = "".join("<tr>" + "".join(f"<td>{as_markup(cell)}</td>" for cell in row) + "</tr>" for row in self.rows)
        return f'<table class="deniable-listing"><tr>{heads}</tr>{rows}</table>'


def pairs_as_html(pairs: Iterator[tuple[str, str]]) -> str:
    """Return subjects and what is said about them, as a table for notebooks."""
    cells = "".join(f"<tr><th>{as_markup(subject)}</th><td>{as_markup(said)}</td></tr>" for subject, said in pairs)
    return f'<table class="deniable-explanation">{cells}</table>'


@dataclass(frozen=True)
class BudgetStatus:
    """Budget of a database: its total, what was spent and what is left."""

    total: Budget
    spent: Charge
    left: Remaining

    def __str__(self) -> str:
        return f"budget {self.total}; left {self.left}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return pairs_as_html(iter([("budget", str(self.total)), ("left", str(self.left))]))
