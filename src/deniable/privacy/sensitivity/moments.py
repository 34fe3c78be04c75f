"""Sensitivity of sums of values together with the sums of their products."""

from fractions import Fraction

from deniable.numbers.rationals import positive_integer
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity


def of_values_and_products(*, columns: int, radius: int, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of sums of values and of their products.

    The sums over rows are those of: radius, t_i, t_i t_j / radius for i < j, and t_i^2 / radius - radius / 2, for
    columns t_1 to t_d.

    All are integers after rounding, with t_i in [-radius, radius] and radius even. Under replace with rows=1, where the
    number of rows is public, the first sum does not exist.

    All are integers after rounding, with t_i in [-reach, reach] and reach even. Under replace with rows=1, where the
    number of rows is public, the first sum does not exist.

    Args:
        columns: d.
        rows: at most this many rows of one unit.

    Guarantee: no coordinate of one row is beyond reach, and none of a square beyond half of it; a row that is exchanged
        moves each by twice as much at most.
    """
    columns = positive_integer("columns", columns)
    radius = positive_integer("radius", radius)
    rows = positive_integer("rows", rows)
    counted = relation is Relation.ADD_REMOVE or rows > 1
    whole = int(counted) + columns + columns * (columns - 1) // 2  # coordinates that reach as far as t does
    moved = rows * radius * (1 if relation is Relation.ADD_REMOVE else 2)
    return Sensitivity(
        l1=moved * (whole + Fraction(columns, 2)),
        l2_squared=moved**2 * (whole + Fraction(columns, 4)),
        linf=Fraction(moved),
        relation=relation,
        coordinates=whole + columns,
    )
