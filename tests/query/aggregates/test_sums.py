"""Lattices and sensitivities of aggregates, from public facts."""

from fractions import Fraction

from deniable.query.declarations import Number
from tests.query.aggregates.test_aggregate import bounded
from tests.query.conftest import COLUMNS


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


def test_a_constant_is_as_sensitive_as_it_is_large() -> None:
    (part,) = bounded("SELECT SUM(3) FROM t", unit=None)
    assert (part.lower, part.upper, part.sensitivity.l1) == (3, 3, 3)
