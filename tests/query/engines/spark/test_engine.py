"""Spark as an engine: the same secret integers as from DuckDB, bit for bit."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import deniable as dn
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.source import open_source
from tests.query.engines.integers import COLUMNS, QUESTIONS, arrow, assert_same


def test_spark_gives_the_same_integers_and_draws_noise_once(spark: Any, tmp_path: Path) -> None:
    pq.write_table(arrow(), tmp_path / "t.parquet")
    frame = spark.read.parquet(str(tmp_path / "t.parquet"))
    one, other = DuckDBEngine.from_arrow(arrow()), open_source(frame)
    for text in QUESTIONS:
        for unit in ("who", "name", None):
            assert_same(one, other, text, unit)
    db = dn.connect(frame, name="t", unit="who", columns=COLUMNS, budget=dn.Budget(epsilon=1))
    answer = db.sql("SELECT g, COUNT(*) AS n FROM t GROUP BY g", epsilon=1)
    assert answer.to_dicts() == answer.to_dicts()
