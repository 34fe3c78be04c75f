"""Relations: every node keeps the rows of a unit a function of that unit's own rows, or refuses to be made."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deniable.errors import UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import exact_rational
from deniable.privacy import AddRemove, PrivacyUnit, Relation, Replace
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Keys, Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.naming import named
from deniable.query.plan import PricedPlan
from deniable.query.promise import declared_tables
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import SECRET

KEYS = {
    "buyer": pa.int64(), "item": pa.int64(), "paid": pa.float64(), "region": pa.string(), "label": pa.string(),
    "weight": pa.float64(),
}  # fmt: skip
COLUMNS = {
    "orders": {
        "paid": Number(lower=-2, upper=4),
        "item, paid > 0": Keys([(2, True), (1, False), (None, True), (1, None)]),
    },
    "people": {"region": Keys(["n", "s"])},
    "items": {"label": Keys(["x", "y"])},
    "lines": {"weight": Number(lower=0, upper=2)},
}
Rows = Sequence[tuple[Any, ...]]
ENGINE = DuckDBEngine(
    {
        name: pa.schema([(column, KEYS[column]) for column in columns.split()]).empty_table()
        for name, columns in {
            "orders": "buyer item paid", "people": "buyer region", "items": "item label", "lines": "item weight",
        }.items()
    },
    threads=1,
)  # fmt: skip
FIXED: Rows = [(1, "x"), (2, "y"), (2, "x"), (None, "y")]


def tables_of(engine: DuckDBEngine, relation: Relation = AddRemove, **bounds: int) -> dict[str, DeclaredTable]:
    promise = {"relation": relation, "rows": 2, "groups": 1, **bounds}
    unit = PrivacyUnit(column="buyer", noun="buyer")
    return declared_tables(
        ["orders", "people", "items", "lines"],
        schema=engine.schema, columns=COLUMNS, public=["items"], unit=unit, promise=promise,
        paths={"lines": ("item", "orders")},
    )  # fmt: skip


def engine_of(orders: Rows, people: Rows, lines: Rows = ()) -> DuckDBEngine:
    def table(names: str, rows: Rows) -> pa.Table:
        return pa.table({n: pa.array([row[i] for row in rows], KEYS[n]) for i, n in enumerate(names.split())})

    parts = {
        "orders": table("buyer item paid", orders), "people": table("buyer region", people),
        "items": table("item label", FIXED), "lines": table("item weight", lines),
    }  # fmt: skip
    for number, part in enumerate(parts.values()):
        ENGINE._connection.register(f"frame{number}", part)  # a new engine would take 30 ms
    return ENGINE


def plan_of(text: str, tables: dict[str, DeclaredTable], engine: DuckDBEngine | None = None) -> PricedPlan:
    look = engine and (lambda rows, expression: engine.columns(rows, [expression]).column(0).to_pylist())
    return named(price(parse(text, tables, look), Price(epsilon=exact_rational("epsilon", 1))))


def totals(
    text: str, orders: Rows, people: Rows, lines: Rows = (), **bounds: Any
) -> tuple[PricedPlan, list[list[int]]]:
    engine = engine_of(orders, people, lines)
    plan = plan_of(text, tables_of(engine, **bounds), engine)
    return plan, [[int(each) for each in part] for part in engine.exact(plan, secret=SECRET)]


def test_units_that_are_read_as_another_type_are_no_units() -> None:
    """'1' and '01' are two people, and one whole number."""
    parts = {"a": pa.table({"who": ["1", "01"]}), "b": pa.table({"who": ["1", "01"]})}
    engine = DuckDBEngine(parts, threads=1)
    asked = "SELECT COUNT(*) FROM a JOIN b USING (who)"
    for columns, allowed in (({}, True), ({name: {"who": Number(integer=True)} for name in parts}, False)):
        tables = declared_tables(
            parts, schema=engine.schema, columns=columns, public=[], unit=PrivacyUnit(column="who"), promise={}
        )
        if allowed:
            assert plan_of(asked, tables)
        else:
            with pytest.raises(UnsupportedQueryError, match="not read as another type"):
                plan_of(asked, tables)


BUYER = st.integers(0, 2)
SOME_ORDERS = st.lists(
    st.tuples(BUYER, st.sampled_from([1, 2, None]), st.sampled_from([-9.0, 0.5, 4.0, None])), max_size=7
)
SOME_PEOPLE = st.lists(st.tuples(BUYER, st.sampled_from(["n", "s", "w"])), max_size=5)
MEASURES = "COUNT(*), COUNT(paid), SUM(paid), AVG(paid), COUNT(DISTINCT o.buyer)"
SHAPES = [
    f"SELECT region, {MEASURES} FROM orders o JOIN people p USING (buyer) GROUP BY region",
    f"SELECT region, label, {MEASURES} FROM orders o LEFT JOIN people p USING (buyer) JOIN items USING (item) "
    "GROUP BY region, label",
    f"SELECT label, {MEASURES} FROM items JOIN orders o USING (item) GROUP BY label",
    f"SELECT {MEASURES} FROM (SELECT buyer, -paid AS paid FROM orders) o JOIN orders p USING (buyer)".replace(
        "(paid)", "(o.paid)"
    ),
    "SELECT label, COUNT(*), SUM(weight) FROM lines JOIN items USING (item) WHERE weight < 1.5 GROUP BY label",
    "SELECT region, COUNT(*), SUM(weight), COUNT(DISTINCT o.buyer) FROM lines JOIN orders o USING (item) "
    "LEFT JOIN people p ON o.buyer = p.buyer GROUP BY region",
    "SELECT COUNT(*), SUM(v) FROM (SELECT buyer, paid AS v FROM orders UNION ALL SELECT buyer, 1.5 FROM people) u",
    "SELECT COUNT(*), AVG(best), AVG(LEAST(GREATEST(total, -3), 5)), SUM(LEAST(n, 3)) FROM (SELECT buyer, "
    "SUM(paid) AS total, MAX(paid) AS best, COUNT(paid) AS n FROM orders GROUP BY buyer, item HAVING COUNT(*) > 1)",
    "SELECT COUNT(*), SUM(mean) FROM (SELECT o.buyer, AVG(weight) AS mean FROM lines JOIN orders o USING (item) "
    "GROUP BY o.buyer) m JOIN (SELECT DISTINCT buyer, region FROM people UNION ALL SELECT buyer, 'n' FROM orders) p "
    "USING (buyer)",
    f"SELECT o.paid > 0, o.item, {MEASURES} FROM people p JOIN orders o USING (buyer) GROUP BY 1, 2",
    "SELECT COUNT(*), SUM(weight) FROM lines",
]
SOME_LINES = st.lists(st.tuples(st.sampled_from([1, 2, 3, None]), st.sampled_from([-1.0, 0.7, 2.0])), max_size=5)


SHARED: Rows = [
    (buyer, key, 1.0) for key in (1, 2, 3) for buyer in (0, key)
]  # were a key one buyer's, 0 would take all


@example((SHARED, [], [(1, 0.7), (2, 0.7), (3, 0.7)]), ([], [], []), SHAPES[-1], AddRemove, 1, 1)
@given(
    st.tuples(SOME_ORDERS, SOME_PEOPLE, SOME_LINES), st.tuples(SOME_ORDERS, SOME_PEOPLE, SOME_LINES),
    st.sampled_from(SHAPES), st.sampled_from([AddRemove, Replace]), st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
def test_one_unit_moves_a_relation_no_further_than_the_plan_says(
    here: tuple[Rows, ...], more: tuple[Rows, ...], text: str, relation: Relation, rows: int, groups: int
) -> None:
    """Buyer 0 leaves all tables, or comes back with any other rows in all of them.

    Lines whose key another buyer holds stay as they are; all others, those of nobody too, change.
    """
    there = [[row for row in table if row[0] != 0] for table in here[:2]]
    held = {row[1] for row in there[0]} - {None}
    if relation is Replace:
        there = [kept + [(0, *row[1:]) for row in new] for kept, new in zip(there, more[:2], strict=True)]
    there.append([row for row in here[2] if row[0] in held] + [row for row in more[2] if row[0] not in held])
    bounds = {"relation": relation, "rows": rows, "groups": groups}
    plan, one = totals(text, *here, **bounds)
    _, other = totals(text, *there, **bounds)
    for part, a, b in zip(plan.parts, one, other, strict=True):
        change = [abs(x - y) for x, y in zip(a, b, strict=True)]
        assert sum(change) <= part.sensitivity.l1
        assert sum(step**2 for step in change) <= part.sensitivity.l2_squared
        assert max(change) <= part.sensitivity.linf
