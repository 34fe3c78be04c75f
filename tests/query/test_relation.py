"""Relations: every node keeps the rows of a unit a function of that unit's own rows, or refuses to be made."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deniable.errors import CatalogError, UnsupportedQueryError
from deniable.mechanisms.price import Price
from deniable.numbers.rationals import exact_rational
from deniable.privacy import AddRemove, PrivacyUnit, Relation, Replace
from deniable.query.catalog import Keys, Number, Table, declared_tables
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import SECRET

KEYS = {"buyer": pa.int64(), "item": pa.int64(), "paid": pa.float64(), "region": pa.string(), "label": pa.string()}
COLUMNS = {
    "orders": {"paid": Number(lower=-2, upper=4)},
    "people": {"region": Keys(["n", "s"])},
    "items": {"label": Keys(["x", "y"])},
}
Rows = list[tuple[Any, ...]]
FIXED: Rows = [(1, "x"), (2, "y"), (2, "x"), (None, "y")]


def tables_of(engine: DuckDBEngine, relation: Relation = AddRemove, **bounds: int) -> dict[str, Table]:
    promise = {"relation": relation, "rows": 2, "groups": 1, **bounds}
    unit = PrivacyUnit(column="buyer", noun="buyer")
    return declared_tables(
        ["orders", "people", "items"],
        schema=engine.schema, columns=COLUMNS, public=["items"], unit=unit, promise=promise,
    )  # fmt: skip


def engine_of(orders: Rows, people: Rows) -> DuckDBEngine:
    def table(names: str, rows: Rows) -> pa.Table:
        return pa.table({n: pa.array([row[i] for row in rows], KEYS[n]) for i, n in enumerate(names.split())})

    parts = {
        "orders": table("buyer item paid", orders), "people": table("buyer region", people),
        "items": table("item label", FIXED),
    }  # fmt: skip
    return DuckDBEngine.of(parts, threads=1)


def plan_of(text: str, tables: dict[str, Table]) -> PricedPlan:
    return price(parse(text, tables), Price(epsilon=exact_rational("epsilon", 1)))


def totals(text: str, orders: Rows, people: Rows, **bounds: Any) -> tuple[PricedPlan, list[list[int]]]:
    engine = engine_of(orders, people)
    plan = plan_of(text, tables_of(engine, **bounds))
    return plan, [[int(each) for each in part] for part in engine.exact(plan, secret=SECRET)]


def test_units_that_are_read_as_another_type_are_no_units() -> None:
    """'1' and '01' are two people, and one whole number."""
    parts = {"a": pa.table({"who": ["1", "01"]}), "b": pa.table({"who": ["1", "01"]})}
    engine = DuckDBEngine.of(parts, threads=1)
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


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"columns": {"ordres": {}}}, "Did you mean 'orders'"),
        ({"public": ["orders", "people", "items"]}, "one table at least is private"),
        ({"unit": PrivacyUnit(column=None, noun="row")}, "several tables need a column"),
        ({"unit": PrivacyUnit(column="nobody", noun="row")}, "names no column"),
    ],
)
def test_several_tables_are_declared_as_one_promise(changed: dict[str, Any], words: str) -> None:
    engine = engine_of([], [])
    given: dict[str, Any] = {"columns": {}, "public": ["items"], "unit": PrivacyUnit(column="buyer"), "promise": {}}
    with pytest.raises(CatalogError, match=words):
        declared_tables(["orders", "people", "items"], schema=engine.schema, **{**given, **changed})


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
]


@given(
    SOME_ORDERS, SOME_PEOPLE, SOME_ORDERS, SOME_PEOPLE, st.sampled_from(SHAPES), st.sampled_from([AddRemove, Replace]),
    st.integers(1, 3), st.integers(1, 3),
)  # fmt: skip
def test_one_unit_moves_a_join_no_further_than_the_plan_says(
    orders: Rows, people: Rows, more: Rows, others: Rows, text: str, relation: Relation, rows: int, groups: int
) -> None:
    """Buyer 0 leaves all tables, or comes back with any other rows in all of them."""
    here = orders, people
    there = [[row for row in table if row[0] != 0] for table in here]
    if relation is Replace:
        there = [kept + [(0, *row[1:]) for row in new] for kept, new in zip(there, (more, others), strict=True)]
    bounds = {"relation": relation, "rows": rows, "groups": groups}
    plan, one = totals(text, *here, **bounds)
    _, other = totals(text, *there, **bounds)
    for part, a, b in zip(plan.parts, one, other, strict=True):
        change = [abs(x - y) for x, y in zip(a, b, strict=True)]
        assert sum(change) <= part.sensitivity.l1
        assert sum(step**2 for step in change) <= part.sensitivity.l2_squared
        assert max(change) <= part.sensitivity.linf
