"""Rows of relations in DuckDB: totals to the last bit, and units of a day."""

from datetime import date

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from deniable.privacy import PrivacyUnit
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import PricedPlan
from deniable.query.sql import parse
from tests.query.conftest import SECRET
from tests.query.test_table_expression import plan_of


def test_sums_of_a_unit_do_not_depend_on_the_order_of_rows() -> None:
    """Twin: plain sums of the same values do."""
    rng = np.random.default_rng(7)
    values = rng.uniform(-1e3, 1e3, 5_000)
    found, plain = set(), set()
    for _ in range(4):
        values = rng.permutation(values)
        engine = DuckDBEngine.from_arrow(pa.table({"who": np.zeros(5_000, dtype=int), "x": values}), threads=2)
        declared = {"x": Number(lower=-1000, upper=1000)}
        table = DeclaredTable(name="t", schema=engine.schema(), unit=PrivacyUnit(column="who"), columns=declared)
        query = parse("SELECT COUNT(*) FROM (SELECT who, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY who)", {"t": table})
        rows = query.question.source
        found.add(
            tuple(engine.columns(rows, [rows.column("s"), rows.column("a")]).column(n)[0].as_py() for n in (0, 1))
        )
        plain.add(float(np.cumsum(values)[-1]))
    assert len(found) == 1 < len(plain)
    assert abs(found.pop()[0] - values.sum()) < 1e-6


DAYS = [date(2025, 1, 1), date(2025, 1, 2), None]
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "1|a"]), st.sampled_from(DAYS), st.integers(-1, 3)), max_size=8)
FIELDS = {"user": pa.string(), "day": pa.date32(), "x": pa.int64()}
ENGINE = DuckDBEngine.from_arrow(pa.schema(list(FIELDS.items())).empty_table(), threads=1)
DAILY = [
    "SELECT COUNT(*), SUM(x) FROM t",
    "SELECT COUNT(*), SUM(LEAST(GREATEST(n, 0), 3)) FROM (SELECT user, day, COUNT(x) AS n FROM t GROUP BY user, day)",
    "SELECT COUNT(*), SUM(a.x) FROM t a JOIN t b ON a.user = b.user AND a.day = b.day",
]


def daily(rows: list[tuple[object, ...]], text: str, bound: int) -> tuple[PricedPlan, list[list[int]]]:
    held = {name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(FIELDS.items())}
    ENGINE._connection.register("frame0", pa.table(held))
    unit = PrivacyUnit(column="user", noun="user", period="day")
    table = DeclaredTable(
        name="t", schema=ENGINE.schema(), unit=unit, columns={"x": Number(lower=0, upper=2)}, rows=bound
    )
    plan = plan_of(text, {"t": table})
    return plan, [[int(each) for each in part] for part in ENGINE.exact(plan, secret=SECRET)]


@given(ROWS, st.sampled_from(DAILY), st.integers(1, 2))
def test_a_day_of_a_user_moves_totals_no_further_than_the_plan_says(rows: list, text: str, bound: int) -> None:
    plan, here = daily(rows, text, bound)
    _, there = daily([row for row in rows if row[:2] != ("a", DAYS[0])], text, bound)
    for part, one, other in zip(plan.parts, here, there, strict=True):
        assert abs(one[0] - other[0]) <= part.sensitivity.l1


def test_a_user_counts_on_each_day() -> None:
    """Which is the weaker promise: a user of two days counts twice."""
    rows = [("a", DAYS[0], 2), ("a", DAYS[0], 2), ("a", DAYS[1], 2), ("a", None, 2), (None, DAYS[0], 2)]
    assert daily(rows, DAILY[0], 1)[1][0] == [2]
