"""Spark as an engine: the same secret integers as from DuckDB, bit for bit."""

from itertools import product
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import deniable as dn
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.source import open_sources
from tests.query.engines.integers import (
    COLUMNS,
    OTHERS,
    QUESTIONS,
    RELATIONS,
    UNITS,
    arrow,
    assert_same,
    assert_same_relations,
)


def test_spark_gives_the_same_integers_and_draws_noise_once(spark: Any, tmp_path: Path) -> None:
    tables, frames = {"t": arrow(), **OTHERS}, {}
    for name, rows in tables.items():
        pq.write_table(rows, tmp_path / f"{name}.parquet")
        frames[name] = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
    one, other = DuckDBEngine.of(tables), open_sources(frames, columns={}, unit=None)
    for text, unit in product(QUESTIONS, ("who", "name", None)):
        assert_same(one, other, text, unit)
    for text, whose in product(RELATIONS, UNITS):
        assert_same_relations(one, other, text, *whose)
    db = dn.connect(frames["t"], name="t", unit="who", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    answer = db.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
    assert answer.to_dicts() == answer.to_dicts()
