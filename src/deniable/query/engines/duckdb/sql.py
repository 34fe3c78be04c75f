"""A plan as DuckDB SQL: every sum of integers, every unit bounded.

Nothing of the analyst's text reaches this file. Why the bounds hold: docs/theory/query/bounding.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import cast

from deniable.query.aggregates.aggregate import CODES, PricedAggregate, PricedPart
from deniable.query.aggregates.counts import CountAggregate, Units
from deniable.query.aggregates.distinct import Distinct
from deniable.query.aggregates.order import Order
from deniable.query.aggregates.sums import SumAggregate
from deniable.query.engines.dialect import Keyed, P
from deniable.query.engines.duckdb.expression import FLOATS, NAN, as_kind
from deniable.query.engines.duckdb.rows import SelectSource, clamp, rows_of
from deniable.query.engines.printed import Seals, printed
from deniable.query.expression import Expression, Key, Kind
from deniable.query.keys import KeySearch
from deniable.query.plan import Axis, PricedPlan, Question
from deniable.query.table_expression import TableExpression

WIDE = f"CAST({P} AS BIGINT)"  # so that units and values of fewer bits are added in 64
KEY = f"CAST(cell AS BIGINT) * {CODES} + x0"  # of a tally
FOUND = "found"  # the table of keys that were found, with their positions
SAMPLES: Mapping[Kind, Key] = {Kind.INTEGER: 0, Kind.TEXT: "", Kind.DATE: date(2000, 1, 1)}  # of keys to be found


class Generator:
    """SQL for questions over declared tables, each by its name.

    The one table of a source that has no other is "".

    Args:
        tables: all of one dialect, and under the same seals.
        seals: what is in the words of the dialect already, where that is not DuckDB's.
    """

    def __init__(self, tables: Mapping[str, SelectSource], seals: Seals | None = None) -> None:
        first = next(iter(tables.values()))
        self.tables, self.dialect, self.seal, self._seals = tables, first.dialect, first.seal, seals

    def keyed(self, question: Question, secret: bytes) -> Keyed:
        """Return the keyed order of a question's units, equal on every engine."""
        if question.unit is None:
            return Keyed(secret, "0")
        kind = self.dialect.kinds.get(self.source(question.rows).types[question.unit])
        return Keyed(secret, self.seed("u", kind or Kind.NULL))

    def seed(self, value: str, kind: Kind) -> str:
        """The integer that stands for a value."""
        return self.seal(f"({self.dialect.seed(value, kind)})")

    def constant(self, key: Key) -> str:
        """A public key: text that an analyst or an owner wrote."""
        return self.seal(self.dialect.constant(key))

    def finished(self, statement: str) -> str:
        """A statement as the engine reads it."""
        return statement if self._seals is None else self._seals.opened(printed(statement, self.dialect.name))

    def source(self, tree: TableExpression) -> SelectSource:
        """Return SQL for the rows of a table expression."""
        return rows_of(tree, self.tables)

    def plan(self, plan: PricedPlan, *, secret: bytes, share: tuple[int, int] = (0, 1)) -> str:
        """Return the statement whose rows are (cell, one integer per aggregate).

        They are those of the cells that occur.

        Args:
            share: (turn, passes): of all units, those whose turn it is. The totals of all turns add up to the answer.

        Layers: `picked` evaluates expressions row by row, `placed` numbers the public groups, and then either rows are
        aggregated at once (a row is a unit) or per unit and group, bounded, and then per group.
        """
        question = plan.query.question
        parts = [part for part in plan.parts if isinstance(part, PricedAggregate) and _in_totals(part)]
        layers = self._layers(question, parts, share)
        if question.unit is None:
            sums = ", ".join(f"coalesce({_total(index, parts)}, 0) AS a{index}" for index in range(len(parts)))
            body = f"SELECT cell, {sums} FROM placed GROUP BY cell"
        elif question.table.total_rows is not None:
            body = _spread(layers, question, parts, self.keyed(question, secret))
        else:
            body = _bounded(layers, question, parts, self.keyed(question, secret))
        return self._layered(layers, body)

    def statements(
        self, plan: PricedPlan, *, secret: bytes, share: tuple[int, int] = (0, 1)
    ) -> Iterator[tuple[list[int], str]]:
        """Return all statements of a plan, each with the indices of its parts."""
        question = plan.query.question
        together = [index for index, part in enumerate(plan.parts) if _in_totals(part)]
        if together:
            yield together, self.plan(plan, secret=secret, share=share)
        for index, part in enumerate(plan.parts):
            if not part.aggregate.additive:
                yield [index], self.tally(question, part, secret=secret, share=share)
            elif index not in together and share[0] == 0:
                yield [index], self.distinct(question, part, secret=secret)

    def trials(self, plan: PricedPlan) -> tuple[list[str], PricedPlan]:
        """Return statements like those of a plan, for a trial, and their plan.

        They show before the payment whether the engine can run it. Some keys of their plan stand for those that a
        search finds.
        """
        question = plan.query.question
        searched = []
        if plan.key_search is not None:
            searched = [self.keys(question, plan.key_search, secret=bytes(16))]
            plan = plan.on((tuple(SAMPLES[kind] for kind in question.sought.values()),))
        return [*searched, *(statement for _, statement in self.statements(plan, secret=bytes(16)))], plan

    def tally(self, question: Question, part: PricedPart, *, secret: bytes, share: tuple[int, int] = (0, 1)) -> str:
        """Return the statement of `tallied`, for an aggregate chosen by tallies.

        Of a unit with n > `rows` values in a group, so many count, evenly spaced in their order from a start that the
        keyed hash gives: each with chance rows / n. Groups are those that count in `plan`, which sees the same rows.
        """
        layers = self._layers(question, [part], share)
        rows = question.table.rows
        if question.unit is None:
            return self._layered(layers, self.tallied("placed WHERE x0 IS NOT NULL"))
        keyed = self.keyed(question, secret)
        source = _counted(layers, question, keyed)
        layers.append(
            f"ranked AS (SELECT cell, x0, {keyed.ranks()} AS h, row_number() OVER (PARTITION BY u, cell ORDER BY x0) "
            f"AS r, count(*) OVER (PARTITION BY u, cell) AS n FROM {source} WHERE x0 IS NOT NULL)"
        )
        start = f"(h // {2**32} % n)"  # the low bits of a rank are the cell
        kept = f"n <= {rows} OR (r * {rows} + {start}) // n > ((r - 1) * {rows} + {start}) // n"
        return self._layered(layers, self.tallied(f"ranked WHERE {kept}"))

    def tallied(self, source: str) -> str:
        """Return the key of every row that counts; from afar, each key with its count."""
        return (
            f"SELECT {KEY} FROM {source}"
            if self._seals is None
            else f"SELECT {KEY}, count(*) FROM {source} GROUP BY {KEY}"
        )

    def distinct(self, question: Question, part: PricedPart, *, secret: bytes) -> str:
        """Return the statement whose rows are (cell, different values).

        A unit shows those of the smallest keyed hashes.

        Values of several units may be the same, so shares of the units cannot be counted one by one.
        """
        layers = self._layers(question, [part])
        source = "placed WHERE x0 IS NOT NULL"
        if question.unit is not None:
            keyed = self.keyed(question, secret)
            argument = part.aggregate.argument
            value = (
                f"(({self.seed('x0', Kind.NULL if argument is None else argument.facts.kind)}) % {P} + {WIDE}) % {P}"
            )
            kept = f"row_number() OVER (PARTITION BY u, cell ORDER BY h, x0) <= {question.table.rows}"
            own = f"SELECT DISTINCT u, cell, x0 FROM {_counted(layers, question, keyed)} WHERE x0 IS NOT NULL"
            ranked = f"SELECT u, cell, x0, {keyed.ranks(value)} AS h FROM ({own}) AS own"
            layers.append(f"ranked AS ({ranked}), shown AS (SELECT cell, x0 FROM ranked QUALIFY {kept})")
            source = "shown"
        return self._layered(layers, f"SELECT cell, count(DISTINCT x0) FROM {source} GROUP BY cell")

    def keys(self, question: Question, search: KeySearch, *, secret: bytes, share: tuple[int, int] = (0, 1)) -> str:
        """Return the statement whose rows are (undeclared keys, weight).

        It lists the values that occur.

        A unit with more than `groups` of them keeps those with the smallest keyed hashes; should two hashes be equal,
        their keys decide, so that never more than `groups` remain.
        """
        listed = ", ".join(question.sought)
        layers = self._layers(question, [], share)
        if question.unit is None:
            return self._layered(
                layers, f"SELECT {listed}, {search.weight(1)} * count(*) AS weight FROM placed GROUP BY {listed}"
            )
        cell_position = "0"
        for name, kind in question.sought.items():
            cell_position = f"({cell_position} * 31 + ({self.seed(name, kind)}) % {P} + {WIDE}) % {P}"
        ranks = self.keyed(question, secret).ranks(cell_position)
        first = f"dense_rank() OVER (PARTITION BY u ORDER BY h, {listed}) <= {search.groups}"
        weight = f"floor({search.shared} / sqrt(CAST(m AS DOUBLE)))" if search.shared else "1"
        layers += [
            f"hashed AS (SELECT u, {listed}, {ranks} AS h FROM placed)",
            f"kept AS (SELECT u, {listed} FROM hashed QUALIFY {first})",
            f"own AS (SELECT u, {listed} FROM kept GROUP BY u, {listed})",
            f"weighed AS (SELECT {listed}, count(*) OVER (PARTITION BY u) AS m FROM own)",
        ]
        weighed = f"SELECT {listed}, CAST(sum(CAST({weight} AS BIGINT)) AS BIGINT) AS weight FROM weighed"
        return self._layered(layers, f"{weighed} GROUP BY {listed}")

    def rows(self, tree: TableExpression, expressions: Sequence[Expression]) -> str:
        """Return the statement for the rows that have a unit: expressions, unit.

        The rows are those of a table expression.

        A unit keeps its identity and loses its type, so that numbers stay numbers and all else is told by its text.
        """
        source = self.source(tree)
        unit = tree.unit
        items = [
            f"{as_kind(expression.facts.kind, source.expression(expression))} AS c{index}"
            for index, expression in enumerate(expressions)
        ]
        filtered = ""
        if unit is not None:
            base = source.types[unit]
            whole = self.dialect.kinds.get(base) is Kind.INTEGER
            wanted = "BIGINT" if whole else "DOUBLE" if base in FLOATS else "VARCHAR"
            items.append(f"CAST({source.unit(unit)} AS {wanted}) AS unit")
            filtered = f" WHERE {source.unit(unit)} IS NOT NULL"
        return self.finished(f"SELECT {', '.join(items)} FROM {source.text}{filtered}")

    def _layered(self, layers: Sequence[str], body: str) -> str:
        return self.finished(f"WITH {', '.join(layers)} {body}")

    def _layers(self, question: Question, parts: Sequence[PricedPart], share: tuple[int, int] = (0, 1)) -> list[str]:
        """Return the layers that begin every statement; for `share` see `plan`."""
        picked = self._picked(question, parts)
        placed = self._placed(question, parts, *share)
        return [f"picked AS ({picked})", f"placed AS ({placed})"]

    def _picked(self, question: Question, parts: Sequence[PricedPart]) -> str:
        """Return SQL of unit, keys and arguments, row by row; each is computed once."""
        source = self.source(question.rows)
        items = [f"{source.narrow(key)} AS k{index}" for index, key in enumerate(question.keys)]
        outer = [f"k{index}" for index in range(len(items))]
        for index, argument in _arguments(parts):
            is_small = (
                argument.facts.kind is Kind.INTEGER and question.table.total_rows is None
            )  # else it is multiplied
            read = source.narrow(argument) if is_small else source.expression(argument, nan_allowed=True)
            items.append(f"{read} AS r{index}")
            outer.append(f"{_value(parts[index], argument, f'r{index}')} AS x{index}")
        if question.unit is not None:
            items.append(f"{source.unit(question.unit)} AS u")
            outer.append("u")
        where = "" if question.where is None else f" WHERE {source.expression(question.where)}"
        held = f"SELECT {', '.join(items) or '1 AS one'} FROM {source.text}{where}"
        return f"SELECT {', '.join(outer) or 'one'} FROM ({held}) AS held"

    def _placed(self, question: Question, parts: Sequence[PricedPart], turn: int, passes: int) -> str:
        """Return SQL of the rows of public groups that have a unit, with the group."""
        carried = [f"x{index}" for index, _ in _arguments(parts)]
        joins: list[str] = []
        filters: list[str] = []
        positions = [self._position(axis, question, joins, filters) for axis in question.axes]
        cell = "0"
        for position, axis in zip(positions, question.axes, strict=True):
            cell = position if cell == "0" else f"({cell}) * {len(axis.values or ())} + {position}"
        if question.searched:
            cell = "0"
            carried += question.sought
        if question.unit is not None:
            carried.append("u")
            filters.append("u IS NOT NULL" + (f" AND hash(u) % {passes} = {turn}" if passes > 1 else ""))
        where = f" WHERE {' AND '.join(filters)}" if filters else ""
        items = ", ".join([f"CAST({cell} AS INTEGER) AS cell", *carried])
        return f"SELECT {items} FROM picked{''.join(joins)}{where}"

    def _position(self, axis: Axis, question: Question, joins: list[str], filters: list[str]) -> str:
        """Return the position of a row's keys in SQL; adds to `joins` and `filters`."""
        index = axis.indices[0]
        values = axis.values
        if question.keys[index].facts.keys is None:
            filters.extend(f"{name} IS NOT NULL" for name in question.sought)
            if values is None:
                return "0"
            keys_table = FOUND
            if self._seals is not None and not isinstance(cast(object, values), range):  # which is a table there
                keys_table = f"{self.seal(f'({self.dialect.listed(question.sought, values)})')} AS {FOUND}"
            joins.append(f" JOIN {keys_table} USING ({', '.join(question.sought)})")
            return f"{FOUND}.position"
        assert values is not None
        keys = [row[0] for row in values] if len(axis.indices) == 1 else []
        if keys and all(type(key) is int for key in keys) and keys == list(range(keys[0], keys[0] + len(keys))):  # type: ignore
            filters.append(f"k{index} BETWEEN {keys[0]} AND {keys[-1]}")
            return f"(CAST(k{index} AS BIGINT) - {keys[0]})"  # k may be of 8 bits, which times 100 are too many
        rows = ", ".join(f"({', '.join(map(self.constant, row))}, {position})" for position, row in enumerate(values))
        names = ", ".join(f"v{key}" for key in axis.indices)
        same = " AND ".join(f"k{key} IS NOT DISTINCT FROM d{index}.v{key}" for key in axis.indices)
        joins.append(f" JOIN (VALUES {rows}) AS d{index}({names}, position) ON {same}")
        return f"d{index}.position"


def _in_totals(part: PricedPart) -> bool:
    """Whether an aggregate is a column of the statement of totals."""
    return part.aggregate.additive and not isinstance(part.aggregate, Distinct)


def _value(part: PricedPart, argument: Expression, name: str) -> str:
    """Return the SQL for what an aggregate reads of a row.

    Args:
        name: of the argument's value, which may be NaN.
    """
    real = argument.facts.kind is Kind.REAL
    match part.aggregate:
        case SumAggregate():
            assert isinstance(part, PricedAggregate)
            return _on_lattice(part, name, real=real)
        case Order(grid=grid):
            first, step = float(grid.first), float(grid.step)
            low, high = f"{first!r}::DOUBLE", f"{first + step * (grid.size - 1)!r}::DOUBLE"
            # NULL stays NULL (LEAST would make it the last code), and rounding puts nothing beyond the last code.
            value = f"({clamp(f'CAST({name} AS DOUBLE)', low, high, step=grid.step)}) - {low}"
            return f"CAST(floor(({value}) / {step!r}::DOUBLE + 0.5::DOUBLE) AS BIGINT)"
    return f"nullif({name} + 0.0::DOUBLE, {NAN})" if real else name


def _on_lattice(part: PricedAggregate, value: str, *, real: bool) -> str:
    """Return the argument of a sum as an integer, not yet centred.

    NULL and NaN first, then the clamp, then the grid.

    A whole number stays one. The ends of the clamp are exact in every type here, so no rounding leaves the range.
    """
    ends = (part.lower + part.centre, part.upper + part.centre)
    if not real:
        low, high = (str(end // part.share) for end in ends)
        return clamp(value, low, high)
    low, high = (f"{float(end * part.lattice.grid)!r}::DOUBLE" for end in ends)
    grid = part.lattice.grid
    return f"CAST(({clamp(value, low, high, step=grid)}) * {float(1 / grid)!r}::DOUBLE AS BIGINT)"


def _arguments(parts: Sequence[PricedPart]) -> Iterator[tuple[int, Expression]]:
    """The arguments that are read, each in the column x of the part that it is of."""
    for index, part in enumerate(parts):
        if part.aggregate.argument is not None and _value_of(index, parts) == index:
            yield index, part.aggregate.argument


def _value_of(index: int, parts: Sequence[PricedPart]) -> int:
    """Return the part whose column x holds part `index`: COUNT(v) reads SUM(v)'s."""
    aggregate = parts[index].aggregate
    if isinstance(aggregate, CountAggregate) and aggregate.argument is not None:
        for other, part in enumerate(parts):
            if isinstance(part.aggregate, SumAggregate) and part.aggregate.argument == aggregate.argument:
                return other
    return index


# Totals -----------------------------------------------------------------------------------------------------------


def _total(index: int, parts: Sequence[PricedAggregate]) -> str:
    """Return the total of rows that count in full: x minus centre, or their number."""
    part = parts[index]
    if isinstance(part.aggregate, SumAggregate):
        centre = part.centre // part.share
        return f"sum(x{index}) - {centre}::HUGEINT * count(x{index})" if centre else f"sum(x{index})"
    return "count(*)" if part.aggregate.argument is None else f"count(x{_value_of(index, parts)})"


def _bounded(layers: list[str], question: Question, parts: Sequence[PricedAggregate], keyed: Keyed) -> str:
    """Totals where a unit may have many rows.

    `pairs` has one row per unit and group. All n rows of a unit in a group carry the weight 1, or `rows` / n where that
    is less, the same in every aggregate: what keeping `rows` of them at random gives on average, without the
    randomness. A unit in more than `groups` groups keeps those with the smallest keyed hashes.
    """
    columns = ["count(*) AS n"]  # what a unit adds to a group, before it is shared out
    columns += [f"{_total(i, parts)} AS s{i}" for i, part in enumerate(parts) if part.aggregate.argument is not None]
    totals = ", ".join(_pair_total(index, parts, question.table.rows) for index in range(len(parts)))
    return f"SELECT cell, {totals} FROM {_pairs(layers, question, keyed, *columns)} GROUP BY cell"


def _spread(layers: list[str], question: Question, parts: Sequence[PricedAggregate], keyed: Keyed) -> str:
    """Totals where a unit may have many rows, bounded in all.

    Each row of a unit with n > `total_rows` rows counts as `total_rows` / n of a row: what keeping that many at random
    gives on average, without the randomness. Shares are rounded towards 0, so no unit exceeds its bound.
    A unit itself counts in `total_rows` of its groups at most: those of the smallest ranks.
    """
    total_rows = question.table.total_rows or 1
    source = "placed LEFT JOIN heavy USING (u)"
    totals = ", ".join(_spread_total(index, parts, total_rows) for index in range(len(parts)))
    layers.append(f"heavy AS (SELECT u, count(*) AS n FROM placed GROUP BY u HAVING count(*) > {total_rows})")
    units = [index for index, part in enumerate(parts) if isinstance(part.aggregate, Units)]
    if units:
        held = [f"count(x{index}) AS s{index}" for index in units if parts[index].aggregate.argument is not None]
        shown = ", ".join(f"{_units(index, parts)} AS d{index}" for index in units)
        pairs = _pairs(layers, question, keyed, *held)
        layers.append(f"shown AS (SELECT cell, {shown} FROM {pairs} GROUP BY cell)")
        source += " LEFT JOIN shown USING (cell)"
    return f"SELECT cell, {totals} FROM {source} GROUP BY cell"


def _units(index: int, parts: Sequence[PricedAggregate]) -> str:
    """Return the number of pairs of a unit and a group, with a value where asked."""
    return f"count(*){'' if parts[index].aggregate.argument is None else f' FILTER (WHERE s{index} > 0)'}"


def _spread_total(index: int, parts: Sequence[PricedAggregate], total_rows: int) -> str:
    part = parts[index]
    if isinstance(part.aggregate, Units):
        return f"coalesce(max(d{index}), 0) AS a{index}"
    if isinstance(part.aggregate, SumAggregate):
        centre = part.centre // part.share
        value = f"(x{index} - {centre})" if centre else f"x{index}"
        largest = max(abs(part.lower), abs(part.upper)) * total_rows
        wide = "" if largest < 2**63 else "::HUGEINT"  # 64 bits are much faster where they provably suffice
        return f"coalesce(sum({_shared(value + wide, part.share, total_rows)}), 0) AS a{index}"
    share = _shared("1", part.share, total_rows)
    if part.aggregate.argument is None:
        return f"sum({share}) AS a{index}"
    return f"coalesce(sum({share}) FILTER (WHERE x{_value_of(index, parts)} IS NOT NULL), 0) AS a{index}"


def _shared(value: str, steps: int, max_keys: int) -> str:
    """Return a value in lattice steps; beyond `max_keys` rows a part, towards 0."""
    return f"CASE WHEN n > {max_keys} THEN ({value} * {max_keys * steps}) // n ELSE {value} * {steps} END"


def _pairs(layers: list[str], question: Question, keyed: Keyed, *columns: str) -> str:
    """Return the pairs of a unit and a group that count, with their columns.

    Adds what it needs to `layers`.

    Of a unit in too many groups, those of the smallest ranks count. The bound holds for any ranks; the key only keeps
    the choice unpredictable.
    """
    layers.append(f"pairs AS (SELECT {', '.join(['u', 'cell', *columns])} FROM placed GROUP BY u, cell)")
    if question.table.most_groups >= question.cells:
        return "pairs"
    first = f"row_number() OVER (PARTITION BY u ORDER BY h) <= {question.table.most_groups}"
    layers.append(f"hashed AS (SELECT *, {keyed.ranks()} AS h FROM pairs)")
    layers.append(f"counted AS (SELECT * FROM hashed QUALIFY {first})")
    return "counted"


def _counted(layers: list[str], question: Question, keyed: Keyed) -> str:
    """Return the rows of `placed` in a unit's groups that count; adds to `layers`."""
    if question.table.groups >= question.cells:
        return "placed"
    return f"placed JOIN {_pairs(layers, question, keyed)} USING (u, cell)"  # a unit and a group stand there once


def _pair_total(index: int, parts: Sequence[PricedAggregate], rows: int) -> str:
    part = parts[index]
    if isinstance(part.aggregate, Units):
        return f"{_units(index, parts)} AS a{index}"
    if part.aggregate.argument is None:
        return f"sum(least(n, {rows})) AS a{index}"
    return f"coalesce(sum({_shared(f's{index}::HUGEINT', part.share, rows)}), 0) AS a{index}"
