"""Lattices and sensitivities of aggregates, from public facts."""

from fractions import Fraction

import pytest

from deniable.errors import UnsupportedQueryError
from deniable.privacy import AddRemove, PrivacyUnit, Replace
from deniable.query.catalog import Number, Table
from deniable.query.engines.duckdb.engine import DuckDBEngine
from deniable.query.plan import BoundedAggregate
from deniable.query.rules import bound
from deniable.query.sql import parse
from tests.query.conftest import COLUMNS, frame, table_of

ENGINE = DuckDBEngine.from_arrow(frame())


def bounded(text: str, **options: object) -> list[BoundedAggregate]:
    question = parse(text, {"t": table_of(ENGINE, **options)}).question  # type: ignore[arg-type]
    return [bound(question, aggregate) for aggregate in question.aggregates]


def test_whole_numbers_stay_on_the_integers_where_a_row_is_a_unit() -> None:
    (part,) = bounded("SELECT SUM(age) FROM t", unit=None)
    assert (part.lattice.exponent, part.lower, part.upper, part.centre) == (0, 0, 100, 0)
    assert part.sensitivity.l1 == 100


def test_whole_numbers_of_units_with_many_rows_are_shared_out_on_a_finer_grid() -> None:
    every, units, some, total = bounded(
        "SELECT SUM(age), COUNT(*) FILTER (WHERE age > 9), COUNT(*), COUNT(DISTINCT person) FROM t", rows=3
    )
    assert [part.lattice.exponent for part in (total, some, every, units)] == [20, 20, 0, 0]
    assert [part.sensitivity.l1 * part.lattice.grid for part in (total, some, every, units)] == [300, 3, 3, 1]
    (largest,) = bounded("SELECT SUM(age) FROM t", rows=3, columns={"age": Number(lower=0, upper=2**53)})
    assert largest.lattice.exponent == 0


def test_reals_get_a_public_grid_far_below_their_range() -> None:
    (part,) = bounded("SELECT SUM(income) FROM t")
    assert part.lattice.grid <= Fraction(100, 2**31)
    assert part.upper * part.lattice.grid == 100
    assert part.sensitivity.l1 * part.lattice.grid == 100


def test_bounds_between_grid_points_are_widened_outward() -> None:
    third = {**COLUMNS, "income": Number(lower="-1/3", upper="1/3")}
    (part,) = bounded("SELECT SUM(income) FROM t", columns=third)
    assert part.lower * part.lattice.grid < Fraction(-1, 3)
    assert part.upper * part.lattice.grid > Fraction(1, 3)
    assert part.upper * part.lattice.grid - Fraction(1, 3) < part.lattice.grid


def test_an_average_has_half_the_sensitivity_of_its_sum() -> None:
    total, count = bounded("SELECT AVG(income) FROM t")
    assert total.sensitivity.l1 * total.lattice.grid == 50
    assert count.sensitivity.l1 * count.lattice.grid == 1


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
    assert bound(question, question.aggregates[0]).sensitivity.l1 == 4


def test_a_constant_is_as_sensitive_as_it_is_large() -> None:
    (part,) = bounded("SELECT SUM(3) FROM t", unit=None)
    assert (part.lower, part.upper, part.sensitivity.l1) == (3, 3, 3)
