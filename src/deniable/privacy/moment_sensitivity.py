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
