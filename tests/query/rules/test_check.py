"""`check`, before and after: a plan stays as it is, or is refused."""

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.query.rules.check import check
from deniable.query.rules.plan import Plan
from deniable.query.rules.resolve import resolve
from deniable.query.rules.state import state
from tests.query.rules.plans import asked


def before(text: str, *, written: bool = False) -> Plan:
    return resolve(state(asked(text, epsilon=1, written=written)))


def test_a_plan_that_can_be_answered_stays_as_it_is() -> None:
    plan = before("SELECT region, COUNT(*) AS n FROM t GROUP BY region ORDER BY n LIMIT 3")
    assert check(plan) is plan


@pytest.mark.parametrize(
    ("text", "written", "words"),
    [
        ("SELECT MEDIAN(age) + 1 AS m FROM t", False, "an interval of its own"),
        ("SELECT COUNT(*) > 3 AS big FROM t", False, "must be a number"),
        ("SELECT COUNT(*) AS n FROM t LIMIT 3", True, "no ORDER BY and LIMIT"),
        ("SELECT MEDIAN(age) AS m FROM t", True, "counts, sums"),
    ],
)
def test_what_noisy_numbers_cannot_answer_is_refused(text: str, written: bool, words: str) -> None:
    with pytest.raises(UnsupportedQueryError, match=words):
        check(before(text, written=written))
