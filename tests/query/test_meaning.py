"""Conditions mean what DuckDB means by them, on rows without trouble; where we differ, it is said here."""

from datetime import date, datetime

import duckdb
import pyarrow as pa
import pytest

from deniable.query.declarations import Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from tests.query.conftest import SECRET, plan_of, table_of

SOURCE = pa.table(
    {
        "person": pa.array(range(12)),
        "i": pa.array([0, 1, 2, 3, -4, 5, None, 7, 8, -9, 10, 2]),
        "x": pa.array([0.5, 1.5, 2.5, -3.25, 4.0, None, 6.0, -7.5, 8.125, 9.0, 0.0, 1e6]),
        "s": pa.array(["a", "B", "abc", "a%c", None, "", " x ", "Äpfel", "b", "ab", "ABC", "12"]),
        "b": pa.array([True, False, None, True, True, False, None, False, True, False, True, False]),
        "d": pa.array([date(2024, month, 2 * month) for month in range(1, 13)]),
        "t": pa.array([datetime(2024, month, 2, month, 5 * month - 1, 3) for month in range(1, 13)]),
    }
)
ENGINE = DuckDBEngine.from_arrow(SOURCE)
TABLE = table_of(ENGINE, unit=None, columns={"i": Number(lower=-10, upper=10), "x": Number(lower=-10, upper=10)})

SAME = [
    "i + 2 * 3 > 8",
    "(i + 2) * 3 > 8",
    "i - 1 - 1 = 0",
    "-i < 3 AND +i > 0",
    "i / 2 > 1.2",
    "i % 4 = 1",
    "NOT i > 3 OR b",
    "NOT (i > 3 OR b)",
    "b = FALSE",
    "b IS TRUE",
    "b IS NOT TRUE",
    "b IS FALSE",
    "b IS NULL",
    "i IS NOT NULL AND x IS NOT NULL",
    "i BETWEEN 1 AND 5",
    "i NOT BETWEEN 1 AND 5",
    "i IN (1, 2, 3.0)",
    "i NOT IN (1, 2)",
    "s IN ('a', 'ABC')",
    "s LIKE 'a%'",
    "s NOT LIKE 'a_c'",
    "s ILIKE 'AB%'",
    "s || 'z' = 'az'",
    "LOWER(s) = 'abc'",
    "UPPER(s) LIKE 'A%'",
    "TRIM(s) = 'x'",
    "LENGTH(s) > 1",
    "SUBSTRING(s, 2, 1) = 'b'",
    "s > 'a'",
    "DATE_TRUNC('month', d) = '2024-05-01' OR DATE_TRUNC('week', t) < '2024-06-01'",
    "DATE_TRUNC('quarter', t) = '2024-04-01' OR DATE_TRUNC('year', d) > '2024-01-01'",
    "DATE_TRUNC('day', t) > '2024-05-01'",
    "ABS(i) > 4",
    "FLOOR(x) = 2 OR CEIL(x) = 2",
    "SQRT(ABS(x)) < 2",
    "i > 0 AND LN(i) > 1",
    "x > 0 AND LOG10(x) > 0.5",
    "EXP(i) < 10",
    "POWER(i, 2) > 20",
    "i ** 2 > 20",
    "SIGN(x) = -1",
    "COALESCE(i, 3) = 3",
    "NULLIF(i, 2) IS NULL",
    "IFNULL(i, 8) = 8",
    "IF(i > 2, x, 0) > 3",
    "CASE WHEN i > 5 THEN 1 WHEN i > 2 THEN 2 ELSE 3 END = 2",
    "CASE i WHEN 1 THEN 'one' WHEN 2 THEN 'two' END = 'two'",
    "CASE WHEN b THEN i END > 1",
    "CAST(x AS INTEGER) = 2",
    "x::BIGINT % 2 = 0",
    "CAST(i AS DOUBLE) / 3 > 1",
    "CAST(i AS TEXT) = '10'",
    "TRY_CAST(s AS INTEGER) = 12",
    "CAST(b AS INTEGER) = 1",
    "d > '2024-06-12'",
    "d = DATE '2024-03-06'",
    "d BETWEEN '2024-02-01' AND '2024-05-31'",
    "t >= '2024-06-02 06:29:03'",
    "t > TIMESTAMP '2024-06-02 06:00:00'",
    "d < t",
    "CAST(t AS DATE) = d",
    "EXTRACT(year FROM d) = 2024",
    "EXTRACT(dow FROM d) = 2",
    "MONTH(d) > 6 AND DAY(d) > 15",
    "QUARTER(d) = 2",
    "WEEK(d) < 10",
    "DAYOFYEAR(d) > 200",
    "HOUR(t) = 5 OR MINUTE(t) = 4",
    "1e1 = i",
    "i < .5",
    "TRUE",
    "NULL",
]


def counted(condition: str) -> int:
    plan = plan_of(TABLE, f"SELECT COUNT(*) FROM t WHERE {condition}")
    return int(ENGINE.exact(plan, secret=SECRET)[0][0])


@pytest.mark.parametrize("condition", SAME)
def test_a_condition_means_what_it_says(condition: str) -> None:
    with duckdb.connect() as connection:
        connection.register("t", SOURCE)
        row = connection.execute(f"SELECT COUNT(*) FROM t WHERE {condition}").fetchone()
    assert row is not None
    assert counted(condition) == row[0]


def test_where_we_differ() -> None:
    assert counted("LN(i) > 1") == 5  # no value for negative numbers; DuckDB gives NaN, which is above all
    assert counted("LEAST(i, 3) IS NULL") == 1  # NULL if any argument is; DuckDB gives 3
    assert counted("1 / (x - x) IS NULL") == 12  # no value; DuckDB gives inf or NaN
    assert counted("ROUND(x) = 2") == 2  # half to even: 1.5 and 2.5; DuckDB gives 2 and 3
