"""Names of questions in the ledger: what is part of them, and that those of earlier versions are found."""

from dataclasses import replace

import pyarrow as pa
import pytest

import deniable as dn
from deniable.query import planner
from deniable.query.naming import named
from tests.query.test_canonical import EQUAL, database


def test_an_answer_under_the_name_of_an_earlier_version_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    db, text = database(), EQUAL[0][1]
    now, former = db.explain(text, epsilon=1).plan.names
    with monkeypatch.context() as patched:
        patched.setattr(planner, "named", lambda plan: replace(named(plan), names=(former,)))
        db._planner._kept.clear()
        before = db.sql(text, epsilon=1).to_dicts()
    db._planner._kept.clear()
    assert now.key != former.key
    assert db.sql(text, epsilon=1).to_dicts() == before
    assert db.explain(text, epsilon=1).stored
    assert len(db.history()) == 1


def test_rows_and_groups_of_a_unit_are_part_of_the_question() -> None:
    """Laplace noise is the same for 1 row in 2 groups as for 2 rows in 1; what is bounded is not."""
    held = pa.table({"u": [1, 2], "a": ["x", "y"]})
    keys = []
    for limits in ({"rows": 1, "groups": 2}, {"rows": 2, "groups": 1}):
        declared = {"columns": {"a": dn.Keys(["x", "y"])}, "budget": dn.Budget(epsilon=1)}
        db = dn.connect(held, name="t", unit="u", **limits, **declared)
        keys.append(db.explain("SELECT a, COUNT(*) FROM t GROUP BY a", epsilon=1).plan.key)
    assert len(set(keys)) == 2


def test_keys_that_are_declared_together_are_part_of_the_question() -> None:
    """The groups differ, and nothing else: the two columns have the same values."""
    held = pa.table({"u": [1, 2], "a": ["x", "y"], "b": [1, 2]})
    keys = []
    for pairs in ([("x", 1), ("y", 2)], [("x", 1), ("y", 2), ("x", 2)], [("x", 1), ("y", 2)]):
        db = dn.connect(held, name="t", unit="u", columns={"a, b": dn.Keys(pairs)}, budget=dn.Budget(epsilon=1))
        keys.append(db.explain("SELECT a, b, COUNT(*) FROM t GROUP BY a, b", epsilon=1).plan.key)
    assert keys[0] == keys[2] != keys[1]
