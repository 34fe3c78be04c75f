"""Dialects of SQL: total expressions, never NaN, with equal values everywhere.

Nothing of the analyst's text gets here; names are quoted, constants are printed from Python values. What values mean,
beyond SQL's own rules: docs/theory/query/dialects.md.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import cache

from deniable.errors import UnsupportedQueryError
from deniable.query.effort import check_time
from deniable.query.expression import LONGEST_TEXT, Call, Column, Expression, Facts, Key, Kind, Literal, Value
from deniable.query.operators import SIGNS
from deniable.rows import entries

# The order in which a dialect names its types.
SORTS = (Kind.BOOLEAN, Kind.INTEGER, Kind.REAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP)
LONGEST = 1_000_000  # characters of one expression
COMMON_KIND = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "in", "coalesce", "nullif", "least", "greatest"})
CASTS: Mapping[Kind, str] = {kind: f"to_{kind.value}" for kind in Kind if kind is not Kind.NULL}
SPACE, WHOLE, NUMBER = entries.SPACE, entries.WHOLE_TEXT, entries.NUMBER_TEXT
# What text can be read as a moment: regular expressions that mean the same everywhere. They admit no day that the
# calendar does not have, so that a cast of what they match cannot fail.
_YEAR = "(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
_LEAP_YEAR = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_LONG, _SHORT = "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])", "(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
_DAY = f"(?:{_YEAR}-(?:{_LONG}|{_SHORT}|02-(?:0[1-9]|1[0-9]|2[0-8]))|{_LEAP_YEAR}-02-29)"
MOMENT = f"{_DAY}(?:[ T](?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{{1,6}})?)?)?"
BLANKS = "".join(map(chr, [0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000]))  # TRIM takes them off
P, Q = 2**31 - 1, 2**31 - 19  # primes
PERIODS = ("week", "month", "quarter", "year")  # of which a date has a first day
FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)  # the calendar; beyond it there is NULL

HIDDEN = "("  # begins the names of values inside of expressions, which hide columns
SHORT = 200  # characters of a value that is written as often as it is needed
MIN_BIGINT = "CAST(-9223372036854775808 AS BIGINT)"
END = "9223372036854775808"  # the first number beyond 64 bits
LOGIC: Mapping[str, str] = {  # what all engines say alike
    **{name: f"(($1) {sign} ($2))" for name, sign in SIGNS.items() if name in COMMON_KIND},
    "in": "(($1) IN ($+))",
    "is_null": "(($1) IS NULL)",
    "and": "(($1) AND ($2))",
    "or": "(($1) OR ($2))",
    "not": "(NOT ($1))",
    "coalesce": "coalesce($*)",
    "nullif": "nullif($1, $2)",
    **{f"{name} integer": "$1" for name in ("floor", "ceil")},
}
CAREFUL: Mapping[str, str] = {  # what those without TRY say alike
    **LOGIC,
    "modulo integer": "(($1) % nullif($2, 0))",
    "negate integer": f"(-nullif($1, {MIN_BIGINT}))",
    "abs integer": f"abs(nullif($1, {MIN_BIGINT}))",
    "negate real": "(-($1))",
    "abs real": "abs($1)",
    "concat": "(($1) || ($2))",
    "length": "CAST(char_length($1) AS BIGINT)",
    "substring": "substring($1, CAST($2 AS INTEGER), CAST($3 AS INTEGER))",
    "sign": "CAST(sign($1) AS BIGINT)",
    **{f"{cast} {kind.value}": "$1" for kind, cast in CASTS.items()},
    "to_boolean integer": "(($1) <> 0)",
    "to_date timestamp": "CAST($1 AS DATE)",
}


def quoted(name: str) -> str:
    """An identifier, as the standard has it."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string constant, as the standard has it."""
    if "\0" in value:
        raise UnsupportedQueryError("text constants cannot hold the character NUL.")
    return "'" + value.replace("'", "''") + "'"


def rounded(value: str, ten: str, function: str) -> str:
    """Return ROUND of a float to the decimals of which `ten` is the power.

    `function` rounds halves to even.
    """
    scaled = f"{value} * {ten}"
    return f"CASE WHEN {scaled} >= -{END} AND {scaled} < {END} THEN {function}({scaled}) / {ten} ELSE {value} END"


class Dialect(ABC):
    """The SQL of one engine: operators, and what it must add so that nothing stops it.

    In `operators`, $1 stands for the first argument, $* for all of them and $+ for all but the first. An entry
    "add integer" is for a first argument of that kind, and goes before "add". What the engine cannot compute to the
    last bit as the others do is in `refused`, with what to do instead.
    """

    name: str
    kinds: Mapping[str, Kind]  # of the source's types, by their names in this engine; others are not read
    types: Mapping[Kind, str]
    operators: Mapping[str, str]
    refused: Mapping[str, str] = {}
    seeds = (Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.BOOLEAN)
    bytes = "octet_length($1)"  # of a text in UTF-8
    sharing: str | None = None  # SQL that gives "items" names, as those of "v", and computes "sql" with them
    named: str | None = None  # SQL that gives "value" a "name", and computes "sql" with it
    quoted = staticmethod(quoted)
    text = staticmethod(text)

    def stored(self, name: str, base: str) -> str:
        """Return a column of the type `base` as a value of its own kind.

        It may be NaN or beyond the calendar.
        """
        kind = self.kinds.get(base)
        return self.quoted(name) if kind is None else f"CAST({self.quoted(name)} AS {self.types[kind]})"

    @abstractmethod
    def finished(self, sql: str, kind: Kind) -> str:
        """Return the canonical form of an operator's or column's value.

        So equal values are one value.

        NaN is NULL, -0.0 is 0.0, and text is compared by its bytes: what a group, DISTINCT or a join holds equal, no
        operator above can tell apart.
        """

    @abstractmethod
    def digest(self, sql: str) -> str:
        """The first 60 bits of the MD5 of a text's bytes in UTF-8, as an integer."""

    def shared(self, sql: str, arguments: Sequence[str], long: Sequence[int]) -> str:
        """Return `sql` over arguments, of which long ones are written once.

        `long` has the numbers of the arguments that are no mere names and are needed repeatedly.
        """
        if self.sharing is None or not long:
            return filled(sql, arguments)
        names = {index: self.quoted(f"{HIDDEN}shared {index})") for index in long}
        v = self.quoted(f"{HIDDEN}shared)")
        items = ", ".join(f"{arguments[index - 1]} AS {name}" for index, name in names.items())
        named = [f"{v}.{names[index]}" if index in long else sql for index, sql in enumerate(arguments, 1)]
        return self.sharing.format(items=items, sql=filled(sql, named), v=v)

    def uses(self, template: str, index: int) -> int:
        """Return how often a template reads the argument with this number."""
        return len(re.findall(rf"\${index}(?!\d)", template)) + ("$*" in template)

    def let(self, name: str, value: str, sql: str) -> str:
        """SQL of `sql`, in which a quoted name stands for a value that is written once."""
        assert self.named is not None
        return self.named.format(name=name, value=value, sql=sql)

    def column(self, name: str, base: str, kind: Kind) -> str:
        """Return a column as a value of `kind`; NaN may come.

        NULL where it is none, or outside of the years 1 to 9999.
        """
        own = self.kinds.get(base, Kind.NULL)
        sql = self.calendar(self.stored(name, base), own)
        return sql if own is kind else filled(self.operator(CASTS[kind], own), [self.finished(sql, own)])

    def calendar(self, sql: str, kind: Kind) -> str:
        """Return a date or timestamp, NULL outside of the years 1 to 9999.

        Values of other kinds stay as they are.
        """
        if kind not in (Kind.DATE, Kind.TIMESTAMP):
            return sql
        first, last = (self.constant(end if kind is Kind.TIMESTAMP else end.date()) for end in (FIRST, LAST))
        return f"CASE WHEN {sql} BETWEEN {first} AND {last} THEN {sql} END"

    def limited(self, sql: str) -> str:
        """Return a text as it is stored, NULL where it is too long.

        It is if it has more bytes than any question reads.
        """
        return f"CASE WHEN {self.bytes.replace('$1', sql)} <= {LONGEST_TEXT} THEN {sql} END"

    def cast(self, sql: str, wanted: Kind) -> str:
        """A widening cast, which no value can stop; NULL constants get their type from it."""
        return f"CAST({sql} AS {self.types[wanted]})"

    def constant(self, value: Value) -> str:
        """A constant of the query, with its type."""
        match value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                if not -(2**63) <= value < 2**63:
                    raise UnsupportedQueryError("whole numbers must lie within -2**63 and 2**63 - 1.")
                return f"CAST({value} AS {self.types[Kind.INTEGER]})"
            case Fraction():
                return f"CAST('{float(value) + 0.0!r}' AS {self.types[Kind.REAL]})"
            case str():
                return self.finished(self.text(value), Kind.TEXT)
            case datetime():
                return f"{self.types[Kind.TIMESTAMP]} '{value.isoformat(sep=' ')}'"
            case date():
                return f"DATE '{value.isoformat()}'"

    def unit(self, name: str, base: str) -> str:
        """A column as the id of a unit, NULL where it is nobody's.

        Raises: UnsupportedQueryError for units that are not told apart alike on every engine.
        """
        kind = self.kinds.get(base, Kind.NULL)
        self.seed("u", kind)
        return self.finished(self.column(name, base, kind), kind)

    def unit_type(self, base: str) -> str:
        """The type of `unit`."""
        return self.types[self.kinds[base]]

    def seed(self, unit: str, kind: Kind) -> str:
        """Return the integer that stands for a value, such as a unit, in `order`.

        The value itself, or the digest of its text.

        Raises: UnsupportedQueryError for other kinds than `seeds`, whose text is not the same on all engines.
        """
        if kind not in self.seeds:
            raise UnsupportedQueryError(
                f"units and different values are whole numbers, text, dates or truth values on {self.name}, not of "
                f"kind {kind.value}. CAST them, in a view of yours."
            )
        text = unit if kind is Kind.TEXT else filled(self.operator("to_text", kind), [unit])
        return unit if kind is Kind.INTEGER else self.digest(text)

    def listed(self, kinds: Mapping[str, Kind], rows: Sequence[Sequence[Key]]) -> str:
        """Return a SELECT of public rows and their positions from 0.

        They may be millions. Columns are listed by their kinds.
        """
        raise NotImplementedError

    def operator(self, name: str, kind: Kind) -> str:
        """The SQL of an operator whose first argument is of `kind`.

        Raises: UnsupportedQueryError if this engine would answer it in another way than the others.
        """
        for key in (f"{name} {kind.value}", name):
            if key in self.refused:
                raise UnsupportedQueryError(f"{name.upper()} is not computed alike on {self.name}. {self.refused[key]}")
            if key in self.operators:
                return self.operators[key]
        if name in ("lower", "upper"):
            plain = f"CASE WHEN octet_length($1) = char_length($1) THEN {name}($1)"  # nothing but ASCII
            return f"{plain} ELSE translate($1, {', '.join(map(self.text, letters(name)))}) END"
        if name == "ilike":
            lower = self.operator("lower", Kind.TEXT)
            return self.operators["like"].replace("$1", lower).replace("$2", lower.replace("$1", "$2"))
        raise UnsupportedQueryError(f"{name.upper()} of values of kind {kind.value} is not known on {self.name}.")


class Translator:
    """SQL of expressions over one source, whose column types are `types`.

    Types are named as the dialect names them.
    """

    def __init__(self, dialect: Dialect, types: Mapping[str, str]) -> None:
        self.dialect = dialect
        self.types = types
        self._written: dict[int, str] = {}  # values that are needed several times, by the identity of their nodes

    def expression(self, node: Expression, *, nan_allowed: bool = False) -> str:
        """Return SQL that gives the value of `node`, or NULL, for every row.

        It is never NaN unless `nan_allowed`.

        A value that is needed several times is written once, where the dialect can.
        Raises: UnsupportedQueryError if the engine cannot compute it as the others do, or it is too long.
        """
        values: list[tuple[str, str]] = []
        self._written = {}
        for each in repeated(node) if self.dialect.named is not None else ():
            written = self._expression(each)
            if len(written) > SHORT:
                values.append((self.dialect.quoted(f"{HIDDEN}value {len(values)})"), written))
                written = values[-1][0]
            self._written[id(each)] = written
        sql = self._expression(node, nan_allowed=nan_allowed)
        for name, value in reversed(values):
            sql = self.dialect.let(name, value, sql)
        return sql

    def _expression(self, node: Expression, *, nan_allowed: bool = False) -> str:
        if id(node) in self._written:
            return self._written[id(node)]
        match node:
            case Literal(value=value):
                return self.dialect.constant(value)
            case Column(name=name):
                if name.startswith((f"{HIDDEN}shared", f"{HIDDEN}value")):
                    raise UnsupportedQueryError(f"no column can be read that is called {name!r}. Rename it.")
                if self.types[name].upper() == "UUID" and node.facts.kind is not Kind.TEXT:
                    raise UnsupportedQueryError(f"the column {name!r} holds UUIDs, which are text. Declare dn.Text().")
                column = self.dialect.column(name, self.types[name], node.facts.kind)
                if node.facts.kind is Kind.TEXT and node.facts.length is None:
                    column = self.dialect.limited(column)
                return (
                    column
                    if nan_allowed and node.facts.kind is Kind.REAL
                    else self.dialect.finished(column, node.facts.kind)
                )
            case Call():
                check_time()
                sql = self._call(node)
        if len(sql) > LONGEST:  # some operators need an argument twice: nested, they would fill the memory
            raise UnsupportedQueryError("the query is too deeply nested. Write it with fewer nested expressions.")
        return sql

    def _call(self, node: Call) -> str:
        facts = [argument.facts for argument in node.arguments]
        arguments = [self._expression(argument) for argument in node.arguments]
        kind = next((fact.kind for fact in facts if fact.kind is not Kind.NULL), Kind.NULL)
        if node.operator == "case":
            return self._case(arguments, facts, node.facts.kind)
        if node.operator in COMMON_KIND:
            kind = _common(facts)
            arguments = [self._as(sql, fact, kind) for sql, fact in zip(arguments, facts, strict=True)]
        elif node.facts.kind is Kind.REAL and node.operator not in ("to_real", "round"):
            kind = Kind.REAL
            arguments = [self._as(sql, fact, kind) for sql, fact in zip(arguments, facts, strict=True)]
        elif node.operator.startswith("to_") and kind is Kind.NULL:
            return self.dialect.cast("NULL", node.facts.kind)
        if node.operator in ("least", "greatest"):  # NULL if any argument is; the engines' own skip NULL
            missing = " OR ".join(f"(${index}) IS NULL" for index in range(1, len(arguments) + 1))
            template = f"CASE WHEN {missing} THEN NULL ELSE {node.operator}($*) END"
        else:
            template = self.dialect.operator(node.operator, kind)
        long = [
            index
            for index, argument in enumerate(node.arguments, 1)
            if isinstance(argument, Call) and self.dialect.uses(template, index) > 1
        ]
        return self.dialect.finished(self.dialect.shared(template, arguments, long), node.facts.kind)

    def _case(self, parts: list[str], facts: Sequence[Facts], kind: Kind) -> str:
        """CASE is laid out as condition, value, condition, value, ..., else."""
        for index in (*range(1, len(parts), 2), len(parts) - 1):
            parts[index] = self._as(parts[index], facts[index], kind)
        branches = " ".join(f"WHEN {parts[i]} THEN {parts[i + 1]}" for i in range(0, len(parts) - 1, 2))
        return f"CASE {branches} ELSE {parts[-1]} END"

    def _as(self, sql: str, facts: Facts, kind: Kind) -> str:
        return sql if kind in (facts.kind, Kind.NULL) else self.dialect.cast(sql, kind)


def _common(facts: Sequence[Facts]) -> Kind:
    """Return the kind in which values are compared.

    Reals and whole numbers are compared as reals, dates and moments as moments.
    """
    kinds = {fact.kind for fact in facts if fact.kind is not Kind.NULL}
    wide = next((kind for kind in (Kind.REAL, Kind.TIMESTAMP) if kind in kinds), None)
    return wide or next(iter(kinds), Kind.NULL)


def repeated(node: Expression) -> list[Call]:
    """Return the calls that stand in several places of an expression.

    Those that others are made of come first.
    """
    seen: dict[int, Call] = {}
    calls: dict[int, Call] = {}

    def visit(each: Expression) -> None:
        if not isinstance(each, Call):
            return
        if id(each) in seen:
            calls[id(each)] = each
            return
        seen[id(each)] = each
        for argument in each.arguments:
            visit(argument)

    visit(node)
    return sorted(calls.values(), key=lambda call: call.size)


def filled(sql: str, arguments: Sequence[str]) -> str:
    """`sql` of a dialect with its arguments in the places of $1, $2, $* and $+."""
    several = {"$*": ", ".join(arguments), "$+": ", ".join(arguments[1:])}
    return re.sub(
        r"\$(?:\d+|[*+])", lambda match: several.get(match[0]) or arguments[int(match[0].removeprefix("$")) - 1], sql
    )


@dataclass(frozen=True)
class Keyed:
    """Keyed order that decides which groups and rows of a unit count.

    Args:
        secret: at least 16 bytes.
        seed: SQL of the 64-bit integer that stands for a unit.
    """

    secret: bytes
    seed: str

    def ranks(self, cell: str = "cell") -> str:
        """Return SQL for a keyed hash of 63 bits, one for each place of a unit.

        Places are in [0, 2^31); those of the smallest hashes count.

        With p = 2**31 - 1, q = 2**31 - 19 and keys k of the secret, t = k1 + k0 (seed mod p) + place (k3 + k2 (seed mod
        q)) and the hash is 2**32 (t**3 mod p) + place. No step leaves 64 bits, so all engines compute it with + * %
        alone. Any order bounds a unit; this one is near enough to a random one to favour no group, and unknown without
        the secret.
        """
        k = [1 + int.from_bytes(self.secret[start : start + 4], "big") % (P - 1) for start in range(0, 16, 4)]
        one, other = (
            f"((CAST(({self.seed}) % {prime} AS BIGINT) + {prime}) * {a} + {b}) % {P}"
            for prime, a, b in ((P, *k[:2]), (Q, *k[2:]))
        )
        t = f"(({one} + ({cell}) * ({other})) % {P})"
        return f"({t} * {t} % {P} * {t} % {P} * 4294967296 + ({cell}))"


@cache
def letters(name: str) -> tuple[str, str]:
    """Return the letters that LOWER or UPPER changes, and their counterparts.

    Each is changed into one letter, as DuckDB does it.
    """
    import duckdb

    every = "".join(chr(code) for code in range(65, 0x1F000) if not 0xD800 <= code < 0xE000)
    changed = duckdb.execute(f"SELECT {name}($1)", [every]).fetchall()[0][0]
    pairs = [(old, new) for old, new in zip(every, changed, strict=True) if old != new]
    return "".join(old for old, _ in pairs), "".join(new for _, new in pairs)
