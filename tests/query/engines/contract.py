"""One contract for all engines: every operator over odd inputs has the same value everywhere, or is refused.

The reference is DuckDB. An engine brings its dialect, the types of its columns, and a way to run one statement.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import duckdb
import pyarrow as pa

from deniable.errors import UnsupportedQueryError
from deniable.query.allowlist import UNARY
from deniable.query.engines.dialect import Dialect, Keyed, Translator
from deniable.query.engines.duckdb.expression import DUCKDB
from deniable.query.expression import Column, Expression, Facts, Kind, columns_of, literal
from deniable.query.operators import OPERATORS, call

INF, NAN, LARGEST = float("inf"), float("nan"), 1.7976931348623157e308
WHOLE = [None, 0, 1, -1, 3, -7, 10**15, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), 2**63 - 513]
REAL = [None, NAN, INF, -INF, 0.0, -0.0, 1.0, -0.5, 2.5, -3.5, 0.15, 2.675, 1e16, 2.0**63, -(2.0**63), 5e-324, -1e-200]
REAL += [1e200, -LARGEST, 2.0**1022, 2.0**52 + 0.5, 2.0**-538, 2.0**538, 2.0**-1022, 1.5 * 2.0**-1023]
REAL += [1 - 2.0**-53, 1 + 2.0**-52, LARGEST / 1e16, 2677718095753228.5, 2.0**63 / 100]
NUMBERS = (
    "12| 12\t|+12|-12.5|13.5|12.|.5|-|--|1e3|1E+3|1e400|-1e-400|nan|NaN|inf|-Infinity|infinit|0x1F|1_000|1d|1f|+-1"
)
NUMBERS += (
    "|1,5|\u0661\u0662|\xa012|9223372036854775807|9223372036854775807.5|9223372036854775808|-9223372036854775808.4"
)
NUMBERS += (
    "|5e-324|1e99999|2.4703282292062327e-324|2.5e-324|1.7976931348623158e308|1.7976931348623159e308|0.1|" + "1" * 101
)
MOMENTS = (
    "2024-02-29|2023-02-29|2000-02-29|1900-02-29|2025-1-2|2025/01/02|0000-01-01|0001-01-01|10000-01-01|2025-01-02 "
)
MOMENTS += "|9999-12-31 23:59:59.999999|9999-12-31 23:59:59.9999999|2025-01-02T03:04|2025-01-02 24:00:00|infinity|epoch"
MOMENTS += "|2025-01-02 03:04:05+02|today|0044-03-15 (BC)|2025-01-02 03:04:05.5|2025-02-30"
WORDS = "a|A|a |\u00e9|e\u0301|\u00c4RGER \u00df \u1e9e|\u0130I\u0131i|\u03a3\u03c3\u03c2|\U0001f44d\U0001f3fd|"
WORDS += "\ufb01 \u01c5|"
WORDS += '| |\u3000 a\u200b\t |a\\%b|a%b|a_b|a\x01b|it\'s "x" `y` $1 {2} \\|\U0010ffff|a\nb\r\u2028'
TEXT = [None, *f"{NUMBERS}|{MOMENTS}|{WORDS}".split("|"), "1" * 9_999, "x" * 100_000]
DAYS = [None, date(1, 1, 1), date(9999, 12, 31), date(2024, 2, 29), date(2021, 1, 3), date(2020, 12, 31)]
DAYS += [date(1582, 10, 10), date(1969, 12, 31), date(1900, 3, 1)]
TIMES = [None, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999), datetime(2025, 3, 30, 2, 30)]
TIMES += [datetime(1969, 12, 31, 23, 59, 59, 1), datetime(2024, 2, 29), datetime(2024, 2, 29, 12)]
PAIRS = {  # of columns, with their values
    ("i", "j", Kind.INTEGER, pa.int64()): WHOLE,
    ("x", "y", Kind.REAL, pa.float64()): REAL,
    ("t", "u", Kind.TEXT, pa.string()): TEXT,
    ("d", "e", Kind.DATE, pa.date32()): DAYS,
    ("s", "z", Kind.TIMESTAMP, pa.timestamp("us")): TIMES,
    ("b", "c", Kind.BOOLEAN, pa.bool_()): [None, True, False],
}
KINDS = {name: kind for one, other, kind, _ in PAIRS for name in (one, other)}
C = {name: Column(name, Facts(kind=kind)) for name, kind in KINDS.items()}
CONSTANTS = [
    0,
    -3,
    2**63 - 1,
    Fraction(0),
    Fraction(-5, 2),
    Fraction(10**300),
    Fraction(1, 2**1074),
    "a",
    "it's \\ \u00e9",
    date(2024, 2, 29),
]
CONSTANTS = [literal(value) for value in (*CONSTANTS, datetime(2024, 2, 29, 12), True, None)]  # type: ignore[arg-type]
PATTERNS = ["a%", "%\\%%", "_", "a_b", "%\x01%", "\u00c4rger%", "", "%'s%\\", "\U0001f44d_"]
ALONE = {*UNARY.values(), "log10", "is_null", *(name for name in OPERATORS if name.startswith("to_"))}


@cache
def table() -> pa.Table:
    """Each column stands beside every value of its twin, but texts only beside some. `n` numbers the rows."""
    size, columns = len(REAL) ** 2, {"n": pa.array(range(len(REAL) ** 2))}
    for (one, other, _, kind), values in PAIRS.items():
        few = len(values) <= len(REAL)
        pairs = list(product(values, values)) if few else list(pairwise([values[-1], *values]))
        pairs *= -(-size // len(pairs))
        for side, name in enumerate((one, other)):
            columns[name] = pa.array([pair[side] for pair in pairs[:size]], type=kind)
    return pa.table(columns)


def arguments(name: str, a: Column, b: Column, values: Sequence[object]) -> list[tuple[Expression, ...]]:
    match name:
        case "case":
            return [(C["b"], a, literal(None)), (C["b"], a, C["c"], b, a)]
        case "round":
            return [(a, literal(decimals)) for decimals in (0, 2, 15)]
        case "substring":
            return [(a, literal(1), literal(1)), (a, literal(2), literal(10_000))]
        case "like" | "ilike":
            return [(a, literal(pattern)) for pattern in PATTERNS]
        case "in":
            known = [value for value in values if value is not None and value not in (INF, -INF) and value == value]
            few = [literal(Fraction(value) if isinstance(value, float) else value) for value in known]  # type: ignore[arg-type]
            return [(a, *few[:3]), (a, *few[:20])]
        case _ if name in ALONE:
            return [(a,)]
    return [(a, b), *((a, each) for each in CONSTANTS), *((each, a) for each in CONSTANTS)]


def calls() -> Iterator[Expression]:
    """Every operator over every column that it takes, and some under others."""
    for name, ((one, other, _, _), values) in product(OPERATORS, PAIRS.items()):
        for given in arguments(name, C[one], C[other], values):
            with suppress(UnsupportedQueryError):
                yield call(name, *given)
    deep = call("multiply", call("add", C["x"], C["y"]), call("subtract", C["x"], C["y"]))
    yield call("divide", deep, call("multiply", C["x"], deep))
    yield call("sqrt", call("divide", call("add", C["i"], C["j"]), call("modulo", C["i"], C["j"])))
    yield call("lower", call("concat", C["t"], C["u"]))
    yield call("ilike", call("trim", call("concat", C["t"], C["u"])), literal("%A%"))
    yield call("to_integer", call("substring", C["t"], literal(2), literal(30)))
    yield call("greatest", call("least", call("add", C["i"], literal(1)), C["x"]), call("round", C["y"], literal(2)))


CALLS = list(dict.fromkeys(calls()))
Answers = Mapping[Expression, Sequence[object]]


def statements(
    dialect: Dialect, types: Mapping[Kind, str], size: int = 2_000
) -> Iterator[tuple[list[Expression], str]]:
    """The calls that the dialect does not refuse, and a statement that gives their values for every row."""
    translator, said = Translator(dialect, {name: types[kind] for name, kind in KINDS.items()}), {}
    for expression in CALLS:
        with suppress(UnsupportedQueryError):
            said[expression] = translator.expression(expression)
    for start in range(0, len(said), size):
        some = list(said)[start : start + size]
        items = ", ".join(f"{said[each]} AS c{place}" for place, each in enumerate(some))
        yield some, f"SELECT {items} FROM source ORDER BY n"


SECRET = bytes(range(1, 17))
CELLS = [0, 1, 7, 2**31 - 1]


def orders(dialect: Dialect) -> str:
    """The statement that ranks the groups in CELLS for the whole numbers and the texts of each row."""
    seeds = [dialect.seed(dialect.quoted("i"), Kind.INTEGER), dialect.seed(dialect.quoted("t"), Kind.TEXT)]
    items = [Keyed(SECRET, seed).ranks(dialect.constant(cell)) for seed in seeds for cell in CELLS]
    return f"SELECT {', '.join(f'{sql} AS c{place}' for place, sql in enumerate(items))} FROM source ORDER BY n"


def expected_orders() -> list[tuple[int | None, ...]]:
    """The same in Python."""
    p, q, rows = 2**31 - 1, 2**31 - 19, []
    k = [1 + int.from_bytes(SECRET[place : place + 4], "big") % (p - 1) for place in (0, 4, 8, 12)]
    for whole, text in zip(table()["i"].to_pylist(), table()["t"].to_pylist(), strict=True):
        digest = None if text is None else int(hashlib.md5(text.encode()).hexdigest()[:15], 16)
        row: list[int | None] = []
        for seed in (whole, digest):
            for cell in CELLS:
                if seed is None:
                    row.append(None)
                    continue
                part = {m: abs(seed) % m * (1 if seed > 0 else -1) + m for m in (p, q)}  # as machines divide
                t = (part[p] * k[0] + k[1] + cell * ((part[q] * k[2] + k[3]) % p)) % p
                row.append(pow(t, 3, p) * 2**32 + cell)
        rows.append(tuple(row))
    return rows


@cache
def expected() -> Answers:
    """What DuckDB answers."""
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("source", table())
        ((asked, statement),) = statements(DUCKDB, DUCKDB.types)
        return dict(zip(asked, zip(*connection.execute(statement).fetchall(), strict=True), strict=True))


def check(found: Answers, *, refused: set[str]) -> None:
    """The values are those of DuckDB in kind and number, and no other operators are refused than these."""
    wrong = []
    for expression, values in found.items():
        for row, (value, wanted) in enumerate(zip(values, expected()[expression], strict=True)):
            if value != wanted or type(value) is not type(wanted):
                given = {name: table()[name][row].as_py() for name in columns_of(expression)}
                wrong.append(f"{expression.to_json()} of {given} is {value!r:.99}, not {wanted!r:.99}")
                break
    assert not wrong, "\n".join(wrong)
    assert {each.operator for each in CALLS if each not in found} == refused  # type: ignore[union-attr]
