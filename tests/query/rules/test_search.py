"""`search`, before and after: which undeclared bounds a question needs, and what is left of its price."""

from fractions import Fraction
from typing import Any

import pytest

from deniable.errors import InvalidParameterError
from deniable.query.declarations import Keys, Number
from deniable.query.rules.plan import Plan
from deniable.query.rules.search import search
from deniable.query.rules.state import state
from tests.query.rules.plans import asked

AUTO = {"columns": {"age": Number(lower="auto", upper="auto"), "region": Keys(["north"])}}


def before(text: str, **how: Any) -> Plan:
    return state(asked(text, bounds=AUTO, **({"epsilon": 1} | how)))


@pytest.mark.parametrize(
    ("text", "columns", "left"),
    [
        ("SELECT COUNT(*) FROM t", [], Fraction(1)),
        ("SELECT SUM(age) FROM t", ["age"], Fraction(3, 4)),
        ("SELECT AVG(age), COUNT(*) FROM t GROUP BY region", ["age"], Fraction(3, 4)),
        ("SELECT SUM(LEAST(GREATEST(age, 0), 9)) FROM t", [], Fraction(1)),
    ],
)
def test_a_search_is_planned_where_the_question_is_refused_without_it(text: str, columns: list[str], left: Any) -> None:
    after = search(before(text))
    assert [each.column for each in after.searches] == columns  # type: ignore[union-attr]
    assert after.cost.epsilon == left
    assert after.due == len(columns)
    assert len(after.prices) == len(columns) + 1


def test_a_search_whose_answer_is_known_is_free_and_gives_its_bounds() -> None:
    plan = before("SELECT SUM(age) FROM t")
    (one,) = search(plan).searches

    def recall(question: str) -> str | None:
        return "[0, 90]" if question == one.question else None

    after = search(Plan(request=plan.request, tables=plan.tables, text=plan.text, price=plan.price, recall=recall))
    assert after.due == 0
    assert after.cost.epsilon == 1
    assert [price.epsilon for price in after.prices] == [1, Fraction(3, 4)]  # it may have been answered for the rest
    assert after.known_tables["t"].column("age").facts.upper == 90


def test_no_price_is_sought_for_undeclared_bounds() -> None:
    with pytest.raises(InvalidParameterError, match="needs declared bounds"):
        search(before("SELECT SUM(age) FROM t", epsilon=None, error=5))
