"""How many rows of one unit agree on columns: never more than is derived, and as many in named cases."""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import chain, combinations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deniable.query.dependency import determined
from deniable.query.table_expression import TableExpression
from tests.query.test_table_expression import SOME_ORDERS, SOME_PEOPLE, Rows, engine_of, plan_of, tables_of, totals

OWN = "(SELECT DISTINCT buyer, item FROM orders)"
HIS = "(SELECT DISTINCT buyer, region FROM people)"
BOTH = f"SELECT buyer, 'a' AS k FROM {OWN} WHERE item = 1 UNION ALL SELECT buyer, '{{}}' FROM {HIS} WHERE region = 'n'"
COUNTED = "(SELECT item AS i, COUNT(*) AS n FROM items GROUP BY item)"
KEYED = f"SELECT o.buyer, item, {{}} FROM {OWN} o {{}}JOIN {COUNTED} g ON item = i"
CASES: list[tuple[str, str, int | None]] = [  # a subquery, columns that are fixed, and how many rows agree on them
    ("SELECT buyer, item FROM orders", "buyer item", None),
    ("SELECT buyer, SUM(paid) AS s FROM orders GROUP BY buyer", "", 1),
    ("SELECT DISTINCT buyer, item, NULL AS none FROM orders", "item", 1),
    (OWN[1:-1], "item", 1),
    (OWN[1:-1], "", None),
    (f"SELECT * FROM {OWN} WHERE item = 2 AND item > 0", "", 1),
    (f"SELECT * FROM {OWN} WHERE item IS NULL", "", 1),
    (f"SELECT * FROM {OWN} WHERE item > 1", "", None),
    (f"SELECT buyer, CAST(item AS TEXT) AS t, item + 1 AS j FROM {OWN}", "t", 1),
    (f"SELECT buyer, CAST(item AS TEXT) AS t, item + 1 AS j FROM {OWN}", "j", None),  # two may be NULL
    ("SELECT DISTINCT buyer, item, item * 2 AS twice FROM orders", "item", 1),
    ("SELECT DISTINCT buyer, item, paid > 0 AS up FROM orders", "item", 3),
    ("SELECT DISTINCT buyer, item, paid IS NULL AS gone, paid > 0 AS up FROM orders", "item", 6),
    ("SELECT buyer, item, CASE WHEN paid > 1 THEN 'x' ELSE 'y' END AS c FROM orders GROUP BY 1, 2, 3", "item", 2),
    ("SELECT buyer, paid, 1 / paid AS turned FROM orders GROUP BY 1, 2, 3", "paid", None),  # 0 and -0 are one group
    ("SELECT DISTINCT buyer, region FROM people", "region", 1),  # declared values are promised of no row
    ("SELECT DISTINCT buyer, region FROM people", "", None),
    (BOTH.format("b"), "k", 1),
    (BOTH.format("b"), "", 2),
    (BOTH.format("a"), "k", 2),
    ("SELECT * FROM (SELECT DISTINCT buyer, item, paid > 0 AS up FROM orders) WHERE up", "item", 1),
    (f"SELECT o.buyer, item, region FROM {OWN} o JOIN {HIS} p USING (buyer)", "item region", 1),
    (f"SELECT o.buyer, item, region FROM {OWN} o JOIN {HIS} p USING (buyer)", "item", None),
    (f"SELECT o.buyer, o.item, p.item AS same FROM {OWN} o JOIN {OWN} p USING (buyer, item)", "same", 1),
    (f"SELECT o.buyer, o.item, p.item AS same FROM {OWN} o LEFT JOIN {OWN} p USING (buyer, item)", "item", 1),
    (f"SELECT o.buyer, o.item, p.item AS same FROM orders o LEFT JOIN {OWN} p USING (buyer, item)", "same", None),
    (f"SELECT o.buyer, o.item, p.item AS same FROM {OWN} o LEFT JOIN {HIS} h USING (buyer) LEFT JOIN {OWN} p "
     "ON o.buyer = p.buyer AND o.item = p.item WHERE region = 'n'", "item", 1),
    (KEYED.format("n", ""), "item", 1),
    (KEYED.format("i", ""), "i", 1),
    (KEYED.format("i", "LEFT "), "i", None),  # NULL for all items that have no partner
    (f"SELECT o.buyer, item, label FROM {OWN} o JOIN items USING (item)", "item", None),
    (f"SELECT buyer, item, label FROM {OWN} JOIN (SELECT * FROM items WHERE label = 'y') i USING (item)", "item", 1),
]  # fmt: skip
RICH: Rows = [(0, item, paid) for item, paid in product((1, 2, None), (-9.0, 0.5, 4.0, None, 0.0, -0.0))] * 2
PEOPLE: Rows = [(0, region) for region in ("n", "s", "w")] * 2


@cache
def relation_of(text: str) -> TableExpression:
    engine = engine_of([], [])
    return plan_of(f"SELECT COUNT(*) FROM ({text}) q", tables_of(engine), engine).query.question.source


def agreeing(relation: TableExpression, orders: Rows, people: Rows, fixed: Sequence[str]) -> int:
    """The most rows of one unit that agree on some columns, counted."""
    held = engine_of(orders, people).columns(relation, [relation.column(name) for name in fixed])
    rows = zip(*(held.column(place).to_pylist() for place in range(held.num_columns)), strict=True)
    return max(Counter(rows).values(), default=0)


@pytest.mark.parametrize(("text", "fixed", "most"), CASES)
def test_as_many_rows_agree_as_is_derived(text: str, fixed: str, most: int | None) -> None:
    relation = relation_of(text)
    assert relation.multiplicity(determined(map(relation.column, fixed.split()))) == most
    found = agreeing(relation, RICH, PEOPLE, fixed.split())
    assert most is None or found == (3 if most == 6 else most)  # where paid is NULL, paid > 0 is too


@settings(max_examples=12)
@given(SOME_ORDERS, SOME_PEOPLE, st.sampled_from(CASES))
def test_no_more_rows_agree_than_is_derived(orders: Rows, people: Rows, case: tuple[str, str, Any]) -> None:
    relation = relation_of(case[0])
    for fixed in chain.from_iterable(combinations(relation.names, size) for size in range(3)):
        most = relation.multiplicity(determined(map(relation.column, fixed)))
        assert most is None or agreeing(relation, orders, people, fixed) <= most


@pytest.mark.parametrize(
    ("text", "moved"),
    [  # orders lets 100 rows of a buyer count in each of 30 groups
        (f"SELECT COUNT(*) FROM {OWN} WHERE item = 2", 1),
        ("SELECT region, COUNT(*) FROM (SELECT buyer, region, COUNT(*) AS n FROM people GROUP BY 1, 2) GROUP BY 1", 2),
        ("SELECT region, SUM(n) FROM (SELECT buyer, region, CASE WHEN COUNT(*) > 1 THEN 7 ELSE 1 END AS n FROM people "
         "GROUP BY buyer, region) GROUP BY region", 14),
        (f"SELECT k, COUNT(*) FROM (SELECT buyer, 'a' AS k FROM {HIS} WHERE region = 'n' UNION ALL SELECT buyer, 'b' "
         f"FROM {HIS} WHERE region = 's') GROUP BY k", 2),
    ],
)  # fmt: skip
def test_the_change_that_is_stated_is_attained(text: str, moved: int) -> None:
    """It was 100 times as large, or 3,000 times."""
    for bounds in ({"rows": 100, "groups": 30}, {"rows": 7, "groups": 3}):
        plan, held = totals(text, RICH, PEOPLE, **bounds)
        _, without = totals(text, [], [], **bounds)
        (part,) = plan.parts
        change = sum(abs(a - b) for a, b in zip(held[0], without[0], strict=True))
        assert change * part.lattice.grid == moved == part.sensitivity.l1 * part.lattice.grid  # type: ignore[attr-defined]


def test_a_name_in_a_ledger_stays_where_the_noise_does() -> None:
    """What a unit can have at most follows from the question: names tell what is declared."""
    tables = tables_of(engine_of([], []), rows=100, groups=30)
    plan = plan_of(f"SELECT COUNT(DISTINCT buyer) FROM {OWN} WHERE item = 2", tables)
    assert plan.query.question.table.rows == 1
    assert plan.key == "e7c91243a71ab2baa1f2e44ffeb0ffaa317c83b0097c0880112c00f4ebfa0a55"
