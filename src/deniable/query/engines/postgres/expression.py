"""Expressions as PostgreSQL: it has no TRY, so what would stop it is asked first.

Whole numbers are computed as NUMERIC. A float operation that would overflow or underflow, at which PostgreSQL stops, is
foreseen by scaling both sides by powers of two, which is exact: docs/theory/query/dialects.md.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence

from deniable.query.engines.dialect import (
    BLANKS,
    CAREFUL,
    END,
    MOMENT,
    NUMBER,
    PERIODS,
    SORTS,
    SPACE,
    WHOLE,
    Dialect,
    filled,
    quoted,
    rounded,
    text,
)
from deniable.query.expression import Key, Kind

INFINITE, NAN, ZERO = (f"CAST('{name}' AS DOUBLE PRECISION)" for name in ("Infinity", "NaN", "0"))
REAL, TEN = "CAST($1 AS DOUBLE PRECISION)", "power(CAST(10 AS DOUBLE PRECISION), $2)"
ROUGH = "Its last digits depend on the server's library. Compute it outside of the query."


def _within(value: str, low: str, high: str, wanted: str = "$0") -> str:
    """Return `wanted` where `value` lies between two numbers, else NULL.

    `value` replaces $0; the two numbers are not reached.
    """
    inside = f"nullif(nullif(least(greatest({value}, {low}), {high}), {low}), {high})"
    return f"CAST({wanted.replace('$0', inside)} AS BIGINT)"


def _whole(value: str) -> str:
    """A NUMERIC as an integer, NULL if it does not fit."""
    return _within(value, "-9223372036854775809", "9223372036854775808")


def _truncated(wanted: str) -> str:
    """Return a float as an integer, NULL if it does not fit.

    The ends are the floats beside the range of integers.
    """
    return _sized(_within("$1", "CAST(-9223372036854777856 AS DOUBLE PRECISION)", "2^63", wanted))


def _sized(sql: str, sign: str = "") -> str:
    """Return `sql` with its shorthands written out.

    a and b stand for the sizes of $1 and $2, 2^n for a power, PLAIN for $1 and $2 with a sign between.
    """
    words = {"a": "abs($1)", "b": "abs($2)", "PLAIN": f"($1) {sign} ($2)", "INFINITE": INFINITE}
    words["SIGNED"] = f"CASE WHEN (($1) > 0) = (($2) > 0) THEN {INFINITE} ELSE -{INFINITE} END"
    words["USUAL"] = "BETWEEN CAST('1e-150' AS DOUBLE PRECISION) AND CAST('1e150' AS DOUBLE PRECISION)"
    sql = re.sub(r"2\^(-?\d+)", lambda match: f"CAST('{2.0 ** int(match[1])!r}' AS DOUBLE PRECISION)", sql)
    return re.sub(r"\b(?:a|b|PLAIN|SIGNED|USUAL|INFINITE)\b", lambda match: words[match[0]], sql)


def _sum(sign: str) -> str:
    return _sized(
        "CASE WHEN a < 2^1022 AND b < 2^1022 THEN PLAIN "
        "WHEN a = INFINITE OR b = INFINITE OR a < 2^960 OR b < 2^960 THEN PLAIN "
        f"WHEN abs(($1) * 0.5 {sign} ($2) * 0.5) < 2^1023 THEN PLAIN "
        "WHEN ($2) IS NULL THEN NULL WHEN ($1) > 0 THEN INFINITE WHEN ($1) < 0 THEN -INFINITE END",
        sign,
    )


EASY = "CASE WHEN a USUAL AND b USUAL OR a = 0 OR b = 0 OR a = INFINITE OR b = INFINITE THEN PLAIN "
PRODUCT = _sized(
    f"{EASY}WHEN a > 2^538 AND b > 2^538 THEN SIGNED WHEN a < 2^-538 AND b < 2^-538 THEN 0 "
    "WHEN a >= 1 AND b >= 1 THEN CASE WHEN (a * 2^-512) * (b * 2^-512) >= 1 THEN SIGNED ELSE PLAIN END "
    "WHEN a < 1 AND b < 1 THEN CASE WHEN (a * 2^512) * (b * 2^512) <= 2^-51 THEN 0 ELSE PLAIN END ELSE PLAIN END",
    "*",
)
QUOTIENT = _sized(
    f"{EASY}WHEN a > 2^538 AND b < 2^-538 THEN SIGNED WHEN a < 2^-538 AND b > 2^538 THEN 0 "
    "WHEN a >= 2^-60 AND b < 1 AND (a >= 1 OR b < 2^-1000) "
    "THEN CASE WHEN (a * 2^-512) / (b * 2^512) >= 1 THEN SIGNED ELSE PLAIN END "
    "WHEN a < 1 AND b >= 1 THEN CASE WHEN (a * 2^512) / (b * 2^-512) <= 2^-51 THEN 0 ELSE PLAIN END ELSE PLAIN END",
    "/",
).replace("($1) / ($2)", "($1) / nullif($2, 0)")
FIELDS = {part: part for part in ("year", "quarter", "month", "week", "day", "hour", "minute")}
FIELDS |= {"dayofweek": "dow", "dayofyear": "doy"}
HALFWAY = 2**1024 - 2**970  # to what would be the next float after the largest
FLOAT = (  # of a NUMERIC
    f"CASE WHEN ($1) = 'NaN' THEN NULL WHEN ($1) >= {HALFWAY} THEN {INFINITE} WHEN ($1) <= -{HALFWAY} "
    f"THEN -{INFINITE} WHEN abs($1) < 2.4703282292062328e-324 THEN 0 ELSE {REAL} END"
)


def _extract(pattern: str, kind: str) -> str:
    """Return SQL for a pattern's group as a value of `kind`; NULL unless all matches."""
    return f"CAST(substring($1 from '^{pattern}$') AS {kind})"


class Postgres(Dialect):
    name = "PostgreSQL"
    kinds: Mapping[str, Kind] = {
        **dict.fromkeys(("smallint", "integer", "bigint"), Kind.INTEGER),
        **dict.fromkeys(("real", "double precision", "numeric"), Kind.REAL),
        **dict.fromkeys(("text", "character varying", "character", "uuid", "enum"), Kind.TEXT),
        **{"boolean": Kind.BOOLEAN, "date": Kind.DATE},
        **dict.fromkeys(("timestamp without time zone", "timestamp with time zone"), Kind.TIMESTAMP),
    }
    types: Mapping[Kind, str] = dict(
        zip(
            SORTS, ("boolean", "bigint", "double precision", "text", "date", "timestamp without time zone"), strict=True
        )
    )
    # A subquery of one row; OFFSET keeps the planner from writing its items out again.
    sharing = "(SELECT {sql} FROM (SELECT {items} OFFSET 0) AS {v})"
    named = "(SELECT {sql} FROM (SELECT {value} AS {name} OFFSET 0) AS {name})"
    refused: Mapping[str, str] = {
        **dict.fromkeys(("ln", "log10", "exp", "power"), ROUGH),
        "modulo real": "Take the remainder of whole numbers.",
    }
    operators: Mapping[str, str] = {
        **CAREFUL,
        "add integer": _whole("CAST($1 AS NUMERIC) + ($2)"),
        "subtract integer": _whole("CAST($1 AS NUMERIC) - ($2)"),
        "multiply integer": _whole("CAST($1 AS NUMERIC) * ($2)"),
        "add real": _sum("+"),
        "subtract real": _sum("-"),
        "multiply real": PRODUCT,
        "divide": QUOTIENT,
        "round": f"CASE WHEN abs({REAL}) < {END} THEN {rounded(REAL, TEN, 'round')} ELSE {REAL} END",
        **{f"{name} real": _truncated(f"{name}($0)") for name in ("floor", "ceil")},
        "sqrt": "CASE WHEN ($1) >= 0 THEN sqrt($1) END",
        "like": "(($1) LIKE ($2) ESCAPE '')",
        "trim": f"btrim($1, '{BLANKS}')",
        **{part: f"CAST(extract({field} from $1) AS BIGINT)" for part, field in FIELDS.items()},
        "to_integer boolean": "CAST(CAST($1 AS INTEGER) AS BIGINT)",
        "to_integer real": _truncated("$0"),
        "to_integer text": _whole(f"round({_extract(f'{SPACE}({WHOLE}){SPACE}', 'NUMERIC')})"),
        "to_real boolean": "CAST(CAST($1 AS INTEGER) AS DOUBLE PRECISION)",
        "to_real integer": REAL,
        "to_real text": FLOAT.replace("$1", _extract(f"{SPACE}({NUMBER}){SPACE}", "NUMERIC")),
        "to_text": "CAST($1 AS TEXT)",
        "to_text date": "to_char($1, 'YYYY-MM-DD')",
        "to_date text": f"CAST({_extract(f'({MOMENT})', 'TIMESTAMP')} AS DATE)",
        "to_timestamp date": "CAST($1 AS TIMESTAMP)",
        **{f"to_{period}": f"CAST(date_trunc('{period}', CAST($1 AS TIMESTAMP)) AS DATE)" for period in PERIODS},
        "to_timestamp text": _extract(f"({MOMENT})", "TIMESTAMP"),
    }

    def digest(self, sql: str) -> str:
        return f"CAST(CAST('x' || left(md5({sql}), 15) AS BIT(60)) AS BIGINT)"

    @staticmethod
    def quoted(name: str) -> str:
        """Names of more than 63 bytes would be cut, and two of them could become one."""
        size = len(name.encode())
        digest = hashlib.sha256(name.encode()).hexdigest()
        return quoted(name if size < 64 else digest[:63])

    def listed(self, kinds: Mapping[str, Kind], rows: Sequence[Sequence[Key]]) -> str:
        arrays = []  # one constant for each column, which a server reads at once
        for kind, column in zip(kinds.values(), zip(*rows, strict=True), strict=True):
            said = ",".join('"' + re.sub(r'(["\\])', r"\\\1", str(value)) + '"' for value in column)
            arrays.append(f"CAST({text('{' + said + '}')} AS {self.types[kind]}[])")
        items = ", ".join(f"{self.finished(name, kind)} AS {name}" for name, kind in kinds.items())
        return (
            f"SELECT {items}, CAST(position - 1 AS INTEGER) AS position "
            f"FROM unnest({', '.join(arrays)}) WITH ORDINALITY AS t({', '.join(kinds)}, position)"
        )

    def column(self, name: str, base: str, kind: Kind) -> str:
        if base == "numeric" and kind is Kind.INTEGER:
            return _whole(f"round({self.quoted(name)})")
        return super().column(name, base, kind)

    def stored(self, name: str, base: str) -> str:
        if base == "numeric":
            return filled(FLOAT, [self.quoted(name)])
        if base == "timestamp with time zone":
            return f"({self.quoted(name)} AT TIME ZONE 'UTC')"
        return super().stored(name, base)

    def finished(self, sql: str, kind: Kind) -> str:
        if kind is Kind.TEXT:
            return f'({sql} COLLATE "C")'
        return f"nullif({sql} + {ZERO}, {NAN})" if kind is Kind.REAL else sql
