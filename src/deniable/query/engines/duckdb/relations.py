"""The rows of relations as DuckDB SQL; every node but a table is a subquery."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from deniable.query.catalog import KEY, UNIT, Table
from deniable.query.engines.duckdb.expression import FLOATS, TYPES, Translator, quoted
from deniable.query.expression import Column, Facts, Kind
from deniable.query.grouped import Grouped, Total
from deniable.query.relation import Filter, Join, Project, Relation, Renamed, Scan
from deniable.query.union import Union


@dataclass(frozen=True)
class Source:
    """SQL for the rows of a relation, and the types of its columns (DuckDB names)."""

    text: str
    types: Mapping[str, str]

    @property
    def translator(self) -> Translator:
        return Translator(self.types)

    def unit(self, name: str) -> str:
        """The unit's id; NULL or NaN is nobody's. An ENUM is its text, not its place in the list of all texts."""
        base, column = self.types[name], self.translator.stored(name)
        if base == "ENUM":
            return f"CAST({column} AS VARCHAR)"
        return f"nullif({column} + 0.0, 'nan')" if base in FLOATS else column  # + 0.0: -0.0 and 0.0 are one unit

    def unit_type(self, name: str) -> str:
        """The type of `unit(name)`."""
        return "VARCHAR" if self.types[name] == "ENUM" else self.types[name]


def rows_of(relation: Relation, tables: Mapping[str, Source]) -> Source:
    """The rows of a relation over tables, each by its name; the one table of a source that has no other is ""."""

    def rows(inner: Relation) -> Source:
        return rows_of(inner, tables)

    match relation:
        case Scan(source=table):
            return _scan(table, tables[table.name] if table.name in tables else tables[""], tables)
        case Filter(source=inner, condition=condition):
            held = rows(inner)
            return replace(held, text=f"(SELECT * FROM {held.text} WHERE {held.translator.expression(condition)})")
        case Renamed(source=inner, prefix=prefix):
            held = rows(inner)
            names = {name: prefix + name for name in held.types}
            listed = ", ".join(f"{quoted(name)} AS {quoted(new)}" for name, new in names.items())
            return Source(f"(SELECT {listed} FROM {held.text})", {new: held.types[name] for name, new in names.items()})
        case Project(source=inner, columns=columns):
            held = rows(inner)
            made = {name: held.translator.expression(expression) for name, expression in columns.items()}
            types = {name: TYPES[relation.column(name).facts.kind] for name in columns}
            items = [f"TRY(TRY_CAST({made[name]} AS {types[name]})) AS {quoted(name)}" for name in columns]
            if inner.unit is not None:
                items.append(f"{held.unit(inner.unit)} AS {quoted(UNIT)}")
                types[UNIT] = held.unit_type(inner.unit)
            return Source(f"(SELECT {', '.join(items)} FROM {held.text})", types)
        case Join(left=left, right=right, on=on, outer=outer):
            one, other = rows(left), rows(right)
            pairs = " AND ".join(f"{one.translator.expression(a)} = {other.translator.expression(b)}" for a, b in on)
            text = f"(SELECT * FROM {one.text} {'LEFT ' if outer else ''}JOIN {other.text} ON {pairs})"
            return Source(text, {**one.types, **other.types})
        case Union(sources=sources):
            return _union(relation, [rows(source) for source in sources])
        case Grouped(source=inner):
            return _grouped(relation, rows(inner))
    raise NotImplementedError(type(relation).__name__)


def _scan(table: Table, held: Source, tables: Mapping[str, Source]) -> Source:
    """A table, with the units of its rows where no column of its own holds them."""
    unit, path, period = table.unit.column, table.path, table.unit.period
    if table.unit_column != UNIT:
        return held
    if path is not None:
        parent = rows_of(Scan(path.parent), tables)
        key = held.translator.expression(table.column(path.key))
        listed = parent.translator.expression(path.parent.column(path.parent_key))
        owner = path.parent.unit_column or ""
        owners = f"SELECT DISTINCT {listed} AS {quoted(KEY)}, {parent.unit(owner)} AS {quoted(UNIT)} FROM {parent.text}"
        joined = f"{held.text} AS r JOIN ({owners}) AS p ON {key} = p.{quoted(KEY)}"
        text = f"(SELECT r.*, p.{quoted(UNIT)} FROM {joined} WHERE p.{quoted(UNIT)} IS NOT NULL)"
        return Source(text, {**held.types, UNIT: parent.unit_type(owner)})
    assert unit is not None
    assert period is not None
    day = held.translator.expression(Column(period, Facts(kind=Kind.DATE)))
    both = f"CAST({day} AS VARCHAR) || '|' || CAST({held.unit(unit)} AS VARCHAR)"  # a day as text holds no bar
    return Source(f"(SELECT *, {both} AS {quoted(UNIT)} FROM {held.text})", {**held.types, UNIT: "VARCHAR"})


def _union(relation: Union, parts: Sequence[Source]) -> Source:
    types = {name: TYPES[relation.column(name).facts.kind] for name in relation.names}
    if relation.private:
        types[UNIT] = TYPES[relation.table.unit_kind or Kind.NULL]
    selects = []
    for source, held in zip(relation.sources, parts, strict=True):
        pairs = zip(relation.names, source.names, strict=True)
        items = [f"{held.translator.expression(source.column(old))} AS {quoted(new)}" for new, old in pairs]
        if source.unit is not None:
            items.append(f"CAST({held.unit(source.unit)} AS {types[UNIT]}) AS {quoted(UNIT)}")
        selects.append(f"SELECT {', '.join(items)} FROM {held.text}")
    return Source(f"({' UNION ALL '.join(selects)})", types)


def _grouped(relation: Grouped, held: Source) -> Source:
    """Rows of nobody are left out; -0.0 is 0.0, so that the least of both has one value."""
    types = {name: TYPES[relation.column(name).facts.kind] for name in relation.names}
    inner = [f"{held.translator.expression(key)} AS k{n}" for n, key in enumerate(relation.keys)]
    outer = [f"CAST(k{n} AS {types[f'key {n}']}) AS {quoted(f'key {n}')}" for n in range(len(relation.keys))]
    groups = [f"k{n}" for n in range(len(relation.keys))]
    for n, total in enumerate(relation.totals):
        value, sql = _total(total, f"x{n}", held.translator)
        inner.append(f"{value} AS x{n}")
        outer.append(f"TRY_CAST({sql} AS {types[f'total {n}']}) AS {quoted(f'total {n}')}")
    where = ""
    if relation.source.unit is not None:
        inner.append(f"{held.unit(relation.source.unit)} AS u")
        outer.append(f"u AS {quoted(UNIT)}")
        groups.append("u")
        types[UNIT] = held.unit_type(relation.source.unit)
        where = " WHERE u IS NOT NULL"
    grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
    return Source(
        f"(SELECT {', '.join(outer)} FROM (SELECT {', '.join(inner)} FROM {held.text}){where}{grouped})", types
    )


def _total(total: Total, name: str, translator: Translator) -> tuple[str, str]:
    """What is read of a row, and the aggregate of it: exact, whatever the order of rows."""
    if total.argument is None:
        return "1", "count(*)"
    value, real = translator.expression(total.argument), total.argument.facts.kind is Kind.REAL
    if total.function in ("count", "min", "max"):
        return f"{value} + 0.0::DOUBLE" if real else value, f"{total.function}({name})"
    sql = f"sum({name})"
    if real:
        step, *ends = (f"{float(number)!r}::DOUBLE" for number in total.grid)
        low, high = ends
        clamped = f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
        value, sql = f"CAST(({clamped}) / {step} AS BIGINT)", f"(CAST({sql} AS DOUBLE) * {step})"
    return value, f"CAST({sql} AS DOUBLE) / count({name})" if total.function == "avg" else sql
