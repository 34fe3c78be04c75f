"""`resolve`, before and after: the text, and what its names mean."""

from dataclasses import replace

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query import canonical
from deniable.query.rules import resolve as module
from deniable.query.rules.resolve import resolve
from deniable.query.rules.state import state
from tests.query.rules.plans import asked


def test_a_text_becomes_a_question_over_tables() -> None:
    (query,) = resolve(state(asked("SELECT AVG(age) AS a FROM t WHERE age > 3", epsilon=1))).queries
    assert [str(each) for each in query.question.aggregates] == ["SUM(age - 50)", "COUNT(age)"]
    assert query.question.where is not None
    assert [output.name for output in query.outcome.outputs] == ["a"]


def test_groups_that_are_not_declared_are_found_for_a_price_with_delta() -> None:
    plan = state(asked("SELECT note, COUNT(*) FROM t GROUP BY note", epsilon=1, delta="1e-6"))
    assert resolve(plan).queries[0].question.searched
    with pytest.raises(UnsupportedQueryError, match="needs a public list"):
        resolve(replace(plan, price=state(asked(epsilon=1)).price))


def test_a_question_that_grows_with_every_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = state(asked("SELECT COUNT(*) FROM t WHERE age + age > 3", epsilon=1))
    monkeypatch.setattr(canonical, "MAX_PARTS", 2)
    with pytest.raises(UnsupportedQueryError, match="parts when columns"):
        module.resolve(plan)
