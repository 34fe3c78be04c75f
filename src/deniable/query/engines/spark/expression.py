"""Expressions as Spark SQL in ANSI mode: try_ functions give NULL where it would stop, and floats never do."""

from collections.abc import Mapping, Sequence

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.dialect import BLANKS, CASTS, LOGIC, MOMENT, NUMBER, SPACE, WHOLE, Dialect, filled, letters
from deniable.query.expression import Kind

KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.INTEGER),
    **dict.fromkeys(("float", "double", "decimal"), Kind.REAL),
    **dict.fromkeys(("string", "varchar", "char"), Kind.TEXT),
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Kind.TIMESTAMP),
}
LEAST = "CAST(-9223372036854775808 AS BIGINT)"
LOW, HIGH = "-9223372036854777856D", "9223372036854775808D"  # the floats beside the range of integers
INSIDE = f"nullif(nullif(least(greatest($1, {LOW}), {HIGH}), {LOW}), {HIGH})"
ROUGH = "Its last digits depend on Java. Compute it outside of the query."
MARK = "\x01"  # escapes itself in patterns, and nothing else


def text(value: str) -> str:
    """A string constant, of plain signs only: what a backslash means in one depends on a setting."""
    if "\0" in value:
        raise UnsupportedQueryError("text constants cannot hold the character NUL.")
    if "'" in value or "\\" in value:
        return f"CAST(X'{value.encode().hex()}' AS STRING)"
    return f"'{value}'"


def _extract(pattern: str) -> str:
    """What the parentheses of a pattern hold, empty unless all of the text $1 matches."""
    return f"regexp_extract($1, {text(f'^{pattern}' + chr(92) + 'z')}, 1)"


class Spark(Dialect):
    name = "Spark"
    kinds = KINDS
    types: Mapping[Kind, str] = {
        Kind.BOOLEAN: "BOOLEAN",
        Kind.INTEGER: "BIGINT",
        Kind.REAL: "DOUBLE",
        Kind.TEXT: "STRING",
        Kind.DATE: "DATE",
        Kind.TIMESTAMP: "TIMESTAMP_NTZ",
    }
    refused: Mapping[str, str] = dict.fromkeys(("ln", "log10", "exp", "power"), ROUGH)
    operators: Mapping[str, str] = {
        **{f"{name} integer": f"try_{name}($1, $2)" for name in ("add", "subtract", "multiply")},
        "modulo integer": f"CASE WHEN ($2) = -1 AND ($1) = {LEAST} THEN NULL ELSE ($1) % nullif($2, 0) END",
        "negate integer": f"(-nullif($1, {LEAST}))",
        "abs integer": f"abs(nullif($1, {LEAST}))",
        "add real": "(($1) + ($2))",
        "subtract real": "(($1) - ($2))",
        "multiply real": "(($1) * ($2))",
        "divide": "(($1) / nullif($2, 0D))",
        "modulo real": "(($1) % nullif($2, 0D))",
        "negate real": "(-($1))",
        "abs real": "abs($1)",
        "round": "CASE WHEN abs(CAST($1 AS DOUBLE)) > 1.797693134862315E308D / power(10D, $2) THEN CAST($1 AS DOUBLE) "
        "ELSE rint($1 * power(10D, $2)) / power(10D, $2) END",
        **{f"{name} integer": "$1" for name in ("floor", "ceil")},
        **{f"{name} real": f"{name}({INSIDE})" for name in ("floor", "ceil")},
        "sqrt": "sqrt($1)",
        "sign": "CAST(signum($1) AS BIGINT)",
        **LOGIC,
        "in real": "((($1) + 0D) IN ($+))",  # a set of constants tells -0.0 from 0.0
        "like": f"(($1) LIKE replace($2, '{MARK}', '{MARK}{MARK}') ESCAPE '{MARK}')",
        "trim": f"trim(BOTH '{BLANKS}' FROM $1)",
        "concat": "(($1) || ($2))",
        "length": "CAST(length($1) AS BIGINT)",
        "substring": "substring($1, CAST($2 AS INT), CAST($3 AS INT))",
        **{
            part: f"CAST({part}($1) AS BIGINT)"
            for part in ("year", "quarter", "month", "day", "dayofyear", "hour", "minute")
        },
        "week": "CAST(weekofyear($1) AS BIGINT)",
        "dayofweek": "CAST(dayofweek($1) - 1 AS BIGINT)",
        **{f"{cast} {kind.value}": "$1" for kind, cast in CASTS.items()},
        "to_integer boolean": "CAST($1 AS BIGINT)",
        "to_integer real": f"CAST(rint({INSIDE}) AS BIGINT)",
        "to_integer text": f"try_cast(try_cast({_extract(f'{SPACE}({WHOLE}){SPACE}')} AS DECIMAL(38, 0)) AS BIGINT)",
        "to_real boolean": "CAST($1 AS DOUBLE)",
        "to_real integer": "CAST($1 AS DOUBLE)",
        "to_real text": f"try_cast({_extract(f'{SPACE}({NUMBER}){SPACE}')} AS DOUBLE)",
        "to_text": "CAST($1 AS STRING)",
        "to_boolean integer": "(($1) <> 0)",
        "to_date timestamp": "CAST($1 AS DATE)",
        "to_date text": f"CAST(try_cast({_extract(f'({MOMENT})')} AS TIMESTAMP_NTZ) AS DATE)",
        "to_timestamp date": "CAST($1 AS TIMESTAMP_NTZ)",
        "to_timestamp text": f"try_cast({_extract(f'({MOMENT})')} AS TIMESTAMP_NTZ)",
    }

    def operator(self, name: str, kind: Kind) -> str:
        match name:
            case "lower" | "upper":
                return f"translate($1, {', '.join(text(each) for each in letters(name))})"
            case "ilike":
                lower = self.operator("lower", Kind.TEXT)
                return self.operators["like"].replace("$1", lower).replace("$2", lower.replace("$1", "$2"))
        return super().operator(name, kind)

    def quoted(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        return text(value)

    def digest(self, sql: str) -> str:
        return f"CAST(conv(left(md5(CAST({sql} AS BINARY)), 15), 16, 10) AS BIGINT)"

    def column(self, name: str, base: str, kind: Kind) -> str:
        stored, own = self.quoted(name), KINDS.get(base)
        if own is Kind.TEXT:
            stored = f"(CAST({stored} AS STRING) COLLATE UTF8_BINARY)"
        elif own is not None:
            stored = f"CAST({stored} AS {self.types[own]})"
        if own in (Kind.DATE, Kind.TIMESTAMP):
            stored = self.calendar(stored, own)
        if own is kind:
            return stored
        return filled(self.operator(CASTS[kind], own or Kind.NULL), [self.finished(stored, own or Kind.NULL)])

    def finished(self, sql: str, kind: Kind) -> str:
        return f"nanvl({sql}, CAST(NULL AS DOUBLE))" if kind is Kind.REAL else sql

    def shared(self, sql: str, arguments: Sequence[str], long: Sequence[int]) -> str:
        """A function of one row names them."""
        items = ", ".join(f"{arguments[place - 1]} AS x{place}" for place in long)
        named = [f"v.x{place}" if place in long else sql for place, sql in enumerate(arguments, 1)]
        return f"transform(array(struct({items})), v -> {filled(sql, named)})[0]"
