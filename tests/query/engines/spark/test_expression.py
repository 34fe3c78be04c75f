"""Spark answers every expression as DuckDB does, whatever stands in the rows. Slow, so only under `make spark`."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from deniable.query.engines.spark.expression import Spark
from tests.query.engines import contract


def test_expressions_have_the_values_of_duckdb(spark: Any, tmp_path: Path) -> None:
    types = {kind: name.lower() for kind, name in Spark.types.items()}
    pq.write_table(contract.table(), tmp_path / "source.parquet")
    spark.read.parquet(str(tmp_path / "source.parquet")).createOrReplaceTempView("source")
    assert spark.sql(contract.orders(Spark())).collect() == contract.expected_orders()
    found = {}
    for asked, statement in contract.statements(Spark(), types, size=80):  # more in one would outgrow a Java method
        rows = spark.sql(statement).collect()
        found.update(zip(asked, zip(*rows, strict=True), strict=True))
    contract.check(found, refused={"ln", "log10", "exp", "power"})
