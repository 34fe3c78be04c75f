"""`bound`, before and after: aggregates, and how far one unit moves each."""

import pytest

from deniable.query.rules.bound import bound
from deniable.query.rules.plan import Plan
from deniable.query.sql import parse
from tests.query.rules.plans import tables


@pytest.mark.parametrize(
    ("text", "limits", "moves"),
    [
        ("SELECT COUNT(*) FROM t", {"rows": 2}, [2]),
        ("SELECT SUM(age) FROM t", {"rows": 2}, [200]),
        ("SELECT region, COUNT(*), COUNT(DISTINCT person) FROM t GROUP BY region", {"rows": 2, "groups": 3}, [6, 3]),
    ],
)
def test_every_aggregate_gets_the_move_of_one_unit(text: str, limits: dict[str, int], moves: list[int]) -> None:
    plan = Plan(queries=(parse(text, tables(**limits)),))
    assert plan.parts == ()
    after = bound(plan)
    assert [float(part.sensitivity.l1 * part.lattice.grid) for part in after.totals] == moves


def test_parts_that_are_bounded_already_stay() -> None:
    query = parse("SELECT COUNT(*) FROM t", tables())
    known = bound(Plan(queries=(parse("SELECT COUNT(*) FROM t", tables(rows=3)),))).parts
    plan = Plan(queries=(query,), parts=known)
    assert bound(plan) is plan
