"""Expressions as DuckDB SQL: TRY gives NULL where SQL would stop."""

from collections.abc import Mapping, Sequence

from deniable.query.engines import dialect
from deniable.query.engines.dialect import CASTS, HIDDEN, MOMENT, NUMBER, PERIODS, SHORT, SORTS, SPACE, WHOLE, Dialect
from deniable.query.expression import Kind

NAN, REAL, TEN = "'nan'::DOUBLE", "CAST($1 AS DOUBLE)", "power(10::DOUBLE, $2)"
# Source types by their DuckDB name; anything else cannot be used in a query.
KINDS: Mapping[str, Kind] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), Kind.INTEGER),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "FLOAT", "DOUBLE", "DECIMAL", "WIDE DECIMAL"), Kind.REAL),
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), Kind.TEXT),
    "BOOLEAN": Kind.BOOLEAN,
    "DATE": Kind.DATE,
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP WITH TIME ZONE"), Kind.TIMESTAMP),
    **dict.fromkeys(("TIMESTAMP_NS", "TIMESTAMPTZ_NS"), Kind.TIMESTAMP),
}
# Casts whose last bit is not the same in all versions of DuckDB, in words that mean the same: numbers of more digits
# than a float has are read as text, once rounded; nanoseconds are cut off towards 1970, and the infinite moments NULL.
EXACT: Mapping[tuple[str, str], str] = {
    **dict.fromkeys(
        ((base, "DOUBLE") for base in ("HUGEINT", "UHUGEINT", "WIDE DECIMAL")), "CAST(CAST($1 AS VARCHAR) AS DOUBLE)"
    ),
    **dict.fromkeys(
        ((base, "TIMESTAMP") for base in ("TIMESTAMP_NS", "TIMESTAMPTZ_NS")),
        f"make_timestamp(nullif(nullif(epoch_ns($1), {2**63 - 1}), {1 - 2**63}) // 1000)",
    ),
}
TYPES = dict(zip(SORTS, ("BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR", "DATE", "TIMESTAMP"), strict=True))
FLOATS = ("FLOAT", "DOUBLE")
WIDENING = {  # casts that no value can stop
    *((name, "BIGINT") for name, kind in KINDS.items() if kind is Kind.INTEGER),
    *((name, "DOUBLE") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT")),
    ("ENUM", "VARCHAR"),
    ("UUID", "VARCHAR"),
}


quoted, text = dialect.quoted, dialect.text


def _matching(pattern: str) -> str:
    """The text $1, NULL unless all of it matches."""
    return f"CASE WHEN regexp_full_match($1, '{pattern}') THEN $1 END"


def as_kind(kind: Kind, sql: str = "$1") -> str:
    """A value as one of `kind`, or NULL."""
    return f"TRY(TRY_CAST({sql} AS {TYPES[kind]}))"


class DuckDB(Dialect):
    name = "DuckDB"
    bytes = "strlen($1)"
    named = "list_transform([{value}], lambda {name}: {sql})[1]"
    kinds = KINDS
    types = TYPES
    operators: Mapping[str, str] = {
        "add": "TRY(($1) + ($2))",
        "subtract": "TRY(($1) - ($2))",
        "multiply": "TRY(($1) * ($2))",
        "divide": "TRY(($1) / nullif($2, 0))",
        "modulo": "TRY(($1) % nullif($2, 0))",
        "modulo integer": "(($1) % CASE ($2) WHEN 0 THEN NULL WHEN -1 THEN 1 ELSE ($2) END)",
        "negate": "TRY(-($1))",
        # A cast rounds halves to even in all versions, as round_even does not.
        "round": f"coalesce(CAST(TRY_CAST({REAL} * {TEN} AS BIGINT) AS DOUBLE) / {TEN}, {REAL})",
        **{f"{name} real": as_kind(Kind.INTEGER, f"{name}($1)") for name in ("floor", "ceil")},
        "sign": "TRY(CAST(sign($1) AS BIGINT))",
        **{name: f"TRY({name}($1))" for name in ("abs", "sqrt", "exp", "lower", "upper", "trim")},
        **{name: f"TRY({name}(nullif($1, 0)))" for name in ("ln", "log10")},
        "power": "TRY(power($1, $2))",
        **dialect.LOGIC,
        "like": "(($1) LIKE ($2))",
        "ilike": "(($1) ILIKE ($2))",
        "concat": "TRY(($1) || ($2))",
        "length": "TRY(CAST(length($1) AS BIGINT))",
        "substring": "TRY(substring($1, $2, $3))",
        **{
            part: f"TRY({part}($1))"
            for part in ("year", "quarter", "month", "week", "day", "dayofweek", "dayofyear", "hour", "minute")
        },
        **{name: as_kind(kind) for kind, name in CASTS.items()},
        **{f"to_{period}": f"TRY(CAST(date_trunc('{period}', $1) AS DATE))" for period in PERIODS},
        "to_integer text": as_kind(Kind.INTEGER, _matching(SPACE + WHOLE + SPACE)),
        "to_real text": as_kind(Kind.REAL, _matching(SPACE + NUMBER + SPACE)),
        # Most texts are plain days, and a cast is quicker than an expression; but it also takes 2025/1/2.
        "to_date text": "CASE WHEN strlen($1) = 10 AND CAST(TRY_CAST($1 AS DATE) AS VARCHAR) = $1 "
        f"OR regexp_full_match($1, '{MOMENT}') THEN TRY_CAST($1 AS DATE) END",
        "to_timestamp text": as_kind(Kind.TIMESTAMP, _matching(MOMENT)),
    }

    def uses(self, template: str, index: int) -> int:
        """NULLIF is a CASE that reads its first argument twice."""
        return super().uses(template, index) + template.count(f"nullif(${index},")

    def shared(self, sql: str, arguments: Sequence[str], long: Sequence[int]) -> str:
        """Short arguments are written again, which is quicker to compute."""
        held = list(arguments)
        values = []
        for index in long:
            if len(arguments[index - 1]) > SHORT:
                held[index - 1] = quoted(f"{HIDDEN}shared {index})")
                values.append((held[index - 1], arguments[index - 1]))
        said = dialect.filled(sql, held)
        for name, value in values:
            said = self.let(name, value, said)
        return said

    def digest(self, sql: str) -> str:
        return f"CAST('0x' || left(md5({sql}), 15) AS BIGINT)"

    def stored(self, name: str, base: str) -> str:
        """Return a column as it is stored; text without its collation.

        In the collation of its table, "a" may equal "A".
        """
        return f'({quoted(name)} COLLATE "binary")' if base == "VARCHAR" else quoted(name)

    def column(self, name: str, base: str, kind: Kind) -> str:
        stored = self.stored(name, base)
        wanted = TYPES[kind]
        if base == "VARCHAR" and kind is not Kind.TEXT:
            return dialect.filled(self.operator(CASTS[kind], Kind.TEXT), [stored])
        if (base, wanted) in EXACT:
            stored = dialect.filled(EXACT[base, wanted], [stored])
        elif (base, wanted) in WIDENING:
            stored = f"CAST({stored} AS {wanted})"
        elif base != wanted:
            stored = as_kind(kind, stored)
        return self.calendar(stored, kind)

    def finished(self, sql: str, kind: Kind) -> str:
        if kind is not Kind.REAL:
            return sql
        if len(sql) <= SHORT:
            return f"nullif({sql} + 0.0::DOUBLE, {NAN})"
        name = quoted(f"{HIDDEN}value)")
        return self.let(name, f"{sql} + 0.0::DOUBLE", f"nullif({name}, {NAN})")

    def unit(self, name: str, base: str) -> str:
        """Return a unit as a value that is equal for one unit alone.

        An ENUM is its text, not its place in the list of all texts; -0.0 and 0.0 are one unit.
        """
        column = self.stored(name, base)
        if base == "ENUM":
            return f"CAST({column} AS VARCHAR)"
        return f"nullif({column} + 0.0, 'nan')" if base in FLOATS else column

    def unit_type(self, base: str) -> str:
        return "VARCHAR" if base == "ENUM" else base

    def seed(self, unit: str, kind: Kind) -> str:
        """Other kinds by their texts, which no other engine has alike."""
        return super().seed(unit, kind) if kind in self.seeds else self.digest(f"CAST({unit} AS VARCHAR)")


DUCKDB = DuckDB()
