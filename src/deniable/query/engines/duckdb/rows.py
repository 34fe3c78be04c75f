"""Rows of table expressions as SQL; every node but a table is a subquery.

The SQL is DuckDB's, printed for other engines.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from deniable.query.catalog import KEY, UNIT, DeclaredTable
from deniable.query.engines.dialect import Dialect, Translator, quoted
from deniable.query.engines.duckdb.expression import DUCKDB, KINDS, NAN, TYPES, as_kind
from deniable.query.expression import Column, Expression, Facts, Kind
from deniable.query.grouped import GroupedRows, Total
from deniable.query.join import Join
from deniable.query.operators import call
from deniable.query.table_expression import FilteredRows, Project, Renamed, Scan, TableExpression
from deniable.query.union import Union


@dataclass(frozen=True)
class SelectSource:
    """SQL for the rows of a table expression, and the types of its columns.

    Args:
        types: by the names of the engine that `dialect` is of.
        seal: what a piece of SQL stands under that is in that engine's own words.
    """

    text: str
    types: Mapping[str, str]
    dialect: Dialect = DUCKDB
    seal: Callable[[str], str] = str

    def expression(self, node: Expression, *, nan_allowed: bool = False) -> str:
        """The value of an expression, or NULL, for every row."""
        return self.seal(f"({Translator(self.dialect, self.types).expression(node, nan_allowed=nan_allowed)})")

    def narrow(self, node: Expression) -> str:
        """Return an expression that is only compared or summed: narrow integers stay."""
        base = self.types.get(node.name) if isinstance(node, Column) and node.facts.kind is Kind.INTEGER else None
        if isinstance(node, Column) and base and self.dialect is DUCKDB and KINDS.get(base) is Kind.INTEGER:
            return self.name(node.name)
        return self.expression(node)

    def name(self, name: str) -> str:
        """The name of a column, which an analyst may have chosen."""
        return self.seal(self.dialect.quoted(name))

    def unit(self, name: str) -> str:
        """The unit's id; NULL or NaN is nobody's."""
        return self.seal(f"({self.dialect.unit(name, self.types[name])})")

    def owned(self, name: str) -> dict[str, str]:
        """The type of a column UNIT that holds `unit(name)`."""
        return {UNIT: self.dialect.unit_type(self.types[name])}

    def kept(self, tree: TableExpression) -> dict[str, str]:
        """Return the types of the columns of a table expression that are computed."""
        return {name: self.dialect.types[tree.column(name).facts.kind] for name in tree.names}


def rows_of(tree: TableExpression, tables: Mapping[str, SelectSource]) -> SelectSource:
    """Return SQL for the rows of a table expression over tables by name.

    A source's only table has the name "".
    """

    def rows(inner: TableExpression) -> SelectSource:
        return rows_of(inner, tables)

    match tree:
        case Scan(source=table):
            return _scan(table, tables[table.name] if table.name in tables else tables[""], tables)
        case FilteredRows(source=inner, condition=condition):
            held = rows(inner)
            return replace(held, text=f"(SELECT * FROM {held.text} WHERE {held.expression(condition)})")
        case Renamed(source=inner, prefix=prefix):
            held = rows(inner)
            listed = ", ".join(f"{held.name(name)} AS {held.name(prefix + name)}" for name in held.types)
            types = {prefix + name: base for name, base in held.types.items()}
            return replace(held, text=f"(SELECT {listed} FROM {held.text})", types=types)
        case Project(source=inner, columns=columns):
            held = rows(inner)
            types = held.kept(tree)
            items = [
                f"{as_kind(tree.column(name).facts.kind, held.expression(expression))} AS {held.name(name)}"
                for name, expression in columns.items()
            ]
            if inner.unit is not None:
                items.append(f"{held.unit(inner.unit)} AS {quoted(UNIT)}")
                types |= held.owned(inner.unit)
            return replace(held, text=f"(SELECT {', '.join(items)} FROM {held.text})", types=types)
        case Join(left=left, right=right, on=on, outer=outer, unique=unique):
            one, other = rows(left), rows(right)
            if unique:  # the promise was looked up while planning: a public table may have changed since
                one = one if left.private else _once(one, [key for key, _ in on])
                other = other if right.private else _once(other, [key for _, key in on])
            pairs = " AND ".join(f"{one.expression(a)} = {other.expression(b)}" for a, b in on)
            text = f"(SELECT * FROM {one.text} {'LEFT ' if outer else ''}JOIN {other.text} ON {pairs})"
            return replace(one, text=text, types={**one.types, **other.types})
        case Union(sources=sources):
            return _union(tree, [rows(source) for source in sources])
        case GroupedRows(source=inner):
            return _grouped(tree, rows(inner))
    raise NotImplementedError(type(tree).__name__)


def _once(held: SelectSource, keys: Sequence[Expression]) -> SelectSource:
    """Return the rows whose keys no other row has, so that nothing meets two of them."""
    copies = quoted("(copies)")
    same = ", ".join(map(held.expression, keys))
    counted = f"(SELECT *, count(*) OVER (PARTITION BY {same}) AS {copies} FROM {held.text})"
    listed = ", ".join(map(held.name, held.types))
    return replace(held, text=f"(SELECT {listed} FROM {counted} WHERE {copies} = 1)")


def _scan(table: DeclaredTable, held: SelectSource, tables: Mapping[str, SelectSource]) -> SelectSource:
    """A table, with the units of its rows where no column of its own holds them."""
    unit, path, period = table.unit.column, table.path, table.unit.period
    if table.unit_column != UNIT:
        return held
    if path is not None:
        parent = rows_of(Scan(path.parent), tables)
        key = held.expression(table.column(path.key))
        listed = parent.expression(path.parent.column(path.parent_key))
        owner = path.parent.unit_column or ""
        owners = f"SELECT DISTINCT {listed} AS {quoted(KEY)}, {parent.unit(owner)} AS {quoted(UNIT)} FROM {parent.text}"
        joined = f"{held.text} AS r JOIN ({owners}) AS p ON {key} = p.{quoted(KEY)}"
        text = f"(SELECT r.*, p.{quoted(UNIT)} FROM {joined} WHERE p.{quoted(UNIT)} IS NOT NULL)"
        return replace(held, text=text, types={**held.types, **parent.owned(owner)})
    assert unit is not None
    assert period is not None
    day = held.expression(call("to_text", Column(period, Facts(kind=Kind.DATE))))
    both = f"{day} || '|' || CAST({held.unit(unit)} AS VARCHAR)"  # a day as text holds no bar
    types = {**held.types, UNIT: held.dialect.types[Kind.TEXT]}
    return replace(held, text=f"(SELECT *, {both} AS {quoted(UNIT)} FROM {held.text})", types=types)


def _union(tree: Union, parts: Sequence[SelectSource]) -> SelectSource:
    types = parts[0].kept(tree)
    kind = tree.table.unit_kind or Kind.NULL
    if tree.private:
        types[UNIT] = parts[0].dialect.types[kind]
    selects = []
    for source, held in zip(tree.sources, parts, strict=True):
        pairs = zip(tree.names, source.names, strict=True)
        items = [f"{held.expression(source.column(old))} AS {held.name(new)}" for new, old in pairs]
        if source.unit is not None:
            items.append(f"CAST({held.unit(source.unit)} AS {TYPES[kind]}) AS {quoted(UNIT)}")
        selects.append(f"SELECT {', '.join(items)} FROM {held.text}")
    return replace(parts[0], text=f"({' UNION ALL '.join(selects)})", types=types)


def _grouped(tree: GroupedRows, held: SelectSource) -> SelectSource:
    """Return SQL for grouped rows; rows without a unit are left out."""
    types = held.kept(tree)
    groups = [f"k{n}" for n in range(len(tree.keys))]
    inner = [f"{held.expression(key)} AS {name}" for name, key in zip(groups, tree.keys, strict=True)]
    outer = [
        f"CAST({name} AS {TYPES[tree.column(f'key {n}').facts.kind]}) AS {quoted(f'key {n}')}"
        for n, name in enumerate(groups)
    ]
    for n, total in enumerate(tree.totals):
        value, sql = _total(total, f"x{n}", held)
        inner.append(f"{value} AS x{n}")
        outer.append(f"CAST({sql} AS {TYPES[total.facts.kind]}) AS {quoted(f'total {n}')}")
    where = ""
    if tree.source.unit is not None:
        inner.append(f"{held.unit(tree.source.unit)} AS u")
        outer.append(f"u AS {quoted(UNIT)}")
        groups.append("u")
        types |= held.owned(tree.source.unit)
        where = " WHERE u IS NOT NULL"
    grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
    text = f"(SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {held.text}){where}{grouped})"
    return replace(held, text=text, types=types)


def _total(total: Total, name: str, held: SelectSource) -> tuple[str, str]:
    """Return the value read of a row, and its exact aggregate in any order of rows."""
    if total.argument is None:
        return "1", "count(*)"
    value = held.expression(total.argument)
    real = total.argument.facts.kind is Kind.REAL
    if total.function in ("count", "min", "max"):
        return value, f"{total.function}({name})"
    sql = f"sum({name})"
    if real:
        step, low, high = (f"{float(number)!r}::DOUBLE" for number in total.grid)
        sql = f"sum(CAST(({clamp(name, low, high, step=total.grid[0])}) / {step} AS BIGINT))"
    rounded = (  # once, also where a sum has more bits than a float
        f"CASE WHEN abs({sql}) < 9007199254740992 THEN CAST(CAST({sql} AS BIGINT) AS DOUBLE) "
        f"ELSE CAST(CAST({sql} AS VARCHAR) AS DOUBLE) END"
    )
    if real:
        rounded = f"({rounded} * {step})"
    elif total.function == "sum":
        return value, f"CASE WHEN {sql} BETWEEN {-(2**63)} AND {2**63 - 1} THEN {sql} END"
    return value, f"{rounded} / count({name})" if total.function == "avg" else rounded


def clamp(value: str, low: str, high: str, *, step: Fraction = Fraction(1)) -> str:
    """Return `value` in [low, high]; NULL and NaN are NULL.

    The common case is tested first; NULL fails every test and stays NULL, as NaN becomes.

    NaN equals itself and lies above all numbers, on every engine.
    What is to be divided by a step above 1 must not be so small that the quotient is 0: there PostgreSQL would stop.
    """
    small = f"WHEN abs({value}) < 1e-290::DOUBLE THEN greatest(least(0.0::DOUBLE, {high}), {low}) " if step > 1 else ""
    number = f" AND {value} <> {NAN}" if high.endswith("DOUBLE") else ""
    return (
        f"CASE {small}WHEN {value} BETWEEN {low} AND {high} THEN {value} "
        f"WHEN {value} < {low} THEN {low} WHEN {value} > {high}{number} THEN {high} END"
    )
