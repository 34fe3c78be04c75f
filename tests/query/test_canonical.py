"""Equal questions have one name, however their tables are joined and called; others have another."""

from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.noise.bits import DeterministicBits
from deniable.query.canonical import fingerprint
from deniable.query.database import Database
from deniable.query.plan import PricedPlan

ROWS = np.arange(60)
TABLES = {
    "orders": pa.table({"id": ROWS, "who": ROWS % 17, "what": ROWS % 5, "paid": (ROWS * 7) % 40, "tip": ROWS % 11}),
    "people": pa.table({"who": ROWS[:15], "age": ROWS[:15] + 20, "home": ["n", "s", "w"] * 5}),
    "goods": pa.table({"what": ROWS[:4], "kind": ["a", "b", "a", "b"]}),
}
COLUMNS: dict[str, Any] = {
    "orders": {name: dn.Number(lower=0, upper=50, integer=True) for name in ("paid", "tip")},
    "people": {"home": dn.Keys(["n", "s", "w"]), "age": dn.Number(lower=0, upper=99, integer=True)},
    "goods": {"kind": dn.Keys(["a", "b"])},
}
EQUAL = [
    (  # no alias, no order and no name of a column inside matters
        "SELECT home, SUM(paid) AS s, SUM(age) AS a FROM orders JOIN people USING (who) WHERE tip > 2 AND paid < 30 "
        "GROUP BY home",
        "SELECT p.home, SUM(p.age) AS a, SUM(o.paid) AS s FROM people p JOIN orders AS o ON p.who = o.who "
        "WHERE 30 > o.paid AND o.tip > 2 GROUP BY 1",
        "WITH x AS (SELECT who AS w, paid AS b, tip FROM orders WHERE paid < 30) SELECT home, SUM(age) AS a, SUM(b) "
        "AS s FROM people JOIN (SELECT * FROM x WHERE tip > 2) AS y ON y.w = people.who GROUP BY home",
    ),
    (
        "SELECT SUM(total) AS t FROM (SELECT LEAST(SUM(paid), 50) AS total, who FROM orders GROUP BY who)",
        "WITH each AS (SELECT who AS u, COUNT(*) AS n, SUM(p) AS s FROM (SELECT who, paid AS p FROM orders) AS o GROUP "
        "BY who) SELECT SUM(LEAST(s, 50)) AS t FROM each",
    ),
    ("SELECT SUM(paid + 1) AS x FROM orders", "SELECT SUM(y) AS x FROM (SELECT 1 + paid AS y FROM orders) AS z"),
    (
        "SELECT kind, COUNT(*) AS n FROM orders JOIN goods USING (what) JOIN people USING (who) GROUP BY kind",
        "SELECT kind, COUNT(*) AS n FROM (SELECT what, paid, p.age FROM people AS p JOIN orders AS o USING (who)) AS j "
        "JOIN goods AS g ON g.what = j.what GROUP BY kind",
    ),
    (
        "SELECT COUNT(age) AS n FROM orders LEFT JOIN people USING (who)",
        "SELECT COUNT(b) AS n FROM orders AS o LEFT JOIN (SELECT who AS v, age AS b FROM people) AS q ON v = o.who",
    ),
    (
        "SELECT SUM(a.paid) AS s FROM orders AS a JOIN orders AS b USING (who) WHERE b.tip > 3",
        "SELECT SUM(b.paid) AS s FROM orders AS a JOIN orders AS b ON b.who = a.who WHERE a.tip > 3",
    ),
    (
        "SELECT SUM(x) AS s FROM (SELECT who, paid AS x FROM orders UNION ALL SELECT who, age FROM people)",
        "SELECT SUM(y) AS s FROM (SELECT paid AS y, who FROM orders UNION ALL SELECT age AS z, who FROM people)",
    ),
]
OTHERS = [
    "SELECT SUM(a.paid) AS s FROM orders AS a JOIN orders AS b USING (who) WHERE a.tip > 3",
    "SELECT COUNT(b) AS n FROM orders LEFT JOIN (SELECT who, COALESCE(age, 3) AS b FROM people) AS q USING (who)",
    "SELECT COUNT(COALESCE(age, 3)) AS n FROM orders LEFT JOIN people USING (who)",
    "SELECT COUNT(age) AS n FROM orders JOIN people USING (who)",
    "SELECT SUM(x) AS s FROM (SELECT who, tip AS x FROM orders UNION ALL SELECT who, age FROM people)",
    "SELECT SUM(total) AS t FROM (SELECT LEAST(SUM(tip), 50) AS total, who FROM orders GROUP BY who)",
    "SELECT home, SUM(paid) AS s, SUM(age) AS a FROM orders JOIN people USING (who) WHERE tip > 2 GROUP BY home",
]


def database(**tables: pa.Table) -> Database:
    db = dn.connect(
        TABLES | tables, unit="who", public=["goods"], columns=COLUMNS, rows=3, groups=2, budget=dn.Budget(epsilon=99)
    )
    db._bits = DeterministicBits(1)
    return db


def exact(db: Database, plan: PricedPlan) -> list[list[int]]:
    parts = db._engine.exact(plan, secret=bytes(32))
    return [parts[place].tolist() for place in plan.names[0].order]


def test_equal_questions_have_one_name_and_the_same_exact_numbers() -> None:
    """By another route: what the engine computes of them is the same, in the order that the name says."""
    db, names = database(), []
    for texts in EQUAL:
        plans = [db.explain(text, epsilon=1).plan for text in texts]
        assert len({plan.key for plan in plans}) == 1, texts
        numbers = [exact(db, plan) for plan in plans]
        assert all(each == numbers[0] for each in numbers), texts
        names.append(plans[0].key)
    names += [db.explain(text, epsilon=1).plan.key for text in OTHERS]
    assert all(one != other for one, other in combinations(names, 2))


def test_a_question_that_is_written_otherwise_is_free_and_gets_its_numbers() -> None:
    db = database()
    first, second, third = (db.sql(text, epsilon=1) for text in EQUAL[0])
    assert len(db.history()) == 1
    assert first.to_dicts() == [{name: row[name] for name in first.to_dicts()[0]} for row in second.to_dicts()]
    assert second.to_dicts() == [{name: row[name] for name in second.to_dicts()[0]} for row in third.to_dicts()]


@pytest.mark.parametrize(
    ("kind", "like"), [(pa.int64(), 0), (pa.float64(), 0.0), (pa.string(), ""), (pa.bool_(), False)]
)
def test_a_missing_value_has_a_fingerprint_of_its_own(kind: pa.DataType, like: object) -> None:
    held = [fingerprint(pa.table({"x": pa.array(values, kind)})) for values in ([None, like], [like, like], [None] * 2)]
    assert len(set(held)) == 3


def test_texts_that_are_cut_elsewhere_have_another_fingerprint() -> None:
    held = [fingerprint(pa.table({"x": values})) for values in (["ab", "c"], ["a", "bc"], ["", "abc"])]
    assert len(set(held)) == 3
