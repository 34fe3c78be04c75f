"""What a frame of Spark is made of is understood, or refused: by plans as Spark 4.3 says them, and on a real one."""

import gc
from typing import Any

import pytest

import deniable as dn
from deniable.errors import SourceError
from deniable.query.engines.spark import runner, views

STORED = "Relation spark_catalog.default.t[who#8L,x#9L,g#10] parquet"
HEAD = ["Project [1 AS 1#1]", "+- SubqueryAlias v", "   +- View (`v`, [who#8L, x#9L, g#10])"]
UNDERSTOOD = [
    [STORED],
    ["LogicalRDD [who#8L, x#9L], false"],
    ["Project [cast(who#8 as int) AS u#11, cast(x#9L as bigint) AS x#12L]", "Project [who#8L AS u#11, x#9L]", STORED],
    ["Filter (((g#10 = a) AND between(x#9L, 1, 3)) AND who#8L IN (cast(1 as bigint),cast(2 as bigint)))", STORED],
    ["Project [who#8L, CASE WHEN (g#10 = a) THEN x#9L END AS x#12L, collate(g#10, UNICODE_CI) AS g#13]", STORED],
]
REFUSED = [
    ["Window [sum(x#9L) windowspecdefinition(specifiedwindowframe(RowFrame, unboundedpreceding$())) AS y#2L]", STORED],
    ["Project [who#8L, rand(7162635793261399219) AS r#32]", STORED],
    ["Project [who#8L, (x#9L + cast(1 as bigint)) AS y#2L]", STORED],  # which a row could stop
    ["Project [who#8L, -x#9L AS y#2L]", STORED],
    ["Project [who#8L, (x#9L div 2) AS y#2L]", STORED],
    ["Filter (x#9L > 1)", "Project [cast(g#10 as bigint) AS x#12L]", STORED],
    ["Project [who#8L, <lambda>(x#9L)#39L AS y#40L]", STORED],
    ["Project [who#8L, _metadata#97.row_index AS place#98]", STORED],
    ["Project [who#8L, list#9[0] AS x#98]", STORED],
    ["Filter (cast(x#9L as double) > scalar-subquery#85 [])", ":  +- Aggregate [avg(x#89L) AS avg(x)#87]", STORED],
    ["Join Inner, (who#8L = who#33L)", f":- {STORED}", STORED],
    ["GlobalLimit 3", "LocalLimit 3", STORED],
    ["Sample 0.0, 0.5, false, 3565200922013173945, Bernoulli", STORED],
    ["Aggregate [g#6], [g#6, count(1) AS count#68L]", STORED],
    ["Relation [_c0#63] csv"],
    ["Relation [who#8L] JDBCRelation((SELECT who FROM t) q) [numPartitions=1]"],
    ["RelationV2[who#8L] t"],
    [],
]


@pytest.mark.parametrize("plan", [*UNDERSTOOD, *REFUSED])
def test_a_plan_is_understood_or_refused(plan: list[str]) -> None:
    lines = [*HEAD, *(f"{' ' * 6}{'' if line[0] == ':' else '+- '}{line}" for line in plan)]
    text = "\n".join(
        ["== Parsed ==", "== Analyzed Logical Plan ==", "1: int", *lines, "", "== Optimized Logical Plan =="]
    )

    class Session:
        """Whose settings are checked when asked with a default, as those of Spark 4.3 are."""

        def __init__(self) -> None:
            self.settings = {**runner.SETTINGS, views.FIELDS: "25"}
            self.conf = self

        def get(self, name: str) -> str:
            return self.settings[name]

        def set(self, name: str, value: str) -> None:
            self.settings[name] = value

        def sql(self, statement: str) -> Any:
            return self if self.settings[views.FIELDS] == "1000000" else None

        def collect(self) -> list[list[str]]:
            return [[text]]

    session = Session()
    assert (views.refusal(session, "v") is None) == (plan in UNDERSTOOD)
    assert session.settings[views.FIELDS] == "25"
    assert runner._others(session) == {}


def test_frames_of_spark_are_understood_or_refused(spark: Any) -> None:
    frame = spark.range(9).selectExpr("id AS who", "id AS x")
    for made in (frame, frame.where("x > 3"), frame.join(frame, "who").localCheckpoint()):
        dn.connect(made, name="t", unit="who", columns={}, budget=dn.Budget(epsilon=1)).explain(
            "SELECT COUNT(*) FROM t", epsilon=1
        )
    for text in ("who, rand() AS x", "who, sum(x) OVER () AS x", "who, x + 1 AS x", "DISTINCT who, x"):
        made = spark.sql(f"SELECT {text} FROM {{frame}}", frame=frame)
        with pytest.raises(SourceError, match="cannot be asked"):
            dn.connect(made, name="t", unit="who", columns={}, budget=dn.Budget(epsilon=1))


def test_views_go_with_their_databases_and_what_is_cached_stays(spark: Any) -> None:
    def views() -> set[str]:
        return {each.name for each in spark.catalog.listTables() if each.name.startswith("deniable_")}

    def dropped() -> None:
        gc.collect()
        for _ in range(len(runner._LEFT)):
            runner._drop_left()

    def connected(frame: Any) -> Any:
        return dn.connect(frame, name="t", unit="who", columns={}, budget=dn.Budget(epsilon=1))

    dropped()
    before, cached = views(), spark.range(7).selectExpr("id AS who").cache()
    one, two = connected(spark.range(9).selectExpr("id AS who")), connected(cached)
    assert len(views() - before) == 2
    del one, two
    dropped()
    assert len(views() - before) == 1
    assert cached.storageLevel.useMemory
    cached.unpersist()
    dropped()
    assert views() <= before
