"""Counts: lattices and sensitivities, from public facts."""

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.privacy import AddRemove, PrivacyUnit, Replace
from deniable.query.catalog import Table
from deniable.query.sql import parse
from tests.query.aggregates.test_aggregate import ENGINE, bounded
from tests.query.conftest import COLUMNS


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
    with pytest.raises(UnsupportedQueryError, match="Declare groups"):
        bounded("SELECT COUNT(DISTINCT person) FROM t", total_rows=7)


def test_a_household_of_several_ids_moves_more() -> None:
    household = PrivacyUnit(column="person", noun="household", ids=4)
    table = Table(name="t", schema=ENGINE.schema(), unit=household, columns=COLUMNS)
    question = parse("SELECT COUNT(*) FROM t", {"t": table}).question
    assert question.aggregates[0].bounded(question).sensitivity.l1 == 4
