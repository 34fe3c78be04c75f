"""What databases do with a question before and after it is paid: its names in a ledger, and what they stand for."""

import pyarrow as pa
import pytest

import deniable as dn
from deniable.query import planning
from deniable.query.canonical import fingerprint
from deniable.query.plan import PricedPlan
from deniable.query.rules import price
from tests.query.test_canonical import EQUAL, ROWS, TABLES, database


def test_an_answer_under_the_name_of_an_earlier_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    db, text = database(), EQUAL[0][1]
    now, former = db.explain(text, epsilon=1).plan.names
    with monkeypatch.context() as patched:
        patched.setattr(PricedPlan, "names", (former,))
        before = db.sql(text, epsilon=1).to_dicts()
    assert now.key != former.key
    assert db.sql(text, epsilon=1).to_dicts() == before
    assert db.explain(text, epsilon=1).stored
    assert len(db.history()) == 1


def test_an_answer_with_equal_shares_of_an_earlier_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    db, text = database(), EQUAL[0][0]
    with monkeypatch.context() as patched:
        patched.setattr(planning, "price", lambda query, asked, budget, weights: price(query, asked, budget))
        before = db.sql(text, epsilon=1).to_dicts()
    assert db.sql(text, epsilon=1).to_dicts() == before
    assert len(db.history()) == 1
    assert "50% of the cost" in str(db.explain(text, epsilon=1))
    assert "50% of the cost" not in str(db.explain(text, epsilon=1, weights={"s": 3}))


@pytest.mark.parametrize(
    ("kind", "like"), [(pa.int64(), 0), (pa.float64(), 0.0), (pa.string(), ""), (pa.bool_(), False)]
)
def test_a_missing_value_has_a_fingerprint_of_its_own(kind: pa.DataType, like: object) -> None:
    held = [fingerprint(pa.table({"x": pa.array(values, kind)})) for values in ([None, like], [like, like], [None] * 2)]
    assert len(set(held)) == 3


def test_keys_that_are_declared_together_are_part_of_the_question() -> None:
    """The groups differ, and nothing else: the two columns have the same values."""
    held = pa.table({"u": [1, 2], "a": ["x", "y"], "b": [1, 2]})
    keys = []
    for pairs in ([("x", 1), ("y", 2)], [("x", 1), ("y", 2), ("x", 2)], [("x", 1), ("y", 2)]):
        db = dn.connect(held, name="t", unit="u", columns={"a, b": dn.Keys(pairs)}, budget=dn.Budget(epsilon=1))
        keys.append(db.explain("SELECT a, b, COUNT(*) FROM t GROUP BY a, b", epsilon=1).plan.key)
    assert keys[0] == keys[2] != keys[1]


def test_the_rows_of_a_public_table_are_part_of_the_question() -> None:
    db, text = database(), EQUAL[3][0]
    goods = TABLES["goods"]
    other = pa.table({"what": ROWS[:4], "kind": ["a", "b", "b", "b"]})
    key = db.explain(text, epsilon=1).plan.key
    assert database(goods=goods.take([2, 0, 3, 1])).explain(text, epsilon=1).plan.key == key
    assert database(goods=other).explain(text, epsilon=1).plan.key != key
    assert fingerprint(goods.rename_columns(goods.column_names[::-1])) != fingerprint(goods)  # columns change names
    assert len(db.explain(text, epsilon=1).plan.names) == 1  # no earlier version knew which rows it was about
    assert fingerprint(goods.slice(0, 0)) != fingerprint(goods) != fingerprint(pa.concat_tables([goods, goods]))
    assert db.explain("SELECT COUNT(*) FROM orders", epsilon=1).plan.public == {}
