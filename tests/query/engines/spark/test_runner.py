"""A table of Spark as a source: what is read, what is said, and which settings are refused."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from deniable.errors import ExecutionError, InvalidParameterError, SourceError
from deniable.query.engines.dialect import Translator
from deniable.query.engines.spark.runner import SparkRunner
from deniable.query.expression import Column, Facts, Kind, literal
from deniable.query.operators import call

INF = float("inf")
COLUMNS: dict[str, tuple[pa.DataType, list[object], Kind | None]] = {
    "tiny": (pa.int8(), [1, None], Kind.INTEGER),
    "long `x`": (pa.int64(), [2**63 - 1, None], Kind.INTEGER),
    "real": (pa.float32(), [0.5, float("nan")], Kind.REAL),
    "price": (pa.decimal128(12, 3), [None, 7], Kind.REAL),
    "note": (pa.string(), ["-7.5", "\u00e9"], Kind.TEXT),
    "Note": (pa.string(), ["other", None], Kind.TEXT),
    "member": (pa.bool_(), [True, None], Kind.BOOLEAN),
    "day": (pa.date32(), [date(2024, 2, 29), -1_000_000], Kind.DATE),
    "seen": (pa.timestamp("us"), [datetime(2024, 2, 29, 1), -(2**60)], Kind.TIMESTAMP),
    "moment": (pa.timestamp("us", "UTC"), [datetime(2024, 2, 29, 1, tzinfo=UTC), None], Kind.TIMESTAMP),
    "tags": (pa.list_(pa.int8()), [[1], None], None),
    "raw": (pa.binary(), [b"x", None], None),
}


@pytest.fixture
def runner(spark: Any, tmp_path: Path) -> SparkRunner:
    table = pa.table({name: pa.array(values, type=kind) for name, (kind, values, _) in COLUMNS.items()})
    pq.write_table(table, tmp_path / "t.parquet")
    return SparkRunner(spark, str(tmp_path / "t.parquet"))


def test_types_are_known_by_kind_and_odd_values_have_none(runner: SparkRunner) -> None:
    assert dict(runner.schema()) == {name: kind for name, (_, _, kind) in COLUMNS.items()}
    day, moment = date(2024, 2, 29), datetime(2024, 2, 29, 1)
    expected = [(1, None), (2**63 - 1, None), (0.5, None), (None, 7.0), ("-7.5", "\u00e9"), ("other", None)]
    expected += [(True, None), (day, None), (moment, None), (moment, None)]
    translator = Translator(runner.dialect, runner.types)
    columns = [Column(name, Facts(kind=kind)) for name, (_, _, kind) in COLUMNS.items() if kind is not None]
    said = ", ".join(f"{translator.expression(column)} AS c{place}" for place, column in enumerate(columns))
    statement = f"SELECT {said} FROM {runner.source} ORDER BY c0 NULLS LAST"
    assert runner.check(statement)
    assert runner.run(statement) == list(zip(*expected, strict=True))
    whole = translator.expression(Column("note", Facts(kind=Kind.INTEGER)))  # text that is declared a whole number
    assert sorted(runner.run(f"SELECT {whole} FROM {runner.source}"), key=str) == [(-8,), (None,)]


def test_collations_do_not_matter(spark: Any, runner: SparkRunner) -> None:
    spark.sql("SELECT 'Ab' COLLATE UNICODE_CI AS t").createOrReplaceTempView("words")
    words = SparkRunner(spark, "words")
    column = Column("t", Facts(kind=Kind.TEXT))
    for other, same in (("ab", False), ("Ab", True)):
        sql = Translator(words.dialect, words.types).expression(call("eq", column, literal(other)))
        assert words.run(f"SELECT {sql} FROM {words.source}") == [(same,)]


@pytest.mark.parametrize("statement", ["SELECT CAST('secret' AS INT)", "SELEC", "SELECT raise_error('secret')"])
def test_a_failure_has_one_constant_text(runner: SparkRunner, statement: str) -> None:
    with pytest.raises(ExecutionError) as failure:
        runner.run(statement)
    assert str(failure.value) == str(ExecutionError())
    assert failure.value.__cause__ is None
    assert failure.value.__context__ is None
    assert not runner.check("SELECT nothing FROM nowhere")


def test_what_cannot_be_opened_is_said(spark: Any, tmp_path: Path) -> None:
    for table in ("nothing", "no.such.place", str(tmp_path / "none")):
        with pytest.raises(SourceError, match="cannot be opened"):
            SparkRunner(spark, table)
    for name in ("spark.sql.ansi.enabled", "spark.sql.session.timeZone"):
        before = spark.conf.get(name)
        spark.conf.set(name, "false" if before == "true" else "Asia/Kolkata")
        with pytest.raises(InvalidParameterError, match=f"with {name}={before}"):
            SparkRunner(spark, "nothing")
        spark.conf.set(name, before)
