"""Expressions as Spark SQL in ANSI mode.

try_ functions give NULL where it would stop, and floats never do.
"""

import json
from collections.abc import Mapping, Sequence

from deniable.errors import UnsupportedQueryError
from deniable.query.engines import dialect
from deniable.query.engines.dialect import (
    BLANKS,
    CAREFUL,
    MOMENT,
    NUMBER,
    PERIODS,
    SORTS,
    SPACE,
    WHOLE,
    Dialect,
    rounded,
)
from deniable.query.expression import Key, Kind
from deniable.query.operators import SIGNS

LOW, HIGH = "-9223372036854777856D", "9223372036854775808D"  # the floats beside the range of integers
INSIDE = f"nullif(nullif(least(greatest($1, {LOW}), {HIGH}), {LOW}), {HIGH})"
ROUGH = "Its last digits depend on Java. Compute it outside of the query."
MARK = "\x01"  # escapes itself in patterns, and nothing else
WIDE = r"[\x{10000}-\x{10FFFF}]"  # characters that Java stores as two
TEN = "power(10D, $2)"


def quoted(name: str) -> str:
    """An identifier.

    Raises: UnsupportedQueryError for names in which Spark would put the value of a variable before it reads them.
    """
    if "${" in name:
        raise UnsupportedQueryError(f"Spark reads the name {name!r} as a variable. Use a name without ${{.")
    return "`" + name.replace("`", "``") + "`"


def text(value: str) -> str:
    """Return a string constant without a backslash.

    The meaning of a backslash depends on a setting. ${name} would become a variable's value, so that different texts
    were one, and one key two groups of a row.
    """
    plain = dialect.text(value)
    return f"CAST(X'{value.encode().hex()}' AS STRING)" if set(value) & set("'\\$") else plain


def _like() -> str:
    """Return LIKE without an escape.

    Spark 4.0 quotes each half of a character beyond 16 bits by itself, so that patterns with one match nothing: Java's
    regular expressions take these, where a pattern is a quotation with holes.
    """
    start = text(r"(?s)\A\Q")
    pattern = "$2"
    stop = text(r"\E\z")
    for part, regex in ((r"\E", r"\E\\E\Q"), ("%", r"\E.*\Q"), ("_", r"\E.\Q")):
        pattern = f"replace({pattern}, {text(part)}, {text(regex)})"
    plain = f"(($1) LIKE replace($2, '{MARK}', '{MARK}{MARK}') ESCAPE '{MARK}')"
    return f"if(($2) RLIKE {text(WIDE)}, ($1) RLIKE concat({start}, {pattern}, {stop}), {plain})"


def _extract(pattern: str, kind: str) -> str:
    """Return SQL for a pattern's group as a value of `kind`; NULL unless all matches."""
    return f"try_cast(regexp_extract($1, {text(f'^{pattern}' + chr(92) + 'z')}, 1) AS {kind})"


class Spark(Dialect):
    name = "Spark"
    text = staticmethod(text)
    quoted = staticmethod(quoted)
    kinds: Mapping[str, Kind] = {
        **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), Kind.INTEGER),
        **dict.fromkeys(("float", "double", "decimal"), Kind.REAL),
        **dict.fromkeys(("string", "varchar", "char"), Kind.TEXT),
        **{"boolean": Kind.BOOLEAN, "date": Kind.DATE},
        **dict.fromkeys(("timestamp", "timestamp_ntz"), Kind.TIMESTAMP),
    }
    types: Mapping[Kind, str] = dict(
        zip(SORTS, ("boolean", "bigint", "double", "string", "date", "timestamp_ntz"), strict=True)
    )
    sharing = "transform(array(struct({items})), {v} -> {sql})[0]"
    named = "transform(array({value}), {name} -> {sql})[0]"
    refused: Mapping[str, str] = dict.fromkeys(("ln", "log10", "exp", "power"), ROUGH)
    operators: Mapping[str, str] = {
        **CAREFUL,
        **{f"{name} integer": f"try_{name}($1, $2)" for name in ("add", "subtract", "multiply")},
        **{f"{name} real": f"(($1) {SIGNS[name]} ($2))" for name in ("add", "subtract", "multiply")},
        "divide": "(($1) / nullif($2, 0D))",
        "modulo real": "(($1) % nullif($2, 0D))",
        "round": rounded("CAST($1 AS DOUBLE)", TEN, "rint"),
        **{f"{name} real": f"{name}({INSIDE})" for name in ("floor", "ceil")},
        "sqrt": "sqrt($1)",
        "like": _like(),
        "trim": f"trim(BOTH '{BLANKS}' FROM $1)",
        **{
            part: f"CAST({part}($1) AS BIGINT)"
            for part in ("year", "quarter", "month", "day", "dayofyear", "hour", "minute")
        },
        "week": "CAST(weekofyear($1) AS BIGINT)",
        "dayofweek": "CAST(dayofweek($1) - 1 AS BIGINT)",
        "to_integer boolean": "CAST($1 AS BIGINT)",
        "to_integer real": f"CAST(rint({INSIDE}) AS BIGINT)",
        "to_integer text": f"try_cast({_extract(f'{SPACE}({WHOLE}){SPACE}', 'DECIMAL(38, 0)')} AS BIGINT)",
        "to_real": "CAST($1 AS DOUBLE)",
        "to_real text": _extract(f"{SPACE}({NUMBER}){SPACE}", "DOUBLE"),
        "to_text": "CAST($1 AS STRING)",
        "to_date text": f"CAST({_extract(f'({MOMENT})', 'TIMESTAMP_NTZ')} AS DATE)",
        "to_timestamp date": "CAST($1 AS TIMESTAMP_NTZ)",
        **{f"to_{period}": f"trunc(CAST($1 AS DATE), '{period}')" for period in PERIODS},
        "to_timestamp text": _extract(f"({MOMENT})", "TIMESTAMP_NTZ"),
    }

    def digest(self, sql: str) -> str:
        return f"CAST(conv(left(md5(CAST({sql} AS BINARY)), 15), 16, 10) AS BIGINT)"

    def listed(self, kinds: Mapping[str, Kind], rows: Sequence[Sequence[Key]]) -> str:
        columns = ", ".join(f"{name}: {self.types[kind]}" for name, kind in kinds.items())
        said = json.dumps(
            [dict(zip(kinds, row, strict=True), position=index) for index, row in enumerate(rows)], default=str
        )
        return f"SELECT inline(from_json({text(said)}, 'array<struct<{columns}, position: int>>'))"

    def column(self, name: str, base: str, kind: Kind) -> str:
        if base == "decimal" and kind is Kind.INTEGER:
            return f"try_cast(try_cast({self.quoted(name)} AS DECIMAL(38, 0)) AS BIGINT)"
        return super().column(name, base, kind)

    def stored(self, name: str, base: str) -> str:
        stored = super().stored(name, base)
        text = self.kinds.get(base) is Kind.TEXT
        return f"try_validate_utf8({stored} COLLATE UTF8_BINARY)" if text else stored

    def finished(self, sql: str, kind: Kind) -> str:
        return f"nanvl({sql} + 0D, CAST(NULL AS DOUBLE))" if kind is Kind.REAL else sql
