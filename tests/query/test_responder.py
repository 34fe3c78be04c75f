"""Answers to plans: the ledger is charged before the engine is read, and readers learn what bounds an answer."""

from dataclasses import replace
from pathlib import Path

import pytest

import deniable as dn
from deniable.errors import ExecutionError
from tests.query.conftest import frame
from tests.query.test_database import COLUMNS, COUNT, database, poisoned


def test_a_plan_is_charged_before_the_engine_is_read() -> None:
    db, engine = poisoned()
    plan = db.explain(COUNT, epsilon="0.5").plan
    with pytest.raises(ExecutionError):
        db._responder.answer(plan)
    assert engine.reads == 1
    assert [entry.question for entry in db.ledger.entries()] == [plan.key]


def test_an_answer_is_found_under_the_second_name_of_a_plan() -> None:
    db = database()
    plan = db.explain(COUNT, epsilon="0.5").plan
    before = db._responder.answer(plan)
    renamed = replace(plan, names=(replace(plan.names[0], key="new"), *plan.names))
    assert db._responder.answer(renamed).to_dicts() == before.to_dicts()
    assert len(db.ledger.entries()) == 1


@pytest.mark.parametrize(
    ("asked", "limits", "beyond", "parts"),
    [
        ("COUNT(*)", {"rows": 2}, True, False),
        ("COUNT(*), SUM(age), COUNT(DISTINCT person)", {"rows": 1}, True, False),
        ("COUNT(*) FILTER (WHERE age > 30)", {"rows": 2}, True, True),
        ("COUNT(*)", {"total_rows": 2}, True, True),
        ("COUNT(DISTINCT person)", {"rows": 1}, False, False),
    ],
)
def test_an_answer_says_that_further_rows_do_not_count_and_where_counts_are_fractions(
    asked: str, limits: dict[str, int], beyond: bool, parts: bool
) -> None:
    db = dn.connect(frame(), name="t", unit="person", columns=COLUMNS, budget=dn.Budget(epsilon=9), **limits)  # type: ignore[arg-type]
    notes = db.sql(f"SELECT {asked} FROM t", epsilon=1).notes
    assert any(note.startswith("Rows beyond that do not count") for note in notes) == beyond
    assert any("counts may be fractions" in note for note in notes) == parts
    if "rows" in limits:
        assert any(note.startswith("Rows beyond that") for note in db.median("age", epsilon=1).notes)


def test_a_budget_in_memory_is_said_to_end_in_every_answer(tmp_path: Path) -> None:
    for ledger, said in ((None, True), (tmp_path / "t.ledger", False)):
        assert said == ('ledger="t.ledger" keeps it' in str(database(ledger=ledger).sql(COUNT, epsilon=0.5)))
