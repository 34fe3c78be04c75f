"""Plans of questions: one list of rules, and which plans are kept."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
from deniable.errors import InvalidParameterError, SourceError
from deniable.query import planner
from deniable.query.canonical import fingerprint
from deniable.query.engines.duckdb import engine as duckdb_engine
from deniable.query.rules import resolve
from deniable.query.rules.bound import bound
from deniable.query.rules.choose import choose
from deniable.query.rules.plan import Plan, Request
from deniable.query.rules.price import applied
from deniable.query.rules.split import split
from deniable.query.sql import parse
from tests.query.test_canonical import EQUAL, ROWS, TABLES, database


def test_an_answer_with_equal_shares_of_an_earlier_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    db, text = database(), EQUAL[0][0]
    with monkeypatch.context() as patched:
        patched.setattr(planner, "PRICING", (bound, split, choose))
        before = db.sql(text, epsilon=1).to_dicts()
    db._planner._kept.clear()
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


def test_the_rules_are_one_visible_list_of_files() -> None:
    names = [rule.__name__ for rule in planner.RULES]
    assert names == ["state", "search", "resolve", "check", "bound", "split", "share", "choose"]
    assert [rule.__module__.rpartition(".")[2] for rule in planner.RULES] == names


def test_rules_give_the_plan_that_is_explained() -> None:
    db = database()
    request = Request(question=EQUAL[0][0], epsilon=1)
    start = Plan(request=request, tables=db.tables, budget=db.ledger.budget, look=db._planner.public_column)
    (priced,) = applied(planner.RULES, start).priced
    plan = db.explain(EQUAL[0][0], epsilon=1).plan
    assert (priced.query, priced.parts, priced.loss) == (plan.query, plan.parts, plan.loss)


def noted(calls: list[str], name: str, inner: Any) -> Any:
    def call(*given: Any, **how: Any) -> Any:
        calls.append(name)
        return inner(*given, **how)

    return call


def asked_again(source: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens between a question and its stored answer."""
    calls: list[str] = []
    db = dn.connect(source, name="t", unit="who", budget=dn.Budget(epsilon=9))
    db.sql(COUNTED, epsilon=1)
    engine = type(db._engine)
    monkeypatch.setattr(resolve, "parse", noted(calls, "parse", parse))
    for name in ("check", "unchanged", "_run"):
        monkeypatch.setattr(engine, name, noted(calls, name, getattr(engine, name)))
    assert len(db.sql(COUNTED, epsilon=1)) == 1
    assert len(db.ledger.entries()) == 1
    return calls


COUNTED = "SELECT COUNT(*) AS n FROM t WHERE what > 2"
SOLD = pa.table({"who": [1, 2, 3], "what": [1, 3, 5]})


def test_a_stored_answer_is_not_planned_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked at again while they are so new that a second change would look like none."""
    assert asked_again(SOLD, monkeypatch) == ["unchanged"]
    monkeypatch.undo()
    path = tmp_path / "t.parquet"
    pq.write_table(SOLD, path)
    assert asked_again(path, monkeypatch) == ["unchanged", "_run"]
    monkeypatch.undo()
    monkeypatch.setattr(duckdb_engine, "SETTLED", -(2**62))
    assert asked_again(path, monkeypatch) == ["unchanged"]


def test_a_kept_plan_is_one_for_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_engine, "SETTLED", -(2**62))
    path = tmp_path / "t.parquet"
    pq.write_table(SOLD, path)
    os.utime(path, (1e9, 1e9))
    db = dn.connect(path, name="t", unit="who", budget=dn.Budget(epsilon=9))
    assert db.explain(COUNTED, epsilon=1).plan is db.explain(COUNTED, epsilon=1).plan
    others = [db.explain(COUNTED, epsilon=2), db.explain(COUNTED.replace("2", "3"), epsilon=1)]
    others += [
        db.explain(COUNTED, rho=1),
        db.explain(COUNTED, epsilon=1, columns={"what": dn.Number(lower=0, upper=9)}),
    ]
    assert len({each.plan.key for each in (db.explain(COUNTED, epsilon=1), *others)}) == 4  # bounds count for nothing
    assert db.explain(COUNTED, epsilon=1, rows=1).plan is not db.explain(COUNTED, epsilon=1, groups=1).plan
    with pytest.raises(InvalidParameterError):
        db.explain(COUNTED, epsilon=True)
    pq.write_table(SOLD.rename_columns(["who", "else"]), path)
    os.utime(path, (1e9, 1e9))  # DuckDB 1.5 took a file of the same size and time for the same one
    with pytest.raises(SourceError, match="cannot be read as when it was opened"):
        db.sql(COUNTED, epsilon=1)
    assert db.ledger.entries() == []
