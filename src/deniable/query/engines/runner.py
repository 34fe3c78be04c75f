"""A table on a server or cluster: its columns by kind, and its rows.

The rows are those of one statement.

What the other side says of a failure may quote a value, so none of it is passed on.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deniable.errors import ExecutionError, SourceError
from deniable.ledger.postgres import is_url
from deniable.query.engines.dialect import Dialect
from deniable.query.expression import Kind

SPARK = "spark"  # as a source: the active session of Spark, or the one that Spark's own settings start


def is_remote(source: object) -> bool:
    """Whether a source is a server or cluster, not a path."""
    return source == SPARK or is_url(source)


@dataclass(frozen=True, kw_only=True)
class Described:
    """Catalogue entry of a table: comments, constraints and labels of enums."""

    notes: tuple[str, ...] = ()
    comments: dict[str, str] = field(default_factory=dict)
    labels: dict[str, list[str]] = field(default_factory=dict)


class StatementRunner(ABC):
    """Access to one table of a server, through statements.

    `source` is how a statement names the table, `types` are its columns' types by the dialect's names.

    Tables of one `server` may stand in one statement; `name` is what others may know of it, never a password, and
    `where` tells it apart from other servers, as does the `system` that has its files, where that says which it is.
    """

    dialect: Dialect
    server: Any
    name: str | None = None
    where: str | None = None
    system: str | None = None
    table: str | None = None  # as it is called there, where others can use it
    source: str
    types: Mapping[str, str]

    def unchanged(self) -> bool:
        """Whether the table has the columns and types that it had when opened."""
        return True

    def cause(self) -> str | None:
        """Return why nothing can be read now; None if the cause is unknown.

        The answer is one of few constant sentences. Reads no row.
        """
        return None

    @abstractmethod
    def rows(self, statement: str) -> list[tuple[Any, ...]] | None:
        """All rows of a statement, None if anything fails."""

    @abstractmethod
    def check(self, statement: str) -> bool:
        """Whether the statement can be run. Reads no row."""

    def checks(self, statements: Sequence[str]) -> bool:
        """Whether all of them can be run. Reads no row."""
        return all(map(self.check, statements))

    def schema(self) -> Mapping[str, Kind | None]:
        """Return the columns in their order.

        None for a type that queries cannot use. Reads no row.
        """
        return {name: self.dialect.kinds.get(base) for name, base in self.types.items()}

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """All rows of a statement.

        Raises: ExecutionError, with a constant text, if the other side stops for any reason.
        """
        rows = self.rows(statement)
        if rows is None:  # raised here, so that no other text is attached to it
            raise ExecutionError
        return rows


def not_opened(table: str, cause: str | None = None) -> SourceError:
    cause = cause or "check that the server runs, how table and schema are spelt, and that they may be read."
    return SourceError(f"the table {table!r} cannot be opened: {cause}")
