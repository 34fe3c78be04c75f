"""Distances from the definition, over all tables of a small domain."""

import math
from collections.abc import Callable
from fractions import Fraction

import pytest

from deniable.errors import InvalidParameterError
from deniable.mechanisms.tested import stability
from tests.mechanisms.tables import multisets, replaced

DOMAIN = range(6)


def local_sensitivity(statistic: Callable[[tuple[int, ...]], int], table: tuple[int, ...]) -> int:
    return max(abs(statistic(table) - statistic(other)) for other in replaced(table, DOMAIN))


@pytest.mark.parametrize("size", [1, 3, 4])
@pytest.mark.parametrize("q", ["1/2", "3/4"])
@pytest.mark.parametrize("bound", [1, 3, 5])
def test_the_distance_of_a_quantile_is_exact(size: int, q: str, bound: int) -> None:
    rank = math.ceil(Fraction(q) * size)
    tables = multisets(DOMAIN, size)
    edge = {table for table in tables if local_sensitivity(lambda x: x[rank - 1], table) > bound}
    distances, k = dict.fromkeys(tables, size + 1), 0
    while edge:
        distances |= dict.fromkeys(edge, k)
        edge = {x for table in edge for x in replaced(table, DOMAIN) if distances[x] == size + 1}
        k += 1
    for table, distance in distances.items():
        found = stability.of_quantile(table, quantile=q, bound=bound, bounds=(0, 5))
        assert found == (table[rank - 1], distance)


@pytest.mark.parametrize("bound", [2**62, 2**63 - 1, 2**63, 2**80])
@pytest.mark.parametrize("table", [(-3, 2**61, 2**61), (-(2**61), -5, 2**61)])
def test_a_bound_beyond_the_range_is_never_exceeded(bound: int, table: tuple[int, ...]) -> None:
    """In int64 a record plus such a bound may be negative: the distance then moved by n + 2 with one record."""
    found = stability.of_quantile(table, quantile="1/2", bound=bound, bounds=(-(2**61), 2**61))
    assert found == (table[1], 4)


@pytest.mark.parametrize("size", [3, 4, 5])
def test_the_distance_of_the_interquartile_range_is_valid(size: int) -> None:
    """It moves by at most one, and where it is not 0 the range moves by at most the bound."""

    def statistic(table: tuple[int, ...]) -> int:
        return table[math.ceil(0.75 * size) - 1] - table[math.ceil(0.25 * size) - 1]

    found = {
        table: stability.of_interquartile_range(table, bound=2, bounds=(0, 5)) for table in multisets(DOMAIN, size)
    }
    assert {distance for _, distance in found.values()} >= {0, 1}
    for table, (value, distance) in found.items():
        assert value == statistic(table)
        assert distance == 0 or local_sensitivity(statistic, table) <= 2
        assert all(abs(distance - found[other][1]) <= 1 for other in replaced(table, DOMAIN))


def test_bad_bounds_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="bound"):
        stability.of_quantile([1], quantile="1/2", bound=0, bounds=(0, 5))
    with pytest.raises(InvalidParameterError, match="quantile"):
        stability.of_quantile([1], quantile=-1, bound=1, bounds=(0, 5))


def test_the_quantiles_0_and_1_are_the_ends() -> None:
    for quantile, end in ((0, 2), (1, 4)):
        assert stability.of_quantile([3, 4, 2], quantile=quantile, bound=1, bounds=(0, 5))[0] == end
