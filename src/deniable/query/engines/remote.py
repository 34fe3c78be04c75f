"""Exact integers from a server or cluster: the statements of DuckDB, printed for it, and one fetch of small results.

Nothing is drawn there: noise is added here, once, after the fetch, so an action that is repeated there draws nothing.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deniable.errors import ExecutionError, UnsupportedQueryError
from deniable.query.aggregates.aggregate import Tally, integers
from deniable.query.engines.base import ARROW, Engine, Progress
from deniable.query.engines.dialect import Dialect, Translator
from deniable.query.engines.duckdb.relations import Source
from deniable.query.engines.duckdb.sql import KEY, Generator
from deniable.query.engines.printed import Seals, printed
from deniable.query.engines.runner import Runner
from deniable.query.expression import Expression, Key, Kind
from deniable.query.plan import PricedPlan
from deniable.query.relation import Filter, Relation, Scan

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class RemoteSource(Source):
    """A table of another engine, whose pieces of SQL are sealed."""

    dialect: Dialect
    seals: Seals

    @property
    def translator(self) -> Any:
        return SealedTranslator(self.dialect, self.types, self.seals)

    def unit(self, name: str) -> str:
        kind = self.dialect.kinds.get(self.types[name], Kind.NULL)
        self.dialect.seed("u", kind)  # refuses units that are not the same on every engine
        return self.seals.seal(f"({self.dialect.finished(self.dialect.column(name, self.types[name], kind), kind)})")


class SealedTranslator(Translator):
    """Expressions in the engine's words, each under a name."""

    def __init__(self, dialect: Dialect, types: Any, seals: Seals) -> None:
        super().__init__(dialect, types)
        self._seals = seals

    def expression(self, node: Expression, *, nan_allowed: bool = False) -> str:
        plain = Translator(self.dialect, self.types)
        return self._seals.seal(f"({plain.expression(node, nan_allowed=nan_allowed)})")


class RemoteGenerator(Generator):
    """Statements over the one table of a runner."""

    def __init__(self, runner: Runner, secret: bytes) -> None:
        self.dialect = runner.dialect
        self._seals = Seals(hashlib.sha256(b"seals" + secret).hexdigest()[:16])
        text = self._seals.seal(runner.source)
        super().__init__({"": RemoteSource(text, runner.types, self.dialect, self._seals)})

    def source(self, relation: Relation) -> Source:
        match relation:
            case Scan() if relation.unit is None or relation.unit in self.tables[""].types:
                return self.tables[""]
            case Filter(source=inner, condition=condition):
                rows = self.source(inner)
                return replace(rows, text=f"(SELECT * FROM {rows.text} WHERE {rows.translator.expression(condition)})")
        raise UnsupportedQueryError(
            f"joins and subqueries are not answered on {self.dialect.name} yet. Make a view of them there, in which "
            "every row still says whose it is, and ask that."
        )

    def seed(self, value: str, kind: Kind | None) -> str:
        return self._seals.seal(f"({self.dialect.seed(value, kind or Kind.NULL)})")

    def constant(self, key: Key) -> str:
        return self._seals.seal(self.dialect.constant(key))

    def tallied(self, source: str) -> str:
        return f"SELECT {KEY}, count(*) FROM {source} GROUP BY {KEY}"  # few rows come from afar

    def finished(self, statement: str) -> str:
        return self._seals.opened(printed(statement, self.dialect.name))


class RemoteEngine(Engine):
    """Holds one table of a server or cluster.

    Args:
        name: of the source, without user or password; table: its name there, where others can use it.
    """

    def __init__(self, runner: Runner, *, name: str | None, table: str | None) -> None:
        self._runner, self.source_name, self.table = runner, name, table

    def schema(self, table: str = "") -> Any:
        return self._runner.schema()

    def check(self, plan: PricedPlan) -> None:
        statements = RemoteGenerator(self._runner, bytes(16)).statements(plan, secret=bytes(16))
        if not all(self._runner.check(statement) for _, statement in statements):
            raise UnsupportedQueryError("the engine cannot run this query. Write it with simpler expressions.")

    def exact(self, plan: PricedPlan, *, secret: bytes, progress: Progress | None = None) -> list[Any]:
        found: dict[int, Any] = {}
        cells = plan.query.question.cells
        for places, statement in RemoteGenerator(self._runner, secret).statements(plan, secret=secret):
            rows = [tuple(int(value) for value in row) for row in self._runner.run(statement)]
            if not plan.parts[places[0]].aggregate.additive:
                keys, counts = np.array(rows, dtype=np.int64).reshape(-1, 2).T
                found[places[0]] = Tally.of([(keys, counts)], cells)
                continue
            totals = [[0] * cells for _ in places]
            for cell, *values in rows:
                for total, value in zip(totals, values, strict=True):
                    total[cell] = value
            found |= zip(places, map(integers, totals), strict=True)
        return [found[place] for place in range(len(plan.parts))]

    def columns(self, rows: Relation, expressions: Sequence[Expression]) -> "pa.Table":
        import pyarrow as pa

        fetched = self._runner.run(RemoteGenerator(self._runner, bytes(16)).rows(rows, expressions))
        columns = list(zip(*fetched, strict=True)) or [()] * (len(expressions) + (rows.unit is not None))
        try:
            arrays = {
                f"c{place}": pa.array(column, pa.type_for_alias(ARROW[expression.facts.kind]))
                for place, (expression, column) in enumerate(zip(expressions, columns, strict=False))
            }
        except (pa.ArrowException, TypeError, ValueError):
            arrays = {}
        if len(arrays) < len(expressions):  # raised here, so that no value is attached to it
            raise ExecutionError
        if rows.unit is not None:
            arrays["unit"] = pa.array(columns[-1], pa.string())
        return pa.table(arrays)
