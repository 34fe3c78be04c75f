"""Expressions as PostgreSQL: it has no TRY, so what would stop it is asked first.

Whole numbers are computed as NUMERIC, brought into [-2**63 - 1, 2**63], and NULL at the ends of that range. A float
operation that would overflow or underflow, at which PostgreSQL stops, is foreseen by scaling both sides by powers of
two, which is exact: docs/theory/query/dialects.md.
"""

import re
from collections.abc import Mapping, Sequence

from deniable.query.engines.dialect import BLANKS, CASTS, LOGIC, MOMENT, NUMBER, SPACE, WHOLE, Dialect, filled, letters
from deniable.query.engines.duckdb.expression import quoted, text
from deniable.query.expression import Kind, Value

KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("smallint", "integer", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("real", "double precision", "numeric"), Kind.REAL),
    **dict.fromkeys(("text", "character varying", "character", "uuid", "enum"), Kind.TEXT),
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    **dict.fromkeys(("timestamp without time zone", "timestamp with time zone"), Kind.TIMESTAMP),
}
LEAST = "CAST(-9223372036854775808 AS BIGINT)"
INFINITE = "CAST('Infinity' AS DOUBLE PRECISION)"
REAL, TEN = "CAST($1 AS DOUBLE PRECISION)", "power(CAST(10 AS DOUBLE PRECISION), $2)"
ROUGH = "Its last digits depend on the server's library. Compute it outside of the query."


def _power(exponent: int) -> str:
    """2**exponent."""
    return f"CAST('{2.0**exponent!r}' AS DOUBLE PRECISION)"


def _within(value: str, low: str, high: str, wanted: str = "$0") -> str:
    """`wanted`, with `value` for $0, where `value` lies between two numbers that are not reached; else NULL."""
    inside = f"nullif(nullif(least(greatest({value}, {low}), {high}), {low}), {high})"
    return f"CAST({wanted.replace('$0', inside)} AS BIGINT)"


def whole(value: str) -> str:
    """A NUMERIC as an integer, NULL if it does not fit."""
    return _within(value, "-9223372036854775809", "9223372036854775808")


def _truncated(wanted: str) -> str:
    """A float as an integer, NULL if it does not fit: the numbers beside the range of integers are the ends."""
    return _within("$1", "CAST(-9223372036854777856 AS DOUBLE PRECISION)", _power(63), wanted)


def _sum(sign: str) -> str:
    """Half of both sides tells whether the sum is too large; the halves are exact, as both are at least 2**960."""
    return (
        f"CASE WHEN abs($1) < {_power(1022)} AND abs($2) < {_power(1022)} THEN ($1) {sign} ($2) "
        f"WHEN abs($1) = {INFINITE} OR abs($2) = {INFINITE} OR abs($1) < {_power(960)} OR abs($2) < {_power(960)} "
        f"THEN ($1) {sign} ($2) "
        f"WHEN abs(($1) * 0.5 {sign} ($2) * 0.5) < {_power(1023)} THEN ($1) {sign} ($2) "
        f"WHEN ($2) IS NULL THEN NULL WHEN ($1) > 0 THEN {INFINITE} WHEN ($1) < 0 THEN -{INFINITE} END"
    )


def _scaled(sign: str, over: str, vast: str, under: str, tiny: str) -> str:
    """A product or quotient that may leave the range of floats: scaled by 2**1024, it says so and stays in it.

    Args:
        over: where it may be too large, and `vast`: where it certainly is, and scaling would not hold it either.
        under: where it may be too small, and `tiny`: where it certainly is.
    """
    plain, usual = (
        f"($1) {sign} ($2)",
        "BETWEEN CAST('1e-150' AS DOUBLE PRECISION) AND CAST('1e150' AS DOUBLE PRECISION)",
    )
    up, down = _power(512), _power(-512)
    large, small = (f"(a * {a}) {sign} (b * {b})" for a, b in ((down, down), (up, up)))
    if sign == "/":
        large, small = f"(a * {down}) / (b * {up})", f"(a * {up}) / (b * {down})"
    return (
        f"CASE WHEN a {usual} AND b {usual} OR a = 0 OR b = 0 OR a = {INFINITE} OR b = {INFINITE} THEN {plain} "
        f"WHEN {over} THEN CASE WHEN {vast} OR {large} >= 1 "
        f"THEN CASE WHEN (($1) > 0) = (($2) > 0) THEN {INFINITE} ELSE -{INFINITE} END ELSE {plain} END "
        f"WHEN {under} THEN CASE WHEN {tiny} OR {small} <= {_power(-51)} THEN 0 ELSE {plain} END ELSE {plain} END"
    )


def _sized(sql: str) -> str:
    """The sizes of $1 and $2 for a and b, and large powers of two for 2^n."""
    sql = re.sub(r"2\^(-?\d+)", lambda found: _power(int(found[1])), sql)
    return re.sub(r"\b[ab]\b", lambda found: {"a": "abs($1)", "b": "abs($2)"}[found[0]], sql)


PRODUCT = _sized(
    _scaled("*", "a >= 1 AND b >= 1", "a > 2^538 AND b > 2^538", "a < 1 AND b < 1", "a < 2^-538 AND b < 2^-538")
)
QUOTIENT = _sized(
    _scaled(
        "/",
        "a >= 2^-60 AND b < 1 AND (a >= 1 OR b < 2^-1000)",
        "a > 2^538 AND b < 2^-538",
        "a < 1 AND b >= 1",
        "a < 2^-538 AND b > 2^538",
    )
)
# A NUMERIC as a float: to infinity from halfway beyond the largest one, to 0 up to half of the smallest one.
FLOAT = (
    f"CASE WHEN ($1) = 'NaN' THEN NULL WHEN ($1) >= {2**1024 - 2**970} THEN {INFINITE} "
    f"WHEN ($1) <= -{2**1024 - 2**970} THEN -{INFINITE} WHEN abs($1) < 2.4703282292062328e-324 THEN 0 "
    "ELSE CAST($1 AS DOUBLE PRECISION) END"
)


def _extract(pattern: str) -> str:
    """What the parentheses of a pattern hold, NULL unless all of the text $1 matches."""
    return f"substring($1 from '^{pattern}$')"


class Postgres(Dialect):
    name = "PostgreSQL"
    kinds = KINDS
    types: Mapping[Kind, str] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: "DOUBLE PRECISION",
        Kind.TEXT: "TEXT",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP",
    }
    refused: Mapping[str, str] = {
        **dict.fromkeys(("ln", "log10", "exp", "power"), ROUGH),
        "modulo real": "Take the remainder of whole numbers.",
    }
    operators: Mapping[str, str] = {
        "add integer": whole("CAST($1 AS NUMERIC) + ($2)"),
        "subtract integer": whole("CAST($1 AS NUMERIC) - ($2)"),
        "multiply integer": whole("CAST($1 AS NUMERIC) * ($2)"),
        "modulo integer": f"CASE WHEN ($2) = -1 AND ($1) = {LEAST} THEN NULL ELSE ($1) % nullif($2, 0) END",
        "negate integer": f"(-nullif($1, {LEAST}))",
        "abs integer": f"abs(nullif($1, {LEAST}))",
        "add real": _sum("+"),
        "subtract real": _sum("-"),
        "multiply real": PRODUCT,
        "divide": QUOTIENT.replace("($1) / ($2)", "($1) / nullif($2, 0)"),
        "negate real": "(-($1))",
        "abs real": "abs($1)",
        "round": f"CASE WHEN abs({REAL}) > 1.797693134862315e308 / {TEN} THEN {REAL} "
        f"ELSE round({REAL} * {TEN}) / {TEN} END",
        **{f"{name} integer": "$1" for name in ("floor", "ceil")},
        **{f"{name} real": _truncated(f"{name}($0)") for name in ("floor", "ceil")},
        "sqrt": "CASE WHEN ($1) >= 0 THEN sqrt($1) END",
        "sign": "CAST(sign($1) AS BIGINT)",
        **LOGIC,
        "like": "(($1) LIKE ($2) ESCAPE '')",
        "trim": f"btrim($1, '{BLANKS}')",
        "concat": "(($1) || ($2))",
        "length": "CAST(char_length($1) AS BIGINT)",
        "substring": "substring($1, CAST($2 AS INTEGER), CAST($3 AS INTEGER))",
        **{
            part: f"CAST(extract({ {'dayofweek': 'dow', 'dayofyear': 'doy'}.get(part, part) } from $1) AS BIGINT)"
            for part in ("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear", "hour", "minute")
        },
        **{f"{cast} {kind.value}": "$1" for kind, cast in CASTS.items()},
        "to_integer boolean": "CAST(CAST($1 AS INTEGER) AS BIGINT)",
        "to_integer real": _truncated("$0"),
        "to_integer text": whole(f"round(CAST({_extract(f'{SPACE}({WHOLE}){SPACE}')} AS NUMERIC))"),
        "to_real boolean": "CAST(CAST($1 AS INTEGER) AS DOUBLE PRECISION)",
        "to_real integer": "CAST($1 AS DOUBLE PRECISION)",
        "to_real text": FLOAT.replace("$1", f"CAST({_extract(f'{SPACE}({NUMBER}){SPACE}')} AS NUMERIC)"),
        "to_text": "CAST($1 AS TEXT)",
        "to_text date": "to_char($1, 'YYYY-MM-DD')",
        "to_boolean integer": "(($1) <> 0)",
        "to_date timestamp": "CAST($1 AS DATE)",
        "to_date text": f"CAST(CAST({_extract(f'({MOMENT})')} AS TIMESTAMP) AS DATE)",
        "to_timestamp date": "CAST($1 AS TIMESTAMP)",
        "to_timestamp text": f"CAST({_extract(f'({MOMENT})')} AS TIMESTAMP)",
    }

    def operator(self, name: str, kind: Kind) -> str:
        match name:
            case "lower" | "upper":
                plain = f"CASE WHEN octet_length($1) = char_length($1) THEN {name}($1)"
                return f"{plain} ELSE translate($1, {', '.join(text(each) for each in letters(name))}) END"
            case "ilike":
                lower = self.operator("lower", Kind.TEXT)
                return f"(({lower}) LIKE ({lower.replace('$1', '$2')}) ESCAPE '')"
        return super().operator(name, kind)

    def quoted(self, name: str) -> str:
        return quoted(name)

    def text(self, value: str) -> str:
        return text(value)

    def digest(self, sql: str) -> str:
        return f"CAST(CAST('x' || left(md5({sql}), 15) AS BIT(60)) AS BIGINT)"

    def column(self, name: str, base: str, kind: Kind) -> str:
        stored, own = quoted(name), KINDS.get(base)
        match base:
            case "numeric":
                stored = filled(FLOAT, [stored])
            case "timestamp with time zone":
                stored = f"({stored} AT TIME ZONE 'UTC')"
            case _ if own is not None:
                stored = f"CAST({stored} AS {self.types[own]})"
        if own in (Kind.DATE, Kind.TIMESTAMP):
            stored = self.calendar(stored, own)
        if own is kind:
            return stored
        return filled(self.operator(CASTS[kind], own or Kind.NULL), [self.finished(stored, own or Kind.NULL)])

    def finished(self, sql: str, kind: Kind) -> str:
        if kind is Kind.TEXT:
            return f'({sql} COLLATE "C")'
        return f"nullif({sql}, CAST('NaN' AS DOUBLE PRECISION))" if kind is Kind.REAL else sql

    def constant(self, value: Value) -> str:
        said = super().constant(value)
        return self.finished(said, Kind.TEXT) if isinstance(value, str) else said

    def shared(self, sql: str, arguments: Sequence[str], long: Sequence[int]) -> str:
        """A subquery of one row names them; OFFSET keeps the planner from writing each out again."""
        items = ", ".join(f"{arguments[place - 1]} AS x{place}" for place in long)
        named = [f"v.x{place}" if place in long else sql for place, sql in enumerate(arguments, 1)]
        return f"(SELECT {filled(sql, named)} FROM (SELECT {items} OFFSET 0) AS v)"
