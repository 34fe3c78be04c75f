"""Frames: questions built in Python, read by the readers of SQL.

They give the same table expressions.

Nothing here decides about privacy: types, bounds, keys and prices are theirs to check, and a question has one name in
the ledger whichever way it is asked. A filter before an inner join is one behind it, as both mean the same.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from deniable.errors import InvalidParameterError, UnsupportedQueryError
from deniable.query.catalog import DeclaredTable, did_you_mean
from deniable.query.clauses import read_select
from deniable.query.columns import Expr, col, condition_of, lit, node_of
from deniable.query.expression import Expression
from deniable.query.operators import call
from deniable.query.plan import Query
from deniable.query.scope import RowScope
from deniable.query.table_expression import (
    Project,
    Renamed,
    Scan,
    TableExpression,
    filtered,
    made_nullable,
    renamed,
)
from deniable.query.tables import Known, aggregated
from deniable.query.translation import condition, translate
from deniable.query.union import Union

if TYPE_CHECKING:
    from deniable.query.database import Database
    from deniable.query.explanation import Explanation
    from deniable.release import Release

_WORDS = {  # how a refusal of SQL reads to somebody who wrote none
    "LEAST(GREATEST(value, low), high)": ".clip(low, high) behind it",
    "COUNT(DISTINCT ...)": "n_unique()",
    "COUNT(*)": "dn.len()",
    "with AS": "with .alias(...)",
    "GROUP BY": "group_by",
    "ORDER BY": "sort",
    "LEFT JOIN": 'join(how="left")',
    **dict.fromkeys(("FILTER", "HAVING", "WHERE"), "filter"),
    "SELECT": "agg",
    "CAST": "cast",
    "LIMIT": "head",
}
_SQL = re.compile("|".join(map(re.escape, _WORDS)))


@contextmanager
def _spoken() -> Iterator[None]:
    """Let what is refused inside be said in the words of a frame."""
    try:
        yield
    except RecursionError:
        raise UnsupportedQueryError("the question is too deeply nested. Write it with fewer expressions.") from None
    except UnsupportedQueryError as error:
        raise UnsupportedQueryError(_SQL.sub(lambda match: _WORDS[match[0]], str(error))) from None


class FrameRows(RowScope):
    """The rows of a frame: a source, its columns, and a condition.

    Each column shown stands for an expression; the condition is still to hold.

    Args:
        bases: the names of the tables in it; columns of several carry theirs as a prefix.
    """

    def __init__(
        self, source: TableExpression, bases: tuple[str, ...], shown: Mapping[str, Expression], where: Expression | None
    ) -> None:
        super().__init__(source, ())
        self.bases, self.shown, self.where = bases, shown, where

    @property
    def names(self) -> Iterator[str]:
        return (name.casefold() for name in self.shown)

    def column(self, node: exp.Column) -> Expression:
        name = node.name
        if name in self.shown:
            return self.shown[name]
        if isinstance(self.source, Scan):
            self.source.column(name)  # it says best what is wrong
        raise UnsupportedQueryError(
            f"there is no column {name!r} here.{did_you_mean(name, self.shown)} Columns: {', '.join(self.shown)}."
        )

    @property
    def kept(self) -> TableExpression:
        """The rows for which the condition holds."""
        return filtered(self.source, self.where)

    @classmethod
    def made(cls, source: TableExpression, base: str) -> "FrameRows":
        """All columns of a source."""
        return cls(source, (base,), {name: source.column(name) for name in source.names}, None)

    def filtered(self, where: Expression | None) -> "FrameRows":
        both = call("and", self.where, where) if self.where and where else self.where or where
        return FrameRows(self.source, self.bases, self.shown, both)

    def beside(self, others: tuple[str, ...], *, hoist: bool) -> "FrameRows":
        """Return the rows under column names that a join can tell from other tables'."""
        rows = self
        base = self.bases[0]
        if len(self.bases) > 1 or not (hoist or (self.where is None and set(self.shown.values()) <= self._own)):
            rows = FrameRows.made(Project(self.kept, dict(self.shown)), base)
        number = others.count(base) + 1
        prefix = f"{base}{'' if number == 1 else f'#{number}'}."
        moved = {name: renamed(value, lambda column: prefix + column) for name, value in rows.shown.items()}
        where = None if rows.where is None else renamed(rows.where, lambda column: prefix + column)
        return FrameRows(Renamed(rows.source, prefix), (base,), moved, where)

    @property
    def _own(self) -> set[Expression]:
        return {self.source.column(name) for name in self.shown if name in self.source.names}


@dataclass(frozen=True, eq=False, repr=False)
class Frame:
    """Rows of declared tables to ask about; every method returns another frame.

    Made by `Database.table`.
    """

    database: "Database"
    said: str
    read: Callable[[Known], FrameRows]

    @classmethod
    def of(cls, database: "Database", name: str) -> "Frame":
        """All rows of a declared table."""
        if name not in database.tables:
            suggestion = did_you_mean(name, database.tables) if isinstance(name, str) else ""
            raise UnsupportedQueryError(
                f"there is no table {name!r}.{suggestion} The tables: {', '.join(database.tables)}."
            )
        return cls(database, f"table({name!r})", lambda known: _rows_of(known.tables[name]))

    def _then(self, said: str, step: Callable[[FrameRows, Known], FrameRows]) -> "Frame":
        frame = Frame(self.database, f"{self.said}.{said}", lambda known: step(self.read(known), known))
        with _spoken():
            frame.rows()
        return frame

    def __repr__(self) -> str:
        return f"<Frame {self.said}: {', '.join(self.columns)}>"

    def rows(self, tables: Mapping[str, DeclaredTable] | None = None) -> FrameRows:
        """Return the rows that the frame reads; of tables as declared by default."""
        return self.read(Known(tables or self.database.tables, self.database._planner.public_column))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [*self.rows().shown]

    def filter(self, *conditions: Expr) -> "Frame":
        """Keep the rows for which all conditions hold."""

        nodes = [*map(condition_of, conditions)]

        def step(rows: FrameRows, known: Known) -> FrameRows:
            return reduce(lambda kept, node: kept.filtered(condition(node, kept, "filter")), nodes, rows)

        return self._then(f"filter({', '.join(map(str, conditions))})", step)

    def with_columns(self, *columns: Expr, **named: object) -> "Frame":
        """Add columns, or replace those of the same name."""
        return self._computed("with_columns", _listed(columns, named), keep=True)

    def select(self, *columns: str | Expr, **named: object) -> Any:
        """Keep or compute these columns, as a frame; or ask for aggregates.

        With aggregates, it asks for one row of numbers, as an `Ask`.
        """
        expressions = _listed(columns, named)
        if any(each.node.find(exp.AggFunc) for each in expressions):
            return self.group_by().agg(*expressions)
        return self._computed("select", expressions, keep=False)

    def _computed(self, method: str, expressions: list[Expr], *, keep: bool) -> "Frame":
        def step(rows: FrameRows, known: Known) -> FrameRows:
            made = {each.name: translate(each.node, rows) for each in expressions}
            return FrameRows(rows.source, rows.bases, {**(rows.shown if keep else {}), **made}, rows.where)

        return self._then(f"{method}({_text(expressions)})", step)

    def join(
        self,
        other: "Frame",
        on: str | list[str] | None = None,
        *,
        left_on: str | list[str] | None = None,
        right_on: str | list[str] | None = None,
        how: str = "inner",
        suffix: str = "_right",
    ) -> "Frame":
        """Pair rows that agree on columns.

        `how` is "inner", or "left" to keep rows that have no partner.

        A column of `other` whose name is taken gets the suffix.
        """
        if not isinstance(other, Frame) or other.database is not self.database or how not in ("inner", "left"):
            raise InvalidParameterError('join takes another frame of this database, and how="inner" or how="left".')
        first, second = ([one] if isinstance(one, str) else one or [] for one in (on or left_on, on or right_on))
        if not first or [*map(bool, first)] != [*map(bool, second)]:
            raise InvalidParameterError('join needs on="column", or left_on= and right_on= with as many columns each.')

        def step(rows: FrameRows, known: Known) -> FrameRows:
            left = rows if rows.bases[1:] else rows.beside((), hoist=True)
            right = other.read(known).beside(left.bases, hoist=how == "inner")
            names = zip(first, second, strict=True)
            pairs = tuple((left.column(exp.column(one)), right.column(exp.column(other))) for one, other in names)
            source = known.joined(left.source, right.source, pairs, outer=how == "left")
            taken, shown = set(left.names), dict(left.shown)
            for name in right.shown:
                if not on or name not in second:
                    value = made_nullable(right.shown[name]) if how == "left" else right.shown[name]
                    shown[name + suffix if name.casefold() in taken else name] = value
            return FrameRows(source, (*left.bases, *right.bases), shown, left.where).filtered(right.where)

        return self._then(f"join({other.said}, {', '.join(first)}, {how})", step)

    def union(self, *others: "Frame") -> "Frame":
        """Put the rows of other frames, which have the same columns, below these."""
        for other in others:
            if not isinstance(other, Frame) or other.database is not self.database:
                raise InvalidParameterError("union takes other frames of this database.")
            if set(other.columns) != set(self.columns):
                raise UnsupportedQueryError(f"union takes frames of the columns {self.columns}, got {other.columns}.")

        def step(rows: FrameRows, known: Known) -> FrameRows:
            every = [rows, *(other.read(known) for other in others)]
            parts = tuple(Project(each.kept, {name: each.shown[name] for name in rows.shown}) for each in every)
            return FrameRows.made(Union(parts), "union")

        return self._then(f"union({', '.join(other.said for other in others)})", step)

    def group_by(self, *keys: str | Expr, **named: object) -> "GroupedFrame":
        """Group rows by columns or expressions whose values are public.

        Then ask with `agg`.
        """
        return GroupedFrame(self, tuple(_listed(keys, named)))


@dataclass(frozen=True, eq=False)
class GroupedFrame:
    """Rows in public groups. Made by `Frame.group_by`."""

    frame: Frame
    keys: tuple[Expr, ...]

    def agg(self, *aggregates: Expr, **named: object) -> "Ask":
        """Ask for aggregates of each group.

        dn.len(), dn.col("cost").mean().alias("mean"), ...
        """
        expressions = _listed(aggregates, named)
        for each in expressions or [lit(None)]:
            if not each.node.find(exp.AggFunc):
                raise UnsupportedQueryError(
                    f"agg takes numbers of a group, got {each!r}: dn.len(), dn.col(...).mean(), .sum() or .median()."
                )
        for key in self.keys:
            if key.name in self.frame.columns and str(key) != str(col(key.name)):
                raise UnsupportedQueryError(
                    f"a column is called {key.name!r} already. Name the group with .alias(...)."
                )
        keys = [exp.paren(key.node.copy()) for key in self.keys]
        columns = [
            exp.Alias(this=each.node.copy(), alias=exp.to_identifier(each.name)) for each in (*self.keys, *expressions)
        ]
        select = exp.Select(expressions=columns, group=exp.Group(expressions=keys) if keys else None)
        return Ask(
            self.frame, select, f".group_by({_text(self.keys)}).agg({_text(expressions)})".replace(".group_by()", "")
        )


@dataclass(frozen=True, eq=False, repr=False)
class Ask:
    """A question, which costs nothing until `release`. Made by `GroupedFrame.agg`.

    Where its groups name the unit, `agg` and `group_by` go on with them as rows: the average of each unit's total.
    `filter`, `sort` and `head` work on its noisy answer, and are free.
    """

    frame: Frame
    select: exp.Select
    said: str

    def _with(self, said: str, clause: str, node: exp.Expr) -> "Ask":
        select = self.select.copy()
        select.set(clause, node)
        return replace(self, select=select, said=f"{self.said}.{said}")

    def filter(self, *conditions: Expr) -> "Ask":
        """Show only groups whose noisy numbers fulfil all conditions."""
        before = [self.select.args["having"].this] if self.select.args.get("having") else []
        both = exp.and_(*before, *map(condition_of, conditions))
        return self._with(f"filter({', '.join(map(str, conditions))})", "having", exp.Having(this=both))

    def sort(self, *by: str | Expr, descending: bool = False) -> "Ask":
        """Order the groups of the answer; missing values come last."""
        nodes = [exp.Ordered(this=exp.paren(one.node.copy()), desc=descending) for one in _listed(by, {})]
        said = f"sort({_text(_listed(by, {}))}{', descending' * descending})"
        return self._with(said, "order", exp.Order(expressions=nodes))

    def head(self, count: int) -> "Ask":
        """Show the first groups of the answer alone."""
        return self._with(f"head({count})", "limit", exp.Limit(expression=node_of(count)))

    def as_frame(self) -> Frame:
        """Return its rows, one for each unit and group, to ask about.

        They are exact, and seen by no one but the next question.
        """

        def read(known: Known) -> FrameRows:
            rows = self.frame.read(known)
            return FrameRows.made(aggregated(self.select, rows, rows.kept), rows.bases[0])

        with _spoken():
            read(Known(self.frame.database.tables, self.frame.database._planner.public_column))
        return Frame(self.frame.database, self.frame.said + self.said, read)

    def group_by(self, *keys: str | Expr, **named: object) -> GroupedFrame:
        """Group the rows of `as_frame`."""
        return self.as_frame().group_by(*keys, **named)

    def agg(self, *aggregates: Expr, **named: object) -> "Ask":
        """Ask for one row of numbers about the rows of `as_frame`.

        An example is the average of each unit's total.
        """
        return self.as_frame().group_by().agg(*aggregates, **named)

    def __repr__(self) -> str:
        return f"<Ask {self.frame.said}{self.said}; .explain(epsilon=...) says what it costs>"

    def query(self, tables: Mapping[str, DeclaredTable], *, find: bool = False) -> Query:
        """The plan that it asks for; see `parse`."""
        with _spoken():
            rows = self.frame.rows(tables)
            rows = FrameRows(rows.kept, rows.bases, rows.shown, None)
            return read_select(self.frame.said + self.said, self.select, rows, find=find)

    def explain(self, **price: Any) -> "Explanation":
        """Say what it would do and cost; spends nothing.

        A price is given as to `Database.explain`.
        """
        return self.frame.database.explain(self, **price)

    def release(self, **price: Any) -> "Release":
        """Answer it with noise, and pay for it, as `Database.sql` does.

        epsilon=..., delta=..., rho=..., fresh=...
        """
        return self.frame.database.sql(self, **price)

    collect = release


def _rows_of(table: DeclaredTable | TableExpression) -> FrameRows:
    assert isinstance(table, DeclaredTable)
    scan = Scan(table)
    usable = [name for name, kind in table.schema.items() if kind is not None or name in table.columns]
    return FrameRows(scan, (table.name,), {name: scan.column(name) for name in usable}, None)


def _listed(given: Iterable[object], named: Mapping[str, object]) -> list[Expr]:
    """Expressions, names of columns, and expressions by the names that they get."""
    expressions: list[Expr] = []
    for one in (each for some in given for each in (some if isinstance(some, list | tuple) else [some])):
        if not isinstance(one, str | Expr):
            raise InvalidParameterError(f'a name or an expression is needed, such as dn.col("age").mean(), got {one!r}')
        expressions.append(col(one) if isinstance(one, str) else one)
    return [*expressions, *(lit(value).alias(name) for name, value in named.items())]


def _text(expressions: Iterable[Expr]) -> str:
    return ", ".join(
        str(each) if str(each) == str(col(each.name)) else f"{each} AS {each.name}" for each in expressions
    )
