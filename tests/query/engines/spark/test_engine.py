"""Spark as an engine: the same secret integers as from DuckDB, bit for bit."""

import os
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import SourceError
from deniable.query.engines.doctor import Doctor
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.source import open_sources
from tests.query.conftest import SECRET
from tests.query.engines.integers import (
    COLUMNS,
    OTHERS,
    QUESTIONS,
    RELATIONS,
    UNITS,
    arrow,
    assert_same,
    assert_same_relations,
    tables_of,
)
from tests.query.engines.test_trouble import ROWS, Case, assert_answered, assert_paid_in_vain, assert_refused_unpaid


def test_spark_gives_the_same_integers_and_draws_noise_once(spark: Any, tmp_path: Path) -> None:
    from pyspark.sql.functions import expr

    tables, frames = {"t": arrow(), **OTHERS}, {}
    for name, rows in tables.items():
        pq.write_table(rows, tmp_path / f"{name}.parquet")
        frames[name] = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
    for name, collation in (("g", "UNICODE_CI_AI"), ("name", "UTF8_LCASE")):  # in which more texts are equal
        frames["t"] = frames["t"].withColumn(name, expr(f"{name} COLLATE {collation}"))
    one, other = DuckDBEngine(tables), open_sources(frames, columns={}, unit=None)
    for text, unit in product(QUESTIONS, ("who", "name", None)):
        assert_same(one, other, text, unit)
    for text, whose in product(RELATIONS, UNITS):
        assert_same_relations(one, other, text, *whose)
    for table in tables_of(one, "name", bound={"rows": 2, "groups": 2}).values():
        assert list(Doctor(one).examine(table)) == list(Doctor(other).examine(table))
    db = dn.connect(frames["t"], name="t", unit="who", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    answer = db.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
    assert answer.to_dicts() == answer.to_dicts()


def test_trouble_of_spark_is_told_and_charged_as_on_other_engines(spark: Any, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    pq.write_table(ROWS, tmp_path / "gone.parquet")
    gone = spark.read.parquet(str(tmp_path / "gone.parquet"))
    (tmp_path / "gone.parquet").unlink()
    case = Case({"source": frame}, [{"source": gone}], lambda: None)
    if "SPARK_REMOTE" in os.environ:  # there a frame is analysed when it gets a name, and not when it is made
        with pytest.raises(SourceError, match="cannot be opened"):
            case.open({"source": gone})
    else:
        assert_paid_in_vain(case)
    db = case.open(case.whole)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")
    try:
        assert_refused_unpaid(db)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    assert_answered(db)


def test_text_that_is_no_utf8_is_missing_and_counted(spark: Any) -> None:
    frame = spark.sql("SELECT id AS who, IF(id < 3, CAST(X'61FF' AS STRING), 'a') AS g FROM range(9)")
    db = dn.connect(frame, name="t", unit="who", columns={"g": dn.Keys(["a"])}, budget=dn.Budget(epsilon=1))
    plan = db.explain("SELECT g, COUNT(*) FROM t GROUP BY g", epsilon=1).plan
    assert [list(map(int, part)) for part in db._engine.exact(plan, secret=SECRET)] == [[6]]
    found = {finding.what.split(";")[0]: finding.count for finding in Doctor(db._engine).examine(db.tables["t"])}
    assert found["values that cannot be read as text"] == 3
