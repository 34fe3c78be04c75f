"""Exhaustive sensitivities beside the closed forms of `privacy`."""

import math
import statistics
from fractions import Fraction as F

import numpy as np
import pytest

from deniable.audit import search_sensitivity
from deniable.audit.universe import Universe, ZeroOut
from deniable.errors import InvalidParameterError
from deniable.privacy import AddRemove, Relation, Replace, of_clipped_sum, of_count

AGES = Universe(values=(-1, 0, 3), rows=3)


def cells(table: tuple[object, ...]) -> list[int]:
    return [table.count(value) for value in AGES.values]


@pytest.mark.parametrize("relation", [AddRemove, Replace], ids=str)
def test_histograms_and_sums_move_as_privacy_says(relation: Relation) -> None:
    count = search_sensitivity(cells, AGES, relation=relation)
    claimed = of_count(rows=1, groups=1, cells=3, relation=relation)
    assert (count.l1, count.l2_squared, count.linf) == (claimed.l1, claimed.l2_squared, claimed.linf)
    assert count.coordinates == (1 if relation is AddRemove else 2)
    assert count.sensitivity.l1 == claimed.l1
    total = search_sensitivity(sum, AGES, relation=relation)
    assert total.l1 == of_clipped_sum(lower=-1, upper=3, rows=1, groups=1, cells=1, relation=relation).l1


def test_the_table_of_item_56() -> None:
    fixed = Universe(values=(0, 1, 10), rows=5, min_rows=5)
    assert search_sensitivity(lambda table: F(sum(table), 5), fixed, relation=Replace).l1 == F(10, 5)
    assert search_sensitivity(statistics.mean, fixed, relation=Replace).l1 > F(10, 5)  # E93: floats round
    assert search_sensitivity(statistics.median, fixed, relation=Replace).l1 == 10  # E83
    assert search_sensitivity(sum, fixed, relation=ZeroOut(blank=0)).l1 == 10
    queries = search_sensitivity(lambda table: [table.count(10)] * 4, fixed, relation=Replace)
    assert (queries.l1, queries.l2_squared, queries.linf) == (4, 4, 1)


def test_norms_are_in_order() -> None:
    """D2 <= D1 <= sqrt(coordinates) D2 for any function: item 55."""
    generator = np.random.default_rng(3)
    noise = {table: generator.integers(-9, 9, 4) for table in AGES.tables()}
    found = search_sensitivity(lambda table: noise[table], AGES, relation=Replace)
    assert found.l2_squared <= found.l1**2 <= 4 * found.l2_squared
    worst, other = found.pairs["l1"]
    assert np.abs(noise[worst] - noise[other]).sum() == found.l1


def test_what_has_no_sensitivity_is_refused() -> None:
    for function in (lambda table: list(table), lambda _: math.nan, lambda _: "text", lambda _: math.inf):
        with pytest.raises(InvalidParameterError):
            search_sensitivity(function, AGES, relation=AddRemove)
    with pytest.raises(InvalidParameterError, match="at least one pair"):
        search_sensitivity(len, Universe(values=(0,), rows=1, min_rows=1), relation=Replace)
    with pytest.raises(InvalidParameterError, match="ZeroOut"):
        _ = search_sensitivity(sum, AGES, relation=ZeroOut()).sensitivity
