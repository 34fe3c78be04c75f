"""Others in a session replace views and tables, cache, and change settings: answers are equal, or refused unpaid."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import SourceError
from tests.query.conftest import SECRET

TEXT = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
OURS, OTHER = [6, 3], [1, 0]
REFUSED = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.session.timeZone": "Asia/Kolkata",
    "spark.sql.storeAssignmentPolicy": "LEGACY",
    "spark.sql.mapKeyDedupPolicy": "LAST_WIN",
    "spark.sql.legacy.timeParserPolicy": "LEGACY",
}
EQUAL = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "5"}


def opened(frame: Any) -> Any:
    columns = {"g": dn.Keys(["a", "b"])}
    return dn.connect(frame, name="t", unit="who", columns=columns, budget=dn.Budget(epsilon=1))


def exact(db: Any) -> list[int]:
    plan = db.explain(TEXT, epsilon=1).plan
    db._engine.check(plan)
    (counts,) = db._engine.exact(plan, secret=SECRET)
    return [int(count) for count in counts]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[str, str]:
    for name, rows in (("ours", {"who": [*range(9)], "g": ["a", "a", "b"] * 3}), ("other", {"who": [1], "g": ["a"]})):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table(rows), tmp_path / name / "t.parquet")
    return str(tmp_path / "ours"), str(tmp_path / "other")


def test_names_that_others_use_mislead_no_question(spark: Any, folders: tuple[str, str]) -> None:
    ours, other = (spark.read.parquet(folder) for folder in folders)
    ours.createOrReplaceTempView("t")
    ours.createOrReplaceGlobalTempView("t")
    spark.sql(f"CREATE TABLE stored USING parquet LOCATION '{folders[0]}'")
    dbs = [opened(spark.table(name)) for name in ("t", "global_temp.t", "stored")]
    one, two = opened(ours), opened(other)  # of one name
    try:
        ours.cache()
        other.createOrReplaceTempView("t")
        other.createOrReplaceGlobalTempView("t")
        spark.sql("DROP TABLE stored")
        spark.sql(f"CREATE TABLE beside USING parquet LOCATION '{folders[1]}'")
        spark.sql("CREATE VIEW stored AS SELECT * FROM beside")
        for db in (*dbs, one):
            other.createOrReplaceTempView(db._engine._runner.source.strip("`"))
        assert [exact(db) for db in (*dbs, one, two)] == [OURS] * 4 + [OTHER]
        for db in (one, two):
            spark.catalog.dropTempView(db._engine._runner.source.strip("`"))
        assert [exact(db) for db in (one, two)] == [OURS, OTHER]
    finally:
        ours.unpersist()
        for each in ("VIEW", "TABLE"):
            with suppress(Exception):
                spark.sql(f"DROP {each} IF EXISTS {'stored' if each == 'VIEW' else 'beside'}")


def test_settings_that_others_change_are_seen_before_payment(spark: Any, folders: tuple[str, str]) -> None:
    db = opened(spark.read.parquet(folders[0]))

    def with_setting(name: str, value: str, then: Callable[[], None]) -> None:
        said = spark.conf.getAll.get(name)
        spark.conf.set(name, value)
        try:
            then()
        finally:
            spark.conf.unset(name) if said is None else spark.conf.set(name, said)

    def refused() -> None:
        with pytest.raises(SourceError, match="session's settings"):
            db.sql(TEXT, epsilon="0.1")

    def equal() -> None:
        assert exact(db) == OURS

    for settings, then in ((REFUSED, refused), (EQUAL, equal)):
        for name, value in settings.items():
            with_setting(name, value, then)
    assert not db.ledger.entries()
    equal()


def test_a_setting_changed_while_a_question_runs_is_seen(spark: Any, folders: tuple[str, str]) -> None:
    runner = opened(spark.read.parquet(folders[0]))._engine._runner
    statement = f"SELECT count(*) FROM {runner.source}"
    assert runner.rows(statement) == [(9,)]
    ask = runner.session.sql

    class Meanwhile:
        """The session, in which another thread changes a setting."""

        conf = spark.conf

        def sql(self, text: str) -> Any:
            spark.conf.set("spark.sql.mapKeyDedupPolicy", "LAST_WIN")
            return ask(text)

    runner.session = Meanwhile()
    try:
        assert runner.rows(statement) is None
    finally:
        spark.conf.unset("spark.sql.mapKeyDedupPolicy")
