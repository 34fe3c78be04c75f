"""Exact integers from a server or cluster, in one fetch of small results.

The statements are those of DuckDB, printed for it.

Nothing is drawn there: noise is added here, once, after the fetch, so an action that is repeated there draws nothing.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import ExecutionError, SourceError, UnsupportedQueryError
from deniable.query.engines.base import CHANGED, Engine, Gathered, Progress, arrow_schema
from deniable.query.engines.duckdb.rows import SelectSource
from deniable.query.engines.duckdb.sql import Generator
from deniable.query.engines.printed import Seals
from deniable.query.engines.runner import StatementRunner
from deniable.query.expression import Expression, Kind
from deniable.query.plan import PricedPlan
from deniable.query.table_expression import TableExpression

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def generator_of(runners: Mapping[str, StatementRunner], secret: bytes) -> Generator:
    """Return statements over the tables of runners of one engine.

    All that people wrote is sealed in them.
    """
    seals = Seals(hashlib.sha256(b"seals" + secret).hexdigest()[:16])
    tables = {
        name: SelectSource(seals.seal(runner.source), runner.types, runner.dialect, seals.seal)
        for name, runner in runners.items()
    }
    return Generator(tables, seals)


class RemoteEngine(Engine):
    """Holds tables of a server or cluster.

    Args:
        runners: by the names of the tables, or "" for the only one; all of one place.
        table: its name there, where it is the only one and others can use it.
    """

    def __init__(self, runners: Mapping[str, StatementRunner], *, table: str | None = None) -> None:
        self._runners, self.table = runners, table
        self._runner = next(iter(runners.values()))
        self.source_name = self._runner.name
        self.locations = {
            name: (runner.where, runner.table) for name, runner in runners.items() if name or runner.table
        }
        self.system = self._runner.system

    def schema(self, table: str = "") -> Any:
        return self._runners[table].schema()

    def examiner(self) -> tuple[Generator, Callable[[str], Sequence[tuple[Any, ...]]]]:
        return generator_of(self._runners, bytes(16)), self._runner.run

    def unchanged(self) -> bool:
        return all(runner.unchanged() for runner in self._runners.values())

    def check(self, plan: PricedPlan) -> None:
        if not self.unchanged():
            raise self._lost()
        statements, _ = generator_of(self._runners, bytes(16)).trials(plan)
        if not self._runner.checks(statements):
            if any(runner.cause() for runner in self._runners.values()):
                raise self._lost()
            raise UnsupportedQueryError("the engine cannot run this query. Write it with simpler expressions.")

    def _lost(self) -> SourceError:
        """Return the error for a table that cannot be read any more."""
        for name, runner in self._runners.items():
            if cause := runner.cause():
                return SourceError(f"the table{f' {name!r}' if name else ''} cannot be read: {cause}")
        return SourceError(CHANGED)

    def keys(self, plan: PricedPlan, *, secret: bytes) -> "tuple[pa.Table, NDArray[np.int64]]":
        question, search = plan.query.question, plan.key_search
        assert search is not None
        statement = generator_of(self._runners, secret).keys(question, search, secret=secret)
        table = self._table(statement, {**question.sought, "weight": Kind.INTEGER})
        return table.drop_columns("weight"), table.column("weight").to_numpy()

    def exact(self, plan: PricedPlan, *, secret: bytes, progress: Progress | None = None) -> list[Any]:
        gathered = Gathered(plan)
        for indices, statement in generator_of(self._runners, secret).statements(plan, secret=secret):
            rows = [tuple(int(value) for value in row) for row in self._runner.run(statement)]
            if plan.parts[indices[0]].aggregate.additive:
                gathered.add(indices, rows)
            else:
                keys, counts = np.array(rows, dtype=np.int64).reshape(-1, 2).T
                gathered.count(indices[0], (keys, counts))
        return gathered.whole()

    def columns(self, rows: TableExpression, expressions: Sequence[Expression]) -> "pa.Table":
        kinds = {f"c{index}": each.facts.kind for index, each in enumerate(expressions)}
        if rows.unit is not None:
            kinds["unit"] = Kind.INTEGER if rows.table.unit_kind is Kind.INTEGER else Kind.TEXT
        return self._table(generator_of(self._runners, bytes(16)).rows(rows, expressions), kinds)

    def _table(self, statement: str, kinds: Mapping[str, Kind]) -> "pa.Table":
        """The rows of a statement, whose columns are of these kinds.

        Raises: ExecutionError, with a constant text.
        """
        import pyarrow as pa

        table = None
        columns = list(zip(*self._runner.run(statement), strict=True)) or [()] * len(kinds)
        with suppress(pa.ArrowException, TypeError, ValueError):
            table = pa.table(dict(zip(kinds, columns, strict=True)), arrow_schema(kinds))
        if table is None:  # raised here, so that no value is attached to it
            raise ExecutionError
        return table
