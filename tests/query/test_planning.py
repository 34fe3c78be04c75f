"""What databases do with a question before and after it is paid: its names in a ledger, and what they stand for."""

import pyarrow as pa
import pytest

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
