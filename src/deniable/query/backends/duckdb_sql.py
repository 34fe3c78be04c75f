"""A plan as DuckDB SQL: every expression total, every sum of integers, every unit bounded.

Nothing of the analyst's text reaches this file; names are quoted, constants are printed from Python values.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction

from deniable.errors import UnsupportedQueryError
from deniable.query.expression import Call, Column, Expression, Facts, Key, Kind, Literal
from deniable.query.plan import PricedAggregate, PricedPlan, Question

LONGEST = 4_000_000  # characters of generated SQL
NAN = "'nan'::DOUBLE"
# Source types by their DuckDB name; anything else cannot be used in a query.
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), Kind.INTEGER),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL"), Kind.REAL),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), Kind.TEXT),
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    **dict.fromkeys(
        ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), Kind.TIMESTAMP
    ),
}
TYPES = {
    Kind.BOOLEAN: "BOOLEAN",
    Kind.INTEGER: "BIGINT",
    Kind.REAL: "DOUBLE",
    Kind.TEXT: "VARCHAR",
    Kind.DATE: "DATE",
    Kind.TIMESTAMP: "TIMESTAMP",
}
WIDENING = {  # casts that no value can stop
    *((name, "BIGINT") for name, kind in KINDS.items() if kind is Kind.INTEGER),
    *((name, "DOUBLE") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT")),
    ("ENUM", "VARCHAR"),
    ("UUID", "VARCHAR"),
}


def quoted(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string constant."""
    if "\0" in value:
        raise UnsupportedQueryError("text constants cannot hold the character NUL.")
    return "'" + value.replace("'", "''") + "'"


class Generator:
    """SQL for one source, whose column types are `types` (DuckDB names)."""

    def __init__(self, source: str, types: Mapping[str, str]) -> None:
        self.source = source
        self.types = types

    def plan(self, plan: PricedPlan, *, secret: bytes, share: tuple[int, int] = (0, 1)) -> str:
        """The statement whose rows are (cell, one integer per aggregate), for the cells that occur.

        Args:
            share: (turn, passes): of all units, those whose turn it is. The totals of all turns add up to the answer.

        Layers: `picked` evaluates expressions row by row, `placed` numbers the public groups, and then either rows are
        aggregated at once (a row is a unit) or per unit and group, bounded, and then per group.
        """
        question = plan.query.question
        unit = question.table.unit.column
        picked = self._picked(question, plan.parts)
        placed = _placed(question, plan.parts, None if unit is None else share)
        if unit is None:
            sums = ", ".join(_whole_total(index, plan.parts) for index in range(len(plan.parts)))
            body = f"SELECT cell, {sums} FROM placed GROUP BY cell"
            statement = f"WITH picked AS ({picked}), placed AS ({placed}) {body}"
        elif question.table.total_rows is not None:
            body = _spread(plan.parts, question.table.total_rows)
            statement = f"WITH picked AS ({picked}), placed AS ({placed}), {body}"
        else:
            statement = f"WITH picked AS ({picked}), placed AS ({placed}), {_bounded(question, plan.parts, secret)}"
        if len(statement) > LONGEST:
            raise UnsupportedQueryError(
                "the query is too deeply nested to be run. Write it with fewer nested expressions."
            )
        return statement

    def _picked(self, question: Question, parts: Sequence[PricedAggregate]) -> str:
        """Row by row: the unit, the keys and the argument of each aggregate, filtered."""
        items = [f"{self.expression(key)} AS k{index}" for index, key in enumerate(question.keys)]
        for index, part in enumerate(parts):
            argument = part.aggregate.argument
            if argument is not None and _value_of(index, parts) == index:
                value = self._on_lattice(part) if part.aggregate.function == "sum" else self.expression(argument)
                items.append(f"{value} AS x{index}")
        unit = question.table.unit.column
        conditions = []
        if unit is not None:
            items.append(f"{self._unit(unit)} AS u")
        if question.where is not None:
            conditions.append(self.expression(question.where))
        where = f" WHERE {' AND '.join(f'({c})' for c in conditions)}" if conditions else ""
        return f"SELECT {', '.join(items) or '1 AS one'} FROM {self.source}{where}"

    def _unit(self, name: str) -> str:
        """The unit's id; a NULL or NaN id belongs to nobody and is left out later."""
        base = self.types[name]
        return f"nullif({quoted(name)}, 'nan')" if base in ("FLOAT", "DOUBLE") else quoted(name)

    def _on_lattice(self, part: PricedAggregate) -> str:
        """The argument of a sum as an integer, not yet centred: NULL and NaN first, then the clamp, then the grid.

        The ends of the clamp are multiples of the grid and exact doubles, so no rounding leaves the range.
        """
        argument = part.aggregate.argument
        assert argument is not None
        centre = part.centre
        value = self.expression(argument, nan_allowed=True)
        if argument.facts.kind is Kind.INTEGER:
            steps = 2**part.lattice.exponent
            clamped = _clamp(value, str((part.lower + centre) // steps), str((part.upper + centre) // steps), "")
            return clamped if steps == 1 else f"CAST({clamped} AS HUGEINT) * {steps}"
        low, high = (f"{float((end + centre) * part.lattice.grid)!r}::DOUBLE" for end in (part.lower, part.upper))
        clamped = _clamp(value, low, high, f"WHEN isnan({value}) THEN NULL ")
        return f"CAST(({clamped}) * {float(1 / part.lattice.grid)!r}::DOUBLE AS BIGINT)"

    def expression(self, node: Expression, *, nan_allowed: bool = False) -> str:
        """SQL that gives the value of `node`, or NULL, for every row; never NaN unless `nan_allowed`."""
        match node:
            case Literal():
                return constant(node)
            case Column():
                return self._column(node, nan_allowed)
            case Call():
                return self._call(node)

    def _column(self, node: Column, nan_allowed: bool) -> str:
        base, wanted = self.types[node.name], TYPES[node.facts.kind]
        name = quoted(node.name)
        if (base, wanted) in WIDENING:
            name = f"CAST({name} AS {wanted})"
        elif base != wanted:
            name = f"TRY(TRY_CAST({name} AS {wanted}))"
        return f"nullif({name}, {NAN})" if wanted == "DOUBLE" and not nan_allowed else name

    def _call(self, node: Call) -> str:
        if node.operator == "case":
            return self._case(node)
        facts = [argument.facts for argument in node.arguments]
        arguments = [self.expression(argument) for argument in node.arguments]
        if node.operator in COMMON_KIND:
            arguments = _in_common_kind(arguments, facts)
        elif node.facts.kind is Kind.REAL and node.operator not in ("to_real", "round"):
            arguments = [_cast(sql, fact, Kind.REAL) for sql, fact in zip(arguments, facts, strict=True)]
        sql = TEMPLATES[node.operator](arguments)
        return f"nullif({sql}, {NAN})" if node.facts.kind is Kind.REAL else sql

    def _case(self, node: Call) -> str:
        kind = node.facts.kind
        parts = [self.expression(argument) for argument in node.arguments]
        values = {index: argument for index, argument in enumerate(node.arguments) if index % 2}
        values[len(parts) - 1] = node.arguments[-1]
        for index, argument in values.items():
            parts[index] = _cast(parts[index], argument.facts, kind)
        branches = " ".join(f"WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2))
        return f"CASE {branches} ELSE {parts[-1]} END"


COMMON_KIND = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in", "coalesce", "nullif", "least", "greatest"})


def _in_common_kind(arguments: Sequence[str], facts: Sequence[Facts]) -> list[str]:
    kinds = {fact.kind for fact in facts}
    for wide in (Kind.REAL, Kind.TIMESTAMP):
        if wide in kinds:
            return [_cast(sql, fact, wide) for sql, fact in zip(arguments, facts, strict=True)]
    return list(arguments)


def _cast(sql: str, facts: Facts, kind: Kind) -> str:
    """A widening cast, which cannot fail; NULL constants get their type from it."""
    return sql if facts.kind is kind or kind is Kind.NULL else f"CAST({sql} AS {TYPES[kind]})"


def _infix(sign: str) -> Callable[[Sequence[str]], str]:
    return lambda arguments: f"TRY(({arguments[0]}) {sign} ({arguments[1]}))"


def _plain_infix(sign: str) -> Callable[[Sequence[str]], str]:
    return lambda arguments: "(" + f" {sign} ".join(f"({argument})" for argument in arguments) + ")"


def _function(name: str) -> Callable[[Sequence[str]], str]:
    return lambda arguments: f"TRY({name}({', '.join(arguments)}))"


def _to(kind: Kind) -> Callable[[Sequence[str]], str]:
    return lambda arguments: f"TRY(TRY_CAST({arguments[0]} AS {TYPES[kind]}))"


def _unless_null(name: str) -> Callable[[Sequence[str]], str]:
    """LEAST and GREATEST that are NULL if any argument is; DuckDB's own skip NULL."""

    def sql(arguments: Sequence[str]) -> str:
        missing = " OR ".join(f"({argument}) IS NULL" for argument in arguments)
        return f"CASE WHEN {missing} THEN NULL ELSE {name}({', '.join(arguments)}) END"

    return sql


# One entry per operator except CASE; every SQL below gives NULL where the operation has no value.
TEMPLATES: Mapping[str, Callable[[Sequence[str]], str]] = {
    "add": _infix("+"),
    "subtract": _infix("-"),
    "multiply": _infix("*"),
    "divide": lambda a: f"TRY(({a[0]}) / nullif({a[1]}, 0))",
    "modulo": lambda a: f"TRY(({a[0]}) % nullif({a[1]}, 0))",
    "negate": lambda a: f"TRY(-({a[0]}))",
    "abs": _function("abs"),
    "round": lambda a: f"TRY(round_even(CAST({a[0]} AS DOUBLE), CAST({a[1]} AS INTEGER)))",
    "floor": lambda a: f"TRY(TRY_CAST(floor({a[0]}) AS BIGINT))",
    "ceil": lambda a: f"TRY(TRY_CAST(ceil({a[0]}) AS BIGINT))",
    "sqrt": _function("sqrt"),
    "ln": _function("ln"),
    "log10": _function("log10"),
    "exp": _function("exp"),
    "power": _function("power"),
    "sign": lambda a: f"TRY(CAST(sign({a[0]}) AS BIGINT))",
    "least": _unless_null("least"),
    "greatest": _unless_null("greatest"),
    "eq": _plain_infix("="),
    "ne": _plain_infix("<>"),
    "lt": _plain_infix("<"),
    "le": _plain_infix("<="),
    "gt": _plain_infix(">"),
    "ge": _plain_infix(">="),
    "in": lambda a: f"(({a[0]}) IN ({', '.join(a[1:])}))",
    "is_null": lambda a: f"(({a[0]}) IS NULL)",
    "like": _plain_infix("LIKE"),
    "ilike": _plain_infix("ILIKE"),
    "and": _plain_infix("AND"),
    "or": _plain_infix("OR"),
    "not": lambda a: f"(NOT ({a[0]}))",
    "coalesce": lambda a: f"coalesce({', '.join(a)})",
    "nullif": lambda a: f"nullif({a[0]}, {a[1]})",
    "lower": _function("lower"),
    "upper": _function("upper"),
    "trim": _function("trim"),
    "concat": _infix("||"),
    "length": lambda a: f"TRY(CAST(length({a[0]}) AS BIGINT))",
    "substring": _function("substring"),
    **{
        part: _function(part)
        for part in ("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear", "hour", "minute")
    },
    "to_integer": _to(Kind.INTEGER),
    "to_real": _to(Kind.REAL),
    "to_text": _to(Kind.TEXT),
    "to_boolean": _to(Kind.BOOLEAN),
    "to_date": _to(Kind.DATE),
    "to_timestamp": _to(Kind.TIMESTAMP),
}


def constant(node: Literal) -> str:
    """A constant of the query, with its type."""
    value = node.value
    match value:
        case Fraction():
            return f"{float(value)!r}::DOUBLE"
        case datetime():
            return f"TIMESTAMP {text(value.isoformat(sep=' '))}"
        case bool() | int() | str() | date() | None:
            return key_constant(value)


def key_constant(value: Key) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"{value}::BIGINT"
        case str():
            return text(value)
        case date():
            return f"DATE {text(value.isoformat())}"


def _clamp(value: str, low: str, high: str, not_a_number: str) -> str:
    """`value` in [low, high]. The common case is tested first; NULL fails every test and stays NULL."""
    return (
        f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value} {not_a_number}"
        f"WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} END"
    )


def _value_of(index: int, parts: Sequence[PricedAggregate]) -> int:
    """The part whose column x holds the value of part `index`: COUNT(v) reads that of SUM(v), NULL where v is."""
    aggregate = parts[index].aggregate
    if aggregate.function == "count" and aggregate.argument is not None:
        for other, part in enumerate(parts):
            if part.aggregate.function == "sum" and part.aggregate.argument == aggregate.argument:
                return other
    return index


# Groups -----------------------------------------------------------------------------------------------------------


def _placed(question: Question, parts: Sequence[PricedAggregate], share: tuple[int, int] | None) -> str:
    """Rows with the number of their group; rows outside the public groups, or of no unit, are gone."""
    carried = [
        f"x{index}"
        for index, part in enumerate(parts)
        if part.aggregate.argument is not None and _value_of(index, parts) == index
    ]
    positions: list[str] = []
    joins: list[str] = []
    filters: list[str] = []
    for index, keys in enumerate(question.key_values):
        kind = question.keys[index].facts.kind
        positions.append(_position(index, keys, kind, joins, filters))
    cell = "0"
    for position, keys in zip(positions, question.key_values, strict=True):
        cell = position if cell == "0" else f"({cell}) * {len(keys)} + {position}"
    if share is not None:
        turn, passes = share
        carried.append("u")
        filters.append("u IS NOT NULL" if passes == 1 else f"hash(u) % {passes} = {turn}")
    where = f" WHERE {' AND '.join(filters)}" if filters else ""
    items = ", ".join([f"CAST({cell} AS INTEGER) AS cell", *carried])
    return f"SELECT {items} FROM picked{''.join(joins)}{where}"


def _position(index: int, keys: Sequence[Key], kind: Kind, joins: list[str], filters: list[str]) -> str:
    """SQL for the position of key `index` in its public list; adds what it needs to `joins` and `filters`."""
    first = keys[0]
    if kind is Kind.INTEGER and isinstance(first, int) and list(keys) == list(range(first, first + len(keys))):
        filters.append(f"k{index} BETWEEN {first} AND {first + len(keys) - 1}")
        return f"(k{index} - {first})"
    rows = ", ".join(f"({key_constant(key)}, {position})" for position, key in enumerate(keys))
    joins.append(f" JOIN (VALUES {rows}) AS d{index}(value, position) ON k{index} IS NOT DISTINCT FROM d{index}.value")
    return f"d{index}.position"


# Totals -----------------------------------------------------------------------------------------------------------


def _whole_total(index: int, parts: Sequence[PricedAggregate]) -> str:
    """The total of one aggregate where every row is a unit: nothing to bound."""
    match parts[index].aggregate.function:
        case "sum":
            return f"coalesce({_centred_sum(index, parts[index])}, 0) AS a{index}"
        case "count" if parts[index].aggregate.argument is not None:
            return f"count(x{_value_of(index, parts)}) AS a{index}"
    return f"count(*) AS a{index}"


def _centred_sum(index: int, part: PricedAggregate) -> str:
    """The sum of x minus centre, in 128 bits."""
    return f"sum(x{index}) - {part.centre}::HUGEINT * count(x{index})" if part.centre else f"sum(x{index})"


def _bounded(question: Question, parts: Sequence[PricedAggregate], secret: bytes) -> str:
    """Totals where a unit may have many rows.

    `pairs` has one row per unit and group. A unit with more than `rows` rows in a group counts as `rows` rows with the
    mean of its values there: what keeping `rows` of them at random gives on average, without the randomness. A unit in
    more than `groups` groups keeps those with the smallest keyed hashes.
    """
    table = question.table
    pairs = ", ".join(piece for index in range(len(parts)) for piece in _pair_columns(index, parts))
    totals = ", ".join(_pair_total(index, parts, table.rows) for index in range(len(parts)))
    layers = [f"pairs AS MATERIALIZED (SELECT u, cell{', ' + pairs if pairs else ''} FROM placed GROUP BY u, cell)"]
    source = "pairs"
    if table.groups < question.cells:
        layers += _choose_groups(table.groups, question.cells, secret)
        source = "hashed LEFT JOIN marks USING (u) WHERE mark IS NULL OR h <= mark"
    return f"{', '.join(layers)} SELECT cell, {totals} FROM {source} GROUP BY cell"


def _spread(parts: Sequence[PricedAggregate], total_rows: int) -> str:
    """Totals where a unit may have many rows, bounded in all.

    Each row of a unit with n > `total_rows` rows counts as `total_rows` / n of a row: what keeping that many at random
    gives on average, without the randomness. Shares are rounded towards 0, so no unit exceeds its bound.
    """
    totals = ", ".join(_spread_total(index, parts, total_rows) for index in range(len(parts)))
    return (
        f"heavy AS (SELECT u, count(*) AS n FROM placed GROUP BY u HAVING count(*) > {total_rows}) "
        f"SELECT cell, {totals} FROM placed LEFT JOIN heavy USING (u) GROUP BY cell"
    )


def _spread_total(index: int, parts: Sequence[PricedAggregate], total_rows: int) -> str:
    part = parts[index]
    if part.aggregate.function == "sum":
        value = f"(x{index} - {part.centre})" if part.centre else f"x{index}"
        largest = max(abs(part.lower), abs(part.upper)) * total_rows
        wide = "" if largest < 2**63 else "::HUGEINT"  # 64 bits are much faster where they provably suffice
        share = f"CASE WHEN n IS NULL THEN {value} ELSE ({value} * {total_rows}{wide}) // n END"
        return f"coalesce(sum({share}), 0) AS a{index}"
    one = 2**part.lattice.exponent
    share = f"CASE WHEN n IS NULL THEN {one} ELSE {one * total_rows} // n END"
    if part.aggregate.argument is None:
        return f"sum({share}) AS a{index}"
    return f"coalesce(sum({share}) FILTER (WHERE x{_value_of(index, parts)} IS NOT NULL), 0) AS a{index}"


def _choose_groups(groups: int, cells: int, secret: bytes) -> list[str]:
    """Layers that mark, for each unit with too many groups, the largest hash that still counts.

    The low bits of a hash are the group's own number, so no two groups of a unit share one and the mark admits exactly
    `groups` of them. The bound holds for any hash; the key only keeps the choice unpredictable.
    """
    bits = max(1, (cells - 1).bit_length())
    first, second = (int.from_bytes(secret[start : start + 8], "big") for start in (0, 8))
    mixed = f"hash(xor(hash(u), {first}::UBIGINT), xor(hash(cell), {second}::UBIGINT))"
    mixed = f"(hash({mixed}) & {(2**64 - 1) ^ (2**bits - 1)}::UBIGINT) | cell::UBIGINT"
    return [
        f"hashed AS (SELECT *, {mixed} AS h FROM pairs)",
        f"marks AS (SELECT u, list_last(min(h, {groups})) AS mark FROM hashed GROUP BY u HAVING count(*) > {groups})",
    ]


def _pair_columns(index: int, parts: Sequence[PricedAggregate]) -> list[str]:
    part = parts[index]
    match part.aggregate.function:
        case "sum":
            return [f"{_centred_sum(index, part)} AS s{index}", f"count(x{index}) AS n{index}"]
        case "count" if _value_of(index, parts) != index:
            return []
        case "count" if part.aggregate.argument is not None:
            return [f"count(x{index}) AS n{index}"]
        case "count":
            return [f"count(*) AS n{index}"]
    return []


def _pair_total(index: int, parts: Sequence[PricedAggregate], rows: int) -> str:
    match parts[index].aggregate.function:
        case "sum":
            share = f"CASE WHEN n{index} > {rows} THEN (s{index} * {rows}) // n{index} ELSE s{index} END"
            return f"coalesce(sum({share}), 0) AS a{index}"
        case "count":
            return f"sum(least(n{_value_of(index, parts)}, {rows})) AS a{index}"
    return f"count(*) AS a{index}"
