"""Every expression is total, row by row, inside its stated range, whatever stands in the rows."""

from datetime import date, datetime
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.dialect import Translator
from deniable.query.engines.duckdb.engine import DuckDBEngine, base_type
from deniable.query.engines.duckdb.expression import DUCKDB, quoted, text
from deniable.query.expression import Column, Expression, Facts, Kind, literal
from deniable.query.operators import OPERATORS, call
from tests.query.conftest import INF, NAN, TROUBLE, frame

TYPES = {
    "person": "BIGINT",
    "region": "VARCHAR",
    "age": "INTEGER",
    "income": "DOUBLE",
    "big": "BIGINT",
    "zero": "BIGINT",
    "note": "VARCHAR",
    "member": "BOOLEAN",
    "day": "DATE",
    "seen": "TIMESTAMP",
}
KINDS = {
    "region": Kind.TEXT,
    "age": Kind.INTEGER,
    "income": Kind.REAL,
    "big": Kind.INTEGER,
    "zero": Kind.INTEGER,
    "note": Kind.TEXT,
    "member": Kind.BOOLEAN,
    "day": Kind.DATE,
    "seen": Kind.TIMESTAMP,
}
COLUMN = {name: Column(name, Facts(kind=kind)) for name, kind in KINDS.items()}


CONNECTION = duckdb.connect(config={"threads": 1})
CONNECTION.register("source", frame())
for number in range(frame().num_rows):
    CONNECTION.register(f"row{number}", frame().slice(number, 1))


def values(expression: Expression, source: str = "source") -> list[object]:
    """The value of an expression in every row."""
    sql = Translator(DUCKDB, TYPES).expression(expression)
    return [row[0] for row in CONNECTION.execute(f"SELECT {sql} FROM {source}").fetchall()]


LEAVES = st.one_of(
    st.sampled_from([*COLUMN.values()]),
    st.sampled_from([0, 1, -1, 2**62, Fraction(1, 3), Fraction(-5, 2), Fraction(10) ** 18]).map(literal),
    st.sampled_from(["", "12", "x", "%"]).map(literal),
    st.sampled_from([True, None, date(2024, 2, 29), datetime(2024, 2, 29, 1)]).map(literal),
)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> Expression:
    """A random expression of the allow-list; operators that do not take the drawn kinds fall back to a leaf."""
    leaf = draw(LEAVES)
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return leaf
    name = draw(st.sampled_from(sorted(OPERATORS)))
    arguments = [draw(expressions(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    match name:
        case "case":
            arguments = [*arguments[:1], *arguments[:1], literal(None)]
        case "round":
            arguments = [arguments[0], literal(draw(st.integers(0, 4)))]
        case "substring":
            arguments = [arguments[0], literal(1), literal(2)]
        case "like" | "ilike":
            arguments = [arguments[0], literal("a%")]
        case "in":
            arguments = [arguments[0], literal(1) if isinstance(leaf, Column) else leaf]
        case "and" | "or" | "add" | "subtract" | "multiply" | "divide" | "modulo" | "power" | "nullif" | "concat":
            arguments = (arguments * 2)[:2]
        case "eq" | "ne" | "lt" | "le" | "gt" | "ge":
            arguments = (arguments * 2)[:2]
        case "coalesce" | "least" | "greatest":
            pass
        case _:
            arguments = arguments[:1]
    try:
        return call(name, *arguments)
    except (UnsupportedQueryError, IndexError):
        return leaf


@given(expressions())
def test_no_expression_fails_or_has_two_forms_and_each_row_stands_alone(expression: Expression) -> None:
    together = values(expression)
    assert not any(value != value or str(value) == "-0.0" for value in together)
    assert all(len(value) <= expression.facts.longest for value in together if isinstance(value, str))
    for row, value in enumerate(together):
        assert values(expression, f"row{row}") == [value]


BOUNDED = {
    "a": Column("a", Facts(kind=Kind.REAL, lower=Fraction(-2), upper=Fraction(3))),
    "b": Column("b", Facts(kind=Kind.INTEGER, lower=Fraction(1), upper=Fraction(5))),
    "c": Column("c", Facts(kind=Kind.REAL)),
    "m": Column("m", Facts(kind=Kind.BOOLEAN)),
}
NUMERIC = sorted(
    {"add", "subtract", "multiply", "divide", "modulo", "negate", "abs", "floor", "ceil", "sqrt", "least", "greatest"}
    | {"coalesce", "nullif", "sign", "to_integer", "to_real", "round", "case"}
)


@st.composite
def bounded_expressions(draw: st.DrawFn, depth: int = 3) -> Expression:
    leaf = draw(
        st.one_of(
            st.sampled_from([BOUNDED["a"], BOUNDED["b"], BOUNDED["c"]]),
            st.integers(-3, 3).map(literal),
            st.fractions(-2, 2, max_denominator=8).map(literal),
        )
    )
    if depth == 0:
        return leaf
    name = draw(st.sampled_from(NUMERIC))
    parts = [draw(bounded_expressions(depth - 1)) for _ in range(2)]
    if name == "case":
        return call("case", BOUNDED["m"], parts[0], parts[1])
    if name == "round":
        return call("round", parts[0], literal(draw(st.integers(0, 3))))
    if OPERATORS[name].takes == "a number" or name.startswith("to_"):
        parts = parts[:1]
    return call(name, *parts)


@given(
    bounded_expressions(),
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(-2, 3)),
            st.one_of(st.none(), st.integers(1, 5)),
            st.one_of(st.none(), st.floats()),
            st.one_of(st.none(), st.booleans()),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_values_stay_in_the_stated_range(expression: Expression, rows: list[tuple[object, ...]]) -> None:
    source = pa.table(
        {
            name: pa.array([row[index] for row in rows], type=kind)
            for index, (name, kind) in enumerate(
                {"a": pa.float64(), "b": pa.int64(), "c": pa.float64(), "m": pa.bool_()}.items()
            )
        }
    )
    CONNECTION.register("bounded", source)
    types = {"a": "DOUBLE", "b": "BIGINT", "c": "DOUBLE", "m": "BOOLEAN"}
    sql = Translator(DUCKDB, types).expression(expression)
    found = [row[0] for row in CONNECTION.execute(f"SELECT {sql} FROM bounded").fetchall()]
    lower, upper = expression.facts.lower, expression.facts.upper
    for value in found:
        if value is not None:
            slack = 1e-9 * (1 + abs(value)) if abs(value) < INF else 0
            assert lower is None or value >= float(lower) - slack
            assert upper is None or value <= float(upper) + slack


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (call("add", COLUMN["big"], literal(1)), [None, 2, 3, -(2**63) + 1, None, 1, 8, 8, 8, 8]),
        (
            call("divide", literal(1), COLUMN["zero"]),
            [None, None, 1, None, 0.5, None, None, None, 1, None],
        ),
        (call("to_integer", COLUMN["note"]), [12, *[None] * 9]),
        (
            call("to_real", COLUMN["note"]),
            [12, None, None, None, INF, INF, None, None, None, None],
        ),
        (call("to_date", COLUMN["note"]), [None] * 10),  # nor is text "inf" the last date
        (
            call("greatest", COLUMN["income"], literal(3)),
            [10.5, None, INF, 3, None, 1e308, 99.25, 3, 50, 3],
        ),
        (call("gt", COLUMN["income"], literal(5)), [True, None, True, False, None, True, True, False, True, False]),
        (call("is_null", COLUMN["income"]), [False, True, False, False, True, *[False] * 5]),
        (call("month", COLUMN["day"]), [1, 2, None, *[1] * 7]),
        (call("hour", COLUMN["seen"]), [23, None, *[0] * 8]),
        (call("lower", COLUMN["note"]), ["12", "x", "", "nan", "inf", "1e400", "2025-02-30", "a%b", None, "ärger"]),
    ],
)
def test_where_sql_would_stop_the_value_is_null(expression: Expression, expected: list[object]) -> None:
    assert values(expression) == expected


def test_the_table_holds_every_trouble_that_it_should() -> None:
    income = TROUBLE["income"][1]
    assert any(value is None for value in income)
    assert {INF, -INF} <= {value for value in income if isinstance(value, float)}
    assert any(value != value for value in income if value is not None)
    assert NAN != NAN


def test_names_and_text_are_quoted() -> None:
    assert quoted('a"b') == '"a""b"'
    assert text("it's") == "'it''s'"
    with pytest.raises(UnsupportedQueryError):
        text("a\0b")


def test_where_versions_of_duckdb_differ_the_value_is_ours() -> None:
    """The gate runs on one version; numbers here are what all of them, PostgreSQL and Spark answer."""
    whole, half = -(2**63), 2677718095753228.5  # round_even makes ...229 of it in 1.5.6; ROUND(2.675, 2) was 2.68 there
    numbers = {"i": [whole, 7, 7], "j": [-1, -1, 0], "x": [2.675, half, INF], "y": [0.0, -0.0, -1.0]}
    expected: dict[Expression, list[object]] = {
        call("modulo", Column("i", Facts(kind=Kind.INTEGER)), Column("j", Facts(kind=Kind.INTEGER))): [0, 0, None],
        call("round", Column("x", Facts(kind=Kind.REAL)), literal(2)): [2.68, half, INF],
        call("round", Column("x", Facts(kind=Kind.REAL)), literal(0)): [3, half - 0.5, INF],
        **{call(log, Column("y", Facts(kind=Kind.REAL))): [None] * 3 for log in ("ln", "log10", "sqrt")},
    }
    expected[call("sqrt", Column("y", Facts(kind=Kind.REAL)))] = [0, 0, None]
    types = {"i": "BIGINT", "j": "BIGINT", "x": "DOUBLE", "y": "DOUBLE"}
    CONNECTION.register("odd", pa.table(numbers))
    for expression, wanted in expected.items():
        sql = Translator(DUCKDB, types).expression(expression)
        assert [value for (value,) in CONNECTION.execute(f"SELECT {sql} FROM odd").fetchall()] == wanted, sql


@pytest.mark.parametrize(
    ("stored", "kind", "expected"),
    [
        ("(-10449358477262489)::HUGEINT", Kind.REAL, -1.0449358477262488e16),
        ("64010633007109844.0123456789::DECIMAL(38, 10)", Kind.REAL, 64010633007109848.0),
        ("12.3::DECIMAL(9, 1)", Kind.REAL, 12.3),
        ("make_timestamp_ns(1999)", Kind.TIMESTAMP, datetime(1970, 1, 1, 0, 0, 0, 1)),
        ("make_timestamp_ns(-1999)", Kind.TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 999_999)),
        ("'infinity'::TIMESTAMP_NS", Kind.TIMESTAMP, None),
        ("'-infinity'::TIMESTAMP_NS", Kind.TIMESTAMP, None),
    ],
)
def test_stored_types_are_read_alike_by_all_versions(stored: str, kind: Kind, expected: object) -> None:
    ((_, base, *_),) = CONNECTION.execute(f"DESCRIBE SELECT {stored} AS v").fetchall()
    sql = Translator(DUCKDB, {"v": base_type(base)}).expression(Column("v", Facts(kind=kind)))
    assert CONNECTION.execute(f"SELECT {sql} FROM (SELECT {stored} AS v)").fetchall() == [(expected,)]


def test_nanoseconds_of_a_zone_are_a_moment_under_either_name() -> None:
    moments = pa.table({"v": pa.array([1999, None], pa.timestamp("ns", "UTC"))})
    assert DuckDBEngine.from_arrow(moments).schema() == {"v": Kind.TIMESTAMP}
