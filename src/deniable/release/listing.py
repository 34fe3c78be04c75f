"""Small table of public text about a database: columns, history."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar, overload

from deniable import layout
from deniable.privacy import Budget
from deniable.privacy.budget.rule import Remaining
from deniable.privacy.charge import Charge
from deniable.release.display import as_markup, printable

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
        return "\n".join(layout.aligned(self._printed(), ruled=True))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self.rows:
            return f"<div>{as_markup(self.empty)}</div>"
        heads, *rows = self._printed()
        return layout.table(rows, heads=heads, kind="deniable-listing")

    def _printed(self) -> list[list[str]]:
        """Return the rows as they are shown, heads first."""
        return [[printable(cell) for cell in row] for row in self._cells]


def pairs_as_html(pairs: Iterator[tuple[str, str]]) -> str:
    """Return subjects and what is said about them, as a table for notebooks."""
    rows = [[printable(subject), printable(said)] for subject, said in pairs]
    return layout.table(rows, subjects=True, kind="deniable-explanation")


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
