from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from deniable.mechanisms.ranks.extreme import depth, nats
from tests.mechanisms.ranks.laws import distances


@given(total=some.integers(0, 10**12), rate=some.fractions(Fraction(1, 10**12), 10**6))
def test_a_row_more_aims_deeper_by_at_most_one_rank(total: int, rate: Fraction) -> None:
    assert 0 <= depth(total + 1, rate) - depth(total, rate) <= 1
    assert depth(total, rate) <= Fraction(total, 2)


@pytest.mark.parametrize("rate", ["1/1000", "1/20", "1/2", 1, 5, 1000])
def test_every_row_aims_deeper_by_at_most_one_rank(rate: object) -> None:
    deep = [depth(total, Fraction(rate)) for total in range(3000)]  # type: ignore[arg-type]
    assert {two - one for one, two in pairwise(deep)} <= {0, Fraction(1, 2), 1}


@given(some.fractions(1, 10**12))
def test_the_logarithm_is_near(x: Fraction) -> None:
    assert -0.07 < float(nats(x)) - log(x) < 0.001 + 0.011 * log(x)


def furthest(target: Callable[[int], Fraction], *, gone: int, come: int) -> float:
    """How far D moves when so many rows go and so many others come: all tables of up to five rows on four points."""
    most = 0.0
    tables = {n: list(combinations_with_replacement(range(4), n)) for n in range(6)}
    moved = {
        rows: [distances(rows, float(target(len(rows))), 4, between) for between in (False, True)]
        for n in tables
        for rows in tables[n]
    }
    for rest in (rows for n in tables if n + max(gone, come) <= 5 for rows in tables[n]):
        for one in tables[gone]:
            for two in tables[come]:
                ends = (moved[tuple(sorted(rest + rows))] for rows in (one, two))
                most = max(most, *(float(np.abs(a - b).max()) for a, b in zip(*ends, strict=True)))
    return most


@pytest.mark.parametrize(("gone", "come"), [(0, 1), (0, 2), (1, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize("rate", [1, 5, 10])
def test_rows_move_distances_by_their_number_at_most(rate: int, gone: int, come: int) -> None:
    """However many of them go and come, as when a unit changes all of its rows; at these rates the aim is at the median
    for few rows, and nearer to the end for more. The twin, an aim that jumps by two ranks, is too far."""
    fraction = Fraction(rate)
    for target in (lambda n: depth(n, fraction), lambda n: n - depth(n, fraction)):
        assert furthest(target, gone=gone, come=come) <= max(gone, come)
    assert furthest(lambda n: Fraction(2 * n), gone=0, come=1) > 1


@given(total=some.integers(0, 10**12), rate=some.fractions(Fraction(1, 10**12), 10**6))
def test_under_tight_bounds_the_aim_is_one_rank_inside(total: int, rate: Fraction) -> None:
    assert depth(total, rate, tight=True) == min(Fraction(total, 2), 1)


def test_rows_move_distances_from_the_tight_aim_by_their_number_at_most() -> None:
    for target in (lambda n: depth(n, Fraction(1), tight=True), lambda n: n - depth(n, Fraction(1), tight=True)):
        for gone, come in ((0, 1), (1, 1), (2, 1), (2, 2)):
            assert furthest(target, gone=gone, come=come) <= max(gone, come)
