"""Sensitivities of sums of vectors against all pairs of neighbours of small domains."""

from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, Relation, Replace
from deniable.privacy.sensitivity.vectors import of_ball_sum, of_l1_ball_sum, of_outer_sum, of_product_sum


def ball(radius: int, dimensions: int) -> list[np.ndarray]:
    points = product(range(-radius, radius + 1), repeat=dimensions)
    return [np.array(point) for point in points if sum(x * x for x in point) <= radius**2]


def largest(contributions: list[np.ndarray], rows: int, relation: Relation) -> tuple[int, int, int]:
    """l1, l2^2 and linf of the largest changes: of what up to `rows` rows add, or of the difference of two such."""
    sums = [
        np.sum([contributions[0] * 0, *chosen], axis=0)
        for count in range(rows + 1)
        for chosen in combinations_with_replacement(contributions, count)
    ]
    sides = np.unique(np.array([np.ravel(each) for each in sums]), axis=0)
    changes = sides if relation is AddRemove else (sides[:, None, :] - sides[None, :, :]).reshape(-1, sides.shape[1])
    return (
        int(np.abs(changes).sum(axis=1).max()),
        int((changes**2).sum(axis=1).max()),
        int(np.abs(changes).max()),
    )


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("radius", "dimensions", "rows"), [(3, 1, 2), (5, 2, 1), (2, 2, 2), (2, 3, 1)])
def test_no_unit_moves_a_sum_of_clipped_rows_further(
    radius: int, dimensions: int, rows: int, relation: Relation
) -> None:
    reach = of_ball_sum(radius=radius, dimensions=dimensions, rows=rows, relation=relation)
    l1, l2_squared, linf = largest(ball(radius, dimensions), rows, relation)
    assert (l2_squared, linf) == (reach.l2_squared, reach.linf)  # attained
    assert l1 <= reach.l1


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("radius", "dimensions", "rows"), [(3, 1, 2), (5, 2, 1), (2, 2, 2), (2, 3, 1)])
def test_no_unit_moves_a_sum_of_rows_in_the_l1_ball_further(
    radius: int, dimensions: int, rows: int, relation: Relation
) -> None:
    reach = of_l1_ball_sum(radius=radius, dimensions=dimensions, rows=rows, relation=relation)
    inside = [point for point in ball(radius, dimensions) if np.abs(point).sum() <= radius]
    assert largest(inside, rows, relation) == (reach.l1, reach.l2_squared, reach.linf)  # attained


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("radius", "dimensions", "rows"), [(2, 1, 2), (5, 2, 1), (2, 2, 2), (2, 3, 1)])
def test_no_unit_moves_a_sum_of_squares_further(radius: int, dimensions: int, rows: int, relation: Relation) -> None:
    reach = of_outer_sum(radius=radius, dimensions=dimensions, rows=rows, relation=relation)
    squares = [np.outer(point, point) for point in ball(radius, dimensions)]
    l1, l2_squared, linf = largest(squares, rows, relation)
    assert (l2_squared, linf) == (reach.l2_squared, reach.linf)  # attained
    assert l1 <= reach.l1


@pytest.mark.parametrize("relation", Relation)
@pytest.mark.parametrize(("radius", "features", "rows"), [(2, 1, 1), (1, 1, 2), (1, 2, 1), (2, 2, 1), (1, 3, 1)])
def test_no_unit_moves_the_sums_of_a_regression_further(
    radius: int, features: int, rows: int, relation: Relation
) -> None:
    reach = of_product_sum(radius=radius, features=features, rows=rows, relation=relation)
    values = range(-radius, radius + 1)
    moments = []
    for point in product(values, repeat=features + 1):
        z, y = np.array([radius, *point[:-1]]), point[-1]
        moments.append(np.concatenate([np.outer(z, z)[np.triu_indices(features + 1)], z * y]))
    assert len(moments[0]) == reach.coordinates
    l1, l2_squared, linf = largest(moments, rows, relation)
    assert l1 <= reach.l1
    assert l2_squared <= reach.l2_squared
    assert linf <= reach.linf
    if relation is AddRemove:
        assert (l1, l2_squared, linf) == (reach.l1, reach.l2_squared, reach.linf)


def test_bad_parameters_are_named() -> None:
    with pytest.raises(InvalidParameterError, match="radius"):
        of_ball_sum(radius=0, dimensions=1, rows=1, relation=Replace)
    with pytest.raises(InvalidParameterError, match="relation"):
        of_ball_sum(radius=1, dimensions=1, rows=1, relation="replace")  # type: ignore[arg-type]
