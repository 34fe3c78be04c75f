"""Statistics of a file or table decide nothing: no extreme value of one row changes a plan, a refusal or other rows."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.parquet as pq

from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.query.aggregates.aggregate import Aggregate
from deniable.query.aggregates.counts import CountAggregate
from deniable.query.allowlist import UNARY
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Keys
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.engines.duckdb.sql import Generator
from deniable.query.expression import Column, Expression, Kind, literal
from deniable.query.operators import OPERATORS, call
from deniable.query.plan import Outcome, PricedPlan, Query, Question
from deniable.query.rules import price
from deniable.query.table_expression import FilteredRows, Scan
from tests.query.conftest import SECRET, table_of

# Per column: its type in DuckDB, a usual value, and the extremes, as SQL.
EXTREMES: Mapping[str, tuple[str, str, list[str]]] = {
    "d": (
        "DATE",
        "'2020-02-29'",
        ["'5877642-06-25 (BC)'", "'5881580-07-10'", "'infinity'", "'-infinity'", "'290309-12-22 (BC)'"],
    ),
    "s": (
        "TIMESTAMP",
        "'2020-02-29 01:02:03'",
        ["'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'", "'infinity'", "'-infinity'"],
    ),
    "z": ("TIMESTAMPTZ", "'2020-02-29 01:02:03+00'", ["'290309-12-22 (BC) 00:00:00+00'", "'infinity'", "'-infinity'"]),
    "ns": ("TIMESTAMP_NS", "'2020-02-29 01:02:03'", ["'1677-09-22 00:00:00'", "'2262-04-11 23:47:16.854775806'"]),
    "x": ("DOUBLE", "2.5", ["'inf'", "'-inf'", "'nan'", "1.7976931348623157e308", "-1.7976931348623157e308", "5e-324"]),
    "f": ("FLOAT", "2.5", ["'inf'", "'-inf'", "'nan'", "3.4028235e38"]),
    "i": ("BIGINT", "3", ["9223372036854775807", "-9223372036854775808", "0", "-1"]),
    "u": ("UBIGINT", "3", ["18446744073709551615", "0"]),
    "m": (
        "DECIMAL(38, 3)",
        "2.5",
        [f"{sign}{'9' * 35}.999" for sign in ("", "-")],
    ),
    "t": (
        "VARCHAR",
        "'2020'",
        ["''", "repeat('x', 100000)", "'5877642-06-25 (BC)'", "'infinity'", "'1e400'", "chr(1114111)", "'nan'"],
    ),
    "b": ("BOOLEAN", "true", ["false"]),
}
WHOLE_PRODUCT = os.environ.get("DENIABLE_FUZZ") == "1"
CONSTANTS = [literal(value) for value in (Fraction(5, 2), 1, "2020", datetime(2020, 2, 29, 1), True)]


SIGNS = {
    Kind.INTEGER: 0,
    Kind.REAL: 0,
    Kind.TEXT: "m",
    Kind.DATE: date(2000, 1, 1),
    Kind.TIMESTAMP: datetime(2000, 1, 1),
    Kind.BOOLEAN: False,
}


def _write(path: Path, numbers: Sequence[int]) -> None:
    """A row of usual values, one of NULLs, and one of extremes for each number, each with its place in `row`."""
    kinds = [f"CAST({{}} AS {kind}) AS {name}" for name, (kind, _, _) in EXTREMES.items()]
    usual = [value for _, value, _ in EXTREMES.values()]
    odd = [[values[number % len(values)] for _, _, values in EXTREMES.values()] for number in numbers]
    places = [0, 1, *(2 + number for number in numbers)]
    rows = [
        f"SELECT {place} AS row, {', '.join(kind.format(value) for kind, value in zip(kinds, values, strict=True))}"
        for place, values in zip(places, [usual, ["NULL"] * len(usual), *odd], strict=True)
    ]
    with duckdb.connect(str(path / "t.duckdb")) as connection:
        connection.execute(f"CREATE TABLE t AS {' UNION ALL '.join(rows)}")
        connection.execute(f"COPY t TO '{path / 't.parquet'}'")


def _calls(column: Column) -> Iterator[Expression]:
    """Every operator on this column, with constants and with itself, wherever it takes them."""
    for name in OPERATORS:
        match name:
            case "case":
                candidates = [
                    (call("is_null", column), column, literal(None)),
                    (call("eq", column, column), column, column),
                ]
            case "round":
                candidates = [(column, literal(2))]
            case "substring":
                candidates = [(column, literal(2), literal(3))]
            case "like" | "ilike":
                candidates = [(column, literal("%2%")), (column, literal("2020"))]
            case "in":
                candidates = [(column, constant, constant) for constant in CONSTANTS]
            case "is_null" | "log10":
                candidates = [(column,)]
            case _ if name in UNARY.values() or name.startswith("to_"):
                candidates = [(column,)]
            case _:
                candidates = [(column, column), *((column, b) for b in CONSTANTS)]
                if name in ("subtract", "divide", "modulo", "power", "concat", "nullif", "lt"):
                    candidates += [(a, column) for a in CONSTANTS]
        for arguments in candidates:
            with suppress(UnsupportedQueryError):
                yield call(name, *arguments)


def _plan(
    table: DeclaredTable, keys: Sequence[Expression], counts: Sequence[Aggregate], where: Expression | None = None
) -> PricedPlan:
    source = Scan(table) if where is None else FilteredRows(Scan(table), where)
    question = Question(source=source, keys=tuple(keys), aggregates=tuple(dict.fromkeys(counts)))
    return price(Query("", question, Outcome((), None, (), None)), Price(epsilon=Fraction(1)))


def _counts(table: DeclaredTable) -> Iterator[list[Aggregate]]:
    """For every call over every column: how often it has a value, and how often a positive (true, late) one."""
    counts: list[Aggregate] = []
    for name in EXTREMES:
        column = table.column(name)
        assert isinstance(column, Column)
        for expression in dict.fromkeys(_calls(column)):
            counts.append(CountAggregate(expression))
            least = SIGNS[expression.facts.kind]
            counts.append(CountAggregate(call("nullif", call("gt", expression, literal(least)), literal(False))))
    for start in range(0, len(counts), 16):
        yield counts[start : start + 16]


CONTAINERS = {
    "parquet": lambda folder: DuckDBEngine.from_file(folder / "t.parquet", threads=1),
    "table": lambda folder: DuckDBEngine.from_file(folder / "t.duckdb", threads=1),
    "arrow": lambda folder: DuckDBEngine.from_arrow(pq.read_table(folder / "t.parquet"), threads=1),
}
MOST = max(len(odd) for _, _, odd in EXTREMES.values())


def test_no_extreme_value_stops_a_question_or_changes_what_other_rows_count(tmp_path: Path) -> None:
    """In a file of three rows the third is the minimum or the maximum of every column; NaN hides from both."""
    _write(tmp_path, range(MOST))
    together = CONTAINERS["arrow"](tmp_path)
    table = table_of(together, unit=None, columns={"row": Keys(range(2 + MOST))})
    counts = list(_counts(table))
    by_row = []
    for some in counts:
        plan = _plan(table, [table.column("row")], some)
        together.check(plan)
        by_row.append(np.stack(together.exact(plan, secret=SECRET)))
    plans = [_plan(table, [], some) for some in counts]
    for number in range(MOST):
        folder = tmp_path / str(number)
        folder.mkdir()
        _write(folder, [number])
        for container in CONTAINERS if number < 1 else ["parquet"]:
            engine = CONTAINERS[container](folder)
            for plan, rows in zip(plans, by_row, strict=True):
                found = np.concatenate(engine.exact(plan, secret=SECRET))
                assert np.array_equal(found, rows[:, [0, 1, 2 + number]].sum(axis=1)), (number, container)


def _explained(connection: duckdb.DuckDBPyConnection, statement: str, folder: Path) -> str:
    """The plan as DuckDB will run it, with the name of the file left out."""
    ((_, said),) = connection.execute(f"EXPLAIN (FORMAT json) {statement}").fetchall()
    return str(said).replace(str(folder), "")


def test_no_extreme_value_as_a_condition_changes_the_plan_or_which_other_rows_count(tmp_path: Path) -> None:
    """Every operator as a WHERE, over files that differ in one row alone; of each, two files, or all of them."""
    _write(tmp_path, range(MOST))
    together = CONTAINERS["arrow"](tmp_path)
    table = table_of(together, unit=None, columns={"row": Keys(range(2 + MOST))})
    folders = [tmp_path / str(number) for number in range(MOST)]
    for number, folder in enumerate(folders):
        folder.mkdir()
        _write(folder, [number])
    engines = {name: [CONTAINERS[name](folder) for folder in folders] for name in ("parquet", "table")}
    careless = duckdb.connect()  # with all of its optimiser: the twin that proves that the comparison can fail
    calls = [(name, made) for name in EXTREMES for made in dict.fromkeys(_calls(table.column(name)))]  # type: ignore[arg-type]
    folded = 0
    for place, (name, made) in enumerate(calls):
        kind = made.facts.kind
        where = made if kind is Kind.BOOLEAN else call("gt", made, literal(SIGNS[kind]))
        plan = _plan(table, [], [CountAggregate()], where)
        rows = together.exact(_plan(table, [table.column("row")], [CountAggregate()], where), secret=SECRET)[0]
        numbers = range(MOST) if WHOLE_PRODUCT else [place % MOST, (place + 1) % MOST]
        for container in engines if WHOLE_PRODUCT else [("parquet", "table")[place % 2]]:
            said, bent = set(), set()
            for number in numbers:
                engine = engines[container][number]
                statement = Generator(engine._tables).plan(plan, secret=SECRET)
                said.add(_explained(engine._connection, statement, folders[number]))
                (found,) = engine.exact(plan, secret=SECRET)[0]
                assert found == rows[[0, 1, 2 + number]].sum(), (name, where.to_json(), number, container)
                if container == "parquet":
                    bent.add("refused")  # as it is where a minimum cannot be computed with
                    with suppress(duckdb.Error):
                        bent.add(_explained(careless, statement, folders[number]))
            assert len(said) == 1, (name, where.to_json(), container)
            folded += len(bent) > 2
    assert folded > 10
