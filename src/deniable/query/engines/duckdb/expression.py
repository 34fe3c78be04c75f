"""Expressions as DuckDB SQL: total, row by row, never NaN.

Nothing of the analyst's text reaches this file; names are quoted, constants are printed from Python values.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction

from deniable.errors import UnsupportedQueryError
from deniable.query.expression import Call, Column, Expression, Facts, Key, Kind, Literal

LONGEST = 1_000_000  # characters of one expression
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
FLOATS = ("FLOAT", "DOUBLE")
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


class Translator:
    """SQL of expressions over one source, whose column types are `types` (DuckDB names)."""

    def __init__(self, types: Mapping[str, str]) -> None:
        self.types = types

    def expression(self, node: Expression, *, nan_allowed: bool = False) -> str:
        """SQL that gives the value of `node`, or NULL, for every row; never NaN unless `nan_allowed`."""
        match node:
            case Literal():
                return constant(node)
            case Column():
                return self._column(node, nan_allowed)
            case Call():
                sql = self._call(node)
        if len(sql) > LONGEST:  # some operators need an argument twice: nested, they would fill the memory
            raise UnsupportedQueryError("the query is too deeply nested. Write it with fewer nested expressions.")
        return sql

    def stored(self, name: str) -> str:
        """A column as it is stored; text without the collation of its table, in which "a" may equal "A"."""
        return f'({quoted(name)} COLLATE "binary")' if self.types[name] == "VARCHAR" else quoted(name)

    def _column(self, node: Column, nan_allowed: bool) -> str:
        base, wanted = self.types[node.name], TYPES[node.facts.kind]
        name = self.stored(node.name)
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
    """A widening cast; NULL constants get their type from it. A date may be too far away for a timestamp."""
    if facts.kind is kind or kind is Kind.NULL:
        return sql
    return f"TRY(TRY_CAST({sql} AS {TYPES[kind]}))" if kind is Kind.TIMESTAMP else f"CAST({sql} AS {TYPES[kind]})"


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
