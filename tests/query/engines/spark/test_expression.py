"""Spark answers every expression as DuckDB does, whatever stands in the rows: slow, so only under `make spark`."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.engines.spark.expression import Spark
from deniable.query.expression import Kind
from tests.query.engines import contract
from tests.query.engines.test_equal import REALS, assert_one_value, columns


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


def test_equal_keys_have_one_value(spark: Any) -> None:
    numbers = {"double": REALS[:4], "float": ["0", "-0.0", "nan"], "decimal(9, 3)": ["0", "-0.000", "1.5", "1.500"]}
    for kind, rows in columns({**numbers, "string": ["a", "A", "a ", "0", "-0.0"]}):
        spark.sql(rows[1:-1]).createOrReplaceTempView("keys")
        base = kind.partition("(")[0]
        merged = assert_one_value(Spark(), base, "keys", lambda statement: spark.sql(statement).collect())
        assert merged or kind == "string"


def test_texts_hold_no_variable_of_spark_and_names_that_do_are_refused() -> None:
    """Spark puts the values of ${env:HOME} or ${nothing} into a statement, in constants too, before it reads it."""
    said = "a${env:HOME}"
    assert Spark().constant(said) == f"CAST(X'{said.encode().hex()}' AS STRING)"
    assert "${" not in Spark().listed({"k0": Kind.TEXT}, [(said,), ("a",)])
    with pytest.raises(UnsupportedQueryError, match="variable"):
        Spark().quoted("a${nothing}")
