"""Sensitivities of sums of integer vectors, for mechanisms that clip whole rows.

Proofs: docs/theory/statistics/vectors.md, "Sensitivities", and docs/theory/statistics/regression.md. As in
`sensitivity`, one unit has at most `rows` rows.
"""

from fractions import Fraction
from math import isqrt

from deniable.numbers.rationals import positive_integer
from deniable.privacy.relation import Relation
from deniable.privacy.sensitivity import Sensitivity


def of_ball_sum(*, radius: int, dimensions: int, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of a sum of integer vectors with l2 norm <= `radius`.

    Guarantee: l2 = rows * radius under add/remove and twice that under replace; l1 is at most sqrt(dimensions) * l2.
    """
    radius, dimensions, rows = _checked(radius, dimensions, rows, relation)
    change = rows * radius * (1 if relation is Relation.ADD_REMOVE else 2)
    return _norms(isqrt(dimensions * change**2), change**2, change, relation, dimensions)


def of_l1_ball_sum(*, radius: int, dimensions: int, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of a sum of integer vectors with l1 norm <= `radius`.

    Guarantee: l1 = l2 = linf = rows * radius under add/remove, along an axis, and twice that under replace.
    """
    radius, dimensions, rows = _checked(radius, dimensions, rows, relation)
    change = rows * radius * (1 if relation is Relation.ADD_REMOVE else 2)
    return _norms(change, change**2, change, relation, dimensions)


def of_outer_sum(*, radius: int, dimensions: int, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the sum of z z^T, for l2 norm of z <= `radius`.

    z are integer vectors; all dimensions^2 entries of the matrix are summed.

    Guarantee: with reach = rows * radius^2, the Frobenius norm changes by at most reach under add/remove and by
        sqrt(2) * reach under replace (reach if there is one dimension); every entry by at most reach; l1 is at most
        `dimensions` times the Frobenius norm.
    """
    radius, dimensions, rows = _checked(radius, dimensions, rows, relation)
    change = rows * radius**2
    l2_squared = change**2 * (1 if relation is Relation.ADD_REMOVE or dimensions == 1 else 2)
    return _norms(isqrt(dimensions**2 * l2_squared), l2_squared, change, relation, dimensions**2)


def of_product_sum(*, radius: int, features: int, rows: int, relation: Relation) -> Sensitivity:
    """Return the sensitivity of the sums that a linear regression needs.

    They are those of z_i z_j for 0 <= i <= j <= features, and of z_i y, for integer rows (z_0, ..., z_features, y) with
    z_0 = radius and all other entries in [-radius, radius].

    Guarantee: there are M = (features + 1)(features + 4) / 2 sums. Add/remove: each moves by at most
        rows * radius^2, all of them at once. Replace: l2^2 = 2 M rows^2 radius^4, because the vectors of two rows never
        have a negative inner product; l1 = 2 M rows radius^2; products move by twice as much as one row can give.
    """
    radius, features, rows = _checked(radius, features, rows, relation)
    unit = rows * radius**2
    sums = (features + 1) * (features + 4) // 2
    twice = 1 if relation is Relation.ADD_REMOVE else 2
    return _norms(twice * sums * unit, twice * sums * unit**2, twice * unit, relation, sums)


def _norms(l1: int, l2_squared: int, linf: int, relation: Relation, coordinates: int) -> Sensitivity:
    """Return a sensitivity with these integer norms."""
    return Sensitivity(
        l1=Fraction(l1),
        l2_squared=Fraction(l2_squared),
        linf=Fraction(linf),
        relation=relation,
        coordinates=coordinates,
    )


def _checked(radius: int, dimensions: int, rows: int, relation: Relation) -> tuple[int, int, int]:
    Relation.checked(relation)
    return (
        positive_integer("radius", radius),
        positive_integer("dimensions", dimensions),
        positive_integer("rows", rows),
    )
