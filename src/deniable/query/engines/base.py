"""Engines: the schema of a source, and exact integers for a priced plan."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.query.aggregates.aggregate import Counted, Tally, integers
from deniable.query.expression import Expression, Kind
from deniable.query.plan import PricedPlan
from deniable.query.table_expression import TableExpression

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from deniable.query.engines.duckdb.sql import Generator

Progress = Callable[[float], object]  # takes the share that is done, above 0 and at most 1
CHANGED = (
    "a table cannot be read as when it was opened: it is gone or out of reach, or its columns, their types or its "
    "session's settings are others. Connect again."
)
# The type in which `columns` hands out each kind, whatever the rows hold: names of Arrow.
ARROW: Mapping[Kind, str] = {
    Kind.BOOLEAN: "bool",
    Kind.INTEGER: "int64",
    Kind.REAL: "float64",
    Kind.TEXT: "string",
    Kind.DATE: "date32",
    Kind.TIMESTAMP: "timestamp[us]",
}


def arrow_schema(kinds: Mapping[str, Kind]) -> "pa.Schema":
    """Columns for values of these kinds, as `ARROW` has them."""
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(ARROW[kind])) for name, kind in kinds.items()])


class Engine(ABC):
    """Holds one private source.

    `schema` and `check` read no row. `exact` and `columns` are the doors to the rows, and open after the payment alone;
    what comes out is SECRET until noise is added.
    """

    table: str | None = None  # inside the source, where that holds several
    paths: Mapping[str, str] = {}  # of the tables that are files
    locations: Mapping[
        str, tuple[str | None, str | None]
    ] = {}  # of several tables: their file or server, and name there
    system: str | None = None  # of the server that has all of them, where it says which it is
    source_name: str | None = None  # the path of what is read (of the CSV file where an import is); None for a frame

    @abstractmethod
    def schema(self, table: str = "") -> Mapping[str, Kind | None]:
        """The columns of a table in their order; None for a type that queries cannot use.

        Args:
            table: its name; "" for the only one of its source.
        """

    @abstractmethod
    def check(self, plan: PricedPlan) -> None:
        """Make sure that the plan can be run here, before anything is spent. Reads no row.

        Raises: UnsupportedQueryError if it cannot.
        """

    @abstractmethod
    def exact(self, plan: PricedPlan, *, secret: bytes, progress: Progress | None = None) -> list[Any]:
        """Return one integer array of shape (cells,) per aggregate.

        Integers are on the plan's lattice. An aggregate that is not additive has a `Tally`.

        Args:
            secret: keys the hash that chooses which groups of a unit count.
            progress: is told the share that is done, of work whose steps follow from public facts; else nothing.

        Raises: ExecutionError, with a constant text, if the engine stops for any reason.
        """

    @abstractmethod
    def keys(self, plan: PricedPlan, *, secret: bytes) -> "tuple[pa.Table, NDArray[np.int64]]":
        """Return the occurring values of undeclared keys, and the weight of each.

        The plan's search says what a weight is.

        Raises: ExecutionError, with a constant text, if the engine stops for any reason.
        """

    def examiner(self) -> "tuple[Generator, Callable[[str], Sequence[tuple[Any, ...]]]]":
        """Return the generator and runner of the owner's statements, for the doctor."""
        raise NotImplementedError

    def unchanged(self) -> bool:
        """Whether all tables have the columns and types that they had when opened.

        Reads no row.
        """
        return True  # what is in memory has

    @abstractmethod
    def columns(self, rows: TableExpression, expressions: Sequence[Expression]) -> "pa.Table":
        """Return rows with a column for each expression, and the unit.

        Columns are c0, c1, ..., of the types of `ARROW`, and `unit`.

        Rows of nobody are left out.
        Raises: ExecutionError, with a constant text, if the engine stops for any reason.
        """


class Gathered:
    """The exact numbers of a plan as they come in. SECRET.

    They come from one pass over the rows, or from several.
    """

    def __init__(self, plan: PricedPlan) -> None:
        self._cells = plan.query.question.cells
        self._totals = {index: [0] * self._cells for index, part in enumerate(plan.parts) if part.aggregate.additive}
        self._tallies: dict[int, list[Counted]] = {index: [] for index in range(len(plan.parts))}

    def add(self, indices: Sequence[int], rows: Iterable[Sequence[int]]) -> None:
        """Rows of (cell, a number for the part in each place)."""
        totals = [self._totals[index] for index in indices]
        for cell, *values in rows:
            for total, value in zip(totals, values, strict=True):
                total[cell] += value

    def count(self, index: int, counted: Counted) -> None:
        """Keys of the tally of the part in this place."""
        self._tallies[index].append(counted)

    def whole(self) -> list[Any]:
        """Return the exact numbers of every part, as `Engine.exact` does."""
        return [
            integers(self._totals[index]) if index in self._totals else Tally.of(counted, self._cells)
            for index, counted in self._tallies.items()
        ]
