"""Counts: lattices and sensitivities, from public facts."""

from typing import Any

import pyarrow as pa
import pytest

from deniable.privacy import AddRemove, PrivacyUnit, Relation, Replace
from deniable.query.catalog import DeclaredTable
from deniable.query.declarations import Keys, Number
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.sql import parse
from tests.query.aggregates.test_aggregate import ENGINE, bounded
from tests.query.conftest import COLUMNS, Exact, plan_of, table_of


@pytest.mark.parametrize(
    ("relation", "l1", "l2_squared"),
    [(AddRemove, 2 * 3, 3 * 4), (Replace, 12, 24)],  # two rows in each of three groups; replaced ones may lie elsewhere
)
def test_counts_by_group(relation: object, l1: int, l2_squared: int) -> None:
    text = "SELECT age, COUNT(*), COUNT(DISTINCT person) FROM t GROUP BY age"
    count, units = bounded(text, rows=2, groups=3, relation=relation)
    assert (count.sensitivity.l1, count.sensitivity.l2_squared) == (l1, l2_squared)
    assert units.sensitivity.l1 == l1 / 2


def test_rows_bounded_in_all_are_counted_in_shares() -> None:
    text = "SELECT age, COUNT(*), SUM(age) FROM t GROUP BY age"
    count, total = bounded(text, total_rows=7)
    assert count.lattice.exponent == total.lattice.exponent == 20
    assert count.sensitivity.l1 * count.lattice.grid == 7
    assert total.sensitivity.l2_squared * total.lattice.grid**2 == 700**2
    assert count.sensitivity.coordinates == 101


@pytest.mark.parametrize("relation", [AddRemove, Replace])
@pytest.mark.parametrize("total_rows", [1, 2, 3])
def test_units_whose_rows_are_bounded_in_all_are_counted(relation: Relation, total_rows: int, exact: Exact) -> None:
    """They were refused. Person 1 leaves, or has other rows instead."""
    columns = {"k": Keys(range(4)), "x": Number(lower=0, upper=2)}
    given: Any = {"columns": columns, "total_rows": total_rows, "relation": relation}
    kept = [(2, 0, 1), (2, 1, 1), (2, 2, 1), (2, 3, 1), (3, 0, 2)]
    own = [(1, 0, 2), (1, 1, 2), (1, 2, 0), (1, 2, 0)]
    there = [(1, 3, 2)] * 3 if relation is Replace else []
    sides = [
        pa.table(dict(zip(("person", "k", "x"), zip(*kept, *rows, strict=True), strict=True))) for rows in (own, there)
    ]
    table = table_of(DuckDBEngine.from_arrow(sides[0]), **given)
    for text, most in {
        "SELECT COUNT(DISTINCT person) FROM t": 1,
        "SELECT COUNT(DISTINCT person) FILTER (WHERE x > 1) FROM t": 1,
        "SELECT k, COUNT(DISTINCT person), COUNT(*) FROM t GROUP BY k": total_rows,
        "SELECT k, COUNT(DISTINCT person) FILTER (WHERE x > 0) FROM t GROUP BY k": total_rows,
    }.items():
        before, after = (exact(text, source=side, **given)[0] for side in sides)
        moved = [abs(a - b) for a, b in zip(before, after, strict=True)]
        reach = next(p.sensitivity for p in plan_of(table, text).parts if p.aggregate.function == "units")  # type: ignore
        assert sum(moved) <= reach.l1
        assert sum(step**2 for step in moved) <= reach.l2_squared
        assert max(moved) <= reach.linf == 1
        if relation is AddRemove:
            assert reach.l1 == most
            assert sum(moved) == most or "x > 0" in text


def test_a_household_of_several_ids_moves_more() -> None:
    household = PrivacyUnit(column="person", noun="household", ids=4)
    table = DeclaredTable(name="t", schema=ENGINE.schema(), unit=household, columns=COLUMNS)
    question = parse("SELECT COUNT(*) FROM t", {"t": table}).question
    assert question.aggregates[0].bounded(question).sensitivity.l1 == 4
