"""What an engine groups together has one value: no operator over a key tells apart what grouping held equal."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import duckdb

import deniable as dn
from deniable.errors import UnsupportedQueryError
from deniable.query.engines.dialect import Dialect, Translator
from deniable.query.engines.duckdb.engine import base_type
from deniable.query.engines.duckdb.expression import DUCKDB
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.expression import Column, Expression, Facts, Kind, literal
from deniable.query.operators import OPERATORS, call
from tests.postgres import as_reader
from tests.query.engines.contract import arguments

Run = Callable[[str], list[tuple[Any, ...]]]
REALS = ["0", "-0.0", "1e-300", "nan", "-nan", "2.5"]
MOMENTS = ["2024-02-29 12:00:00+00", "2024-02-29 14:00:00+02"]
DUCKDB_TYPES: Mapping[str, list[str]] = {
    **{"DOUBLE": REALS, "FLOAT": ["0", "-0.0", "nan"], "DECIMAL(9, 3)": ["0", "-0.000", "1.5", "1.500"]},
    "VARCHAR COLLATE NOCASE": ["a", "A", "a ", "0", "-0.0"],
    "VARCHAR COLLATE NOACCENT": ["\u00e9", "e\u0301", "e"],
    "ENUM('b', 'a')": ["a", "b"],
    "UUID": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC999C0B4EF8BB6D6BB9BD380A11"],
    "TIMESTAMP WITH TIME ZONE": MOMENTS,
    "TIMESTAMP_NS": ["2024-02-29 12:00:00.000000001", "2024-02-29 12:00:00.000000002"],
}
POSTGRES_TYPES: Mapping[str, list[str]] = {
    **{"double precision": REALS[:4], "real": ["0", "-0.0", "nan"], "numeric": ["0", "-0.000", "1.5", "1.500"]},
    **{"character(3)": ["a", "a "], 'text COLLATE "blind"': ["a", "A", "\u00e9"]},
    "timestamp with time zone": MOMENTS,
}


def calls(column: Column) -> Iterator[Expression]:
    """Every operator on a column, or on what may be its negative zero: with itself, and with constants."""
    yield call("coalesce", column)
    zero = call("multiply", column, literal(-1)) if column.facts.kind is Kind.REAL else column
    for name in OPERATORS:
        for given in arguments(name, column, column, [0, 1])[:3]:
            if not any(isinstance(each, Column) and each != column for each in given):
                with suppress(UnsupportedQueryError):
                    yield call(name, *(zero if each == column else each for each in given))


def assert_one_value(dialect: Dialect, base: str, source: str, run: Run) -> int:
    """Check all values of a column `k` of `source`, read as it is and as text; returns how many were equal."""
    merged = 0
    for kind in {dialect.kinds[base], Kind.TEXT}:
        column, translator, items = Column("k", Facts(kind=kind)), Translator(dialect, {"k": base}), []
        with suppress(UnsupportedQueryError):
            key = translator.expression(column)
            for each in calls(column):
                with suppress(UnsupportedQueryError):
                    items.append(f"CAST({translator.expression(each)} AS {dialect.types[Kind.TEXT]})")
            rows = run(f"SELECT min(n) OVER (PARTITION BY {key}), {', '.join(items)} FROM {source}")
            seen: dict[int, tuple[Any, ...]] = {}
            for group, *values in rows:
                merged += group in seen
                assert seen.setdefault(group, tuple(values)) == tuple(values), (base, kind)
    return merged


def columns(types: Mapping[str, list[str]]) -> Iterator[tuple[str, str]]:
    """Each type with a table of its values."""
    for kind, values in types.items():
        rows = ", ".join(f"({n}, '{value}')" for n, value in enumerate(values))
        yield kind, f"(SELECT n, CAST(v AS {kind.partition(' COLLATE')[0]}) AS k FROM (VALUES {rows}) AS t(n, v))"


def test_equal_keys_of_duckdb_have_one_value() -> None:
    with duckdb.connect() as connection:
        for number, (kind, rows) in enumerate(columns(DUCKDB_TYPES)):
            connection.execute(f"CREATE TABLE t{number} (n INT, k {kind}); INSERT INTO t{number} FROM {rows}")
            ((_, base, *_),) = connection.execute(f"DESCRIBE SELECT k FROM t{number}").fetchall()
            merged = assert_one_value(
                DUCKDB, base_type(base), f"t{number}", lambda statement: connection.execute(statement).fetchall()
            )
            assert merged or not kind.startswith(("DOUBLE", "FLOAT", "DECIMAL", "TIME", "UUID"))


def test_equal_keys_of_postgres_have_one_value(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as owner, psycopg.connect(as_reader(postgres)) as connection:
        owner.execute("CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
        for number, (kind, rows) in enumerate(columns(POSTGRES_TYPES)):
            owner.execute(f"CREATE TABLE t{number} (n int, k {kind}); INSERT INTO t{number} {rows[1:-1]}".encode())
            base = kind.partition("(")[0].partition(" COLLATE")[0]
            merged = assert_one_value(
                Postgres(), base, f"t{number}", lambda statement: connection.execute(statement.encode()).fetchall()
            )
            assert merged or "text" in kind


def test_the_sign_of_a_zero_decides_nothing() -> None:
    """The zeros of a unit are one group, and what is computed of it is the same whichever zero came first."""
    import pyarrow as pa

    inner = "SELECT u, x AS k FROM t WHERE x = 0 GROUP BY u, x"
    found = set()
    for zeros in ([0.0, -0.0] * 8, [-0.0, 0.0] * 8):
        rows = pa.table({"u": [n // 2 for n in range(16)], "x": zeros})
        columns = {"x": dn.Number(lower=-1, upper=1)}
        db = dn.connect(rows, name="t", unit="u", columns=columns, budget=dn.Budget(epsilon=1000), threads=2)
        text = f"SELECT SUM(LEAST(GREATEST(POWER(k, -1), -1), 1)) AS s FROM ({inner}) AS z"
        found.add(round(float(db.sql(text, epsilon=500).to_dicts()[0]["s"])))
    assert found == {8}
