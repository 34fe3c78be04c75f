"""How far one unit moves a sum of values together with a sum of their squares."""

from fractions import Fraction

from deniable.privacy.exact import positive_integer
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity

SQUARE_WEIGHT = Fraction(5, 4)
"""Of the square beside the value, where values lie in [-1, 1]."""


def of_value_and_square(*, reach: int) -> Sensitivity:
    """The sum of integers t in [-reach, reach] and the sum of round(5/4 t^2 / reach), where one t is replaced.

    Guarantee: l1 = 49/20 reach + 1, l2_squared = 4 reach^2 + 1, linf = 2 reach, for reach >= 8. So the square adds 9/20
        to the 2 that the value alone moves in l1, and nothing to speak of in l2: docs/theory/moments.md.
    """
    reach = positive_integer("reach", reach)
    return Sensitivity(
        l1=Fraction(49 * reach, 20) + 1,
        l2_squared=Fraction(4 * reach**2 + 1),
        linf=Fraction(2 * reach),
        relation=Relation.REPLACE,
        coordinates=2,
    )


def of_values_and_products(*, columns: int, reach: int, rows: int, relation: Relation) -> Sensitivity:
    """Sums over rows of: reach, t_i, t_i t_j / reach for i < j, and t_i^2 / reach - reach / 2, for columns t_1 to t_d.

    All are integers after rounding, with t_i in [-reach, reach] and reach even. Under replace with rows=1, where the
    number of rows is public, the first sum does not exist.

    Args:
        columns: d.
        rows: at most this many rows of one unit.

    Guarantee: no coordinate of one row is beyond reach, and none of a square beyond half of it; a row that is exchanged
        moves each by twice as much at most.
    """
    columns, reach = positive_integer("columns", columns), positive_integer("reach", reach)
    rows = positive_integer("rows", rows)
    counted = relation is Relation.ADD_REMOVE or rows > 1
    whole = int(counted) + columns + columns * (columns - 1) // 2  # coordinates that reach as far as t does
    moved = rows * reach * (1 if relation is Relation.ADD_REMOVE else 2)
    return Sensitivity(
        l1=moved * (whole + Fraction(columns, 2)),
        l2_squared=moved**2 * (whole + Fraction(columns, 4)),
        linf=Fraction(moved),
        relation=relation,
        coordinates=whole + columns,
    )
