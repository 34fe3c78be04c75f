"""A declaration is taken where some value of the column's type can be read so, and refused where none can."""

from collections.abc import Callable, Mapping
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import deniable as dn
from deniable.errors import CatalogError, UnsupportedQueryError
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Declaration
from deniable.query.engines.dialect import Dialect, Translator
from deniable.query.engines.duckdb.engine import base_type
from deniable.query.engines.duckdb.expression import DUCKDB
from deniable.query.engines.postgres.expression import Postgres
from deniable.query.expression import Column, Facts, Kind

DECLARED: Mapping[Kind, Declaration] = {
    Kind.INTEGER: dn.Number(lower=0, upper=9, integer=True),
    Kind.REAL: dn.Number(lower=0, upper=9, integer=False),
    Kind.TEXT: dn.Text(),
    Kind.BOOLEAN: dn.Boolean(),
    Kind.DATE: dn.Date(),
    Kind.TIMESTAMP: dn.Timestamp(),
}
WORDS = ["1", "2020-01-01", "true"]
TYPES_OF = {
    "1": ("SMALLINT", "INTEGER", "BIGINT", "REAL", "DOUBLE PRECISION", "DECIMAL(9, 2)"),
    "2020-01-01": ("DATE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE"),
    "true": ("BOOLEAN",),
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11": ("UUID",),
    "12:00": ("TIME",),
    "1 day": ("INTERVAL",),
}
COMMON = {"VARCHAR": WORDS} | {name: [value] for value, names in TYPES_OF.items() for name in names}
OF_DUCKDB = {"1": ("TINYINT", "UBIGINT", "HUGEINT", "BLOB"), "2020-01-01": ("TIMESTAMP_S", "TIMESTAMP_NS")}
OF_DUCKDB |= {"[1]": ("INTEGER[]",), "{'a': 1}": ("STRUCT(a INTEGER)",), "{1=1}": ("MAP(INTEGER, INTEGER)",)}
DUCKDB_TYPES = COMMON | {"ENUM('1', '2020-01-01')": WORDS[:2]}
DUCKDB_TYPES |= {name: [value] for value, names in OF_DUCKDB.items() for name in names}
POSTGRES_TYPES = COMMON | {"TEXT": WORDS, "CHARACTER(10)": WORDS, "BYTEA": ["1"], "INTEGER[]": ["{1}"], "JSON": ["[1]"]}
Read = Callable[[str], list[tuple[Any, ...]]]


def assert_declared_as_readable(dialect: Dialect, base: str, source: str, read: Read) -> None:
    stored = dialect.kinds.get(base)
    for kind, declared in DECLARED.items():
        taken, found = True, False
        try:
            DeclaredTable(name="t", schema={"k": stored}, unit=dn.each_row(), columns={"k": declared})
            column = Column("k", Facts(kind=kind))
            sql = Translator(dialect, {"k": base}).expression(column)
            found = any(value is not None for (value,) in read(f"SELECT {sql} FROM {source}"))
        except (CatalogError, UnsupportedQueryError):
            taken = False
        assert taken is found, (base, kind)


def test_duckdb_reads_what_may_be_declared() -> None:
    with duckdb.connect() as connection:
        for number, (kind, values) in enumerate(DUCKDB_TYPES.items()):
            connection.execute(f"CREATE TABLE t{number} (k {kind})")
            connection.executemany(f"INSERT INTO t{number} VALUES (?)", [[value] for value in values])
            ((_, base, *_),) = connection.execute(f"DESCRIBE t{number}").fetchall()
            assert_declared_as_readable(
                DUCKDB, base_type(base), f"t{number}", lambda statement: connection.execute(statement).fetchall()
            )


def test_postgres_reads_what_may_be_declared(postgres: str) -> None:
    import psycopg

    with psycopg.connect(postgres) as connection:
        for number, (kind, values) in enumerate(POSTGRES_TYPES.items()):
            rows = ", ".join(f"('{value}')" for value in values)
            connection.execute(f"CREATE TABLE t{number} (k {kind}); INSERT INTO t{number} VALUES {rows}".encode())
            ((base,),) = connection.execute(f"SELECT format_type('{kind}'::regtype, NULL)".encode()).fetchall()
            assert_declared_as_readable(
                Postgres(), base, f"t{number}", lambda statement: connection.execute(statement.encode()).fetchall()
            )


@pytest.mark.parametrize(
    ("values", "declared", "words"),
    [
        (pd.to_datetime(["2020-01-01"]), dn.Number(lower=0, upper=9, integer=True), r"dn.Timestamp\(\), and .* YEAR"),
        (pa.array([18_000], pa.date32()), dn.Number(lower=0, upper=9), r"as a Number, .* kind date.* dn.Date\(\)"),
        (pa.array([18_000], pa.date32()), dn.Keys([1, 2]), r"dn.Date\(\)"),
        (pa.array([1], pa.time64("us")), dn.Timestamp(), r"read as text alone.* dn.Text\(\)"),
        (pa.array([1], pa.duration("us")), dn.Number(lower="auto", upper="auto"), r"dn.Text\(\)"),
        (pa.array([[1]]), dn.Boolean(), r"dn.Text\(\)"),
        (pa.array([1.5]), dn.Date(), r"dn.Number\(...\)"),
    ],
)
def test_what_to_declare_is_said_at_the_door(values: Any, declared: Declaration, words: str) -> None:
    rows = pa.table({"c": pd.Series(values) if isinstance(values, pd.Index) else values})
    with pytest.raises(CatalogError, match=words):
        dn.connect(rows, name="t", unit=dn.each_row(), columns={"c": declared}, budget=dn.Budget(epsilon=1))


def test_no_hint_leads_to_a_declaration_that_is_refused() -> None:
    rows = pa.table({"d": pa.array([18_000], pa.date32()), "b": [True], "s": ["1"]})
    db = dn.connect(rows, name="t", unit=dn.each_row(), budget=dn.Budget(epsilon=1))
    for name, words in {"d": "YEAR", "b": "COUNTIF", "s": "integer=True"}.items():
        with pytest.raises(UnsupportedQueryError, match=words) as refused:
            db.sql(f"SELECT SUM({name}) FROM t", epsilon=1)
        assert ("integer=True" in str(refused.value)) is (name == "s")
