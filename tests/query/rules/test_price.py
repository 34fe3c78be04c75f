"""A price is the composition of its parts."""

from fractions import Fraction

from deniable.privacy import compose
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import Request
from deniable.query.rules import price
from deniable.query.sql import parse
from tests.query.conftest import frame, table_of


def test_the_loss_of_a_plan_is_that_of_its_parts_together() -> None:
    table = table_of(DuckDBEngine.from_arrow(frame()))
    query = parse("SELECT region, COUNT(*), AVG(age), SUM(income) FROM t GROUP BY region", {"t": table})
    plan = price(query, Request(epsilon=Fraction(2)))
    assert len(plan.parts) == 4
    assert plan.loss == compose([part.loss for part in plan.parts])
    assert plan.loss.charge().epsilon == 2
    for part in plan.parts:
        assert part.loss == part.mechanism.privacy_loss(part.sensitivity)
        assert part.loss.charge().epsilon == Fraction(1, 2)
