"""Uses of a tree's nodes: all sets of steps for small trees, and bounds from both sides for large ones."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from deniable.privacy.sensitivity import tree
from deniable.privacy.sensitivity.tree import squared_tree_sensitivity


def squares_of(places: tuple[int, ...], steps: int) -> int:
    """The squared uses of all whole nodes, straight from the definition."""
    return sum(
        sum(node * 2**level <= place < (node + 1) * 2**level for place in places) ** 2
        for level in range(steps.bit_length())
        for node in range(steps >> level)
    )


def all_squares(steps: int, times: int, separation: int) -> int:
    return max(
        squares_of(places, steps)
        for count in range(1, times + 1)
        for places in combinations(range(steps), count)
        if all(b - a >= separation for a, b in pairwise(places))
    )


SMALL = [(steps, times, gap) for steps in (1, 2, 5, 8, 11, 12) for times in (1, 2, 3, 4) for gap in (1, 2, 3, 5, 8)]
EXACT = {one: all_squares(one[0], min(one[1], (one[0] - 1) // one[2] + 1), one[2]) for one in SMALL}


def test_the_norm_is_that_of_the_worst_set_of_steps() -> None:
    assert {one: squared_tree_sensitivity(*one) for one in SMALL} == EXACT


@pytest.mark.parametrize("limit", ["_MAX_USES", "_MAX_PAIRS"])
def test_where_the_search_is_cut_short_the_bound_is_above(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, limit, 1)
    squared_tree_sensitivity.cache_clear()
    found = {one: squared_tree_sensitivity(*one) for one in SMALL}
    squared_tree_sensitivity.cache_clear()
    assert all(found[one] >= EXACT[one] for one in SMALL)
    assert found != EXACT


@pytest.mark.parametrize(("uses", "squared"), [((1000, 10, 100), 143), ((5000, 50, 100), 3745)], ids=str)
def test_the_norm_of_large_trees_is_between_that_of_even_uses_and_the_bound_of_each_level(
    uses: tuple[int, int, int], squared: int
) -> None:
    """The values by an exhaustive search without bounds, which takes 11 s; until 2026-11-28 180 and 4550."""
    steps, times, gap = uses
    even = max(squares_of_even(steps, range(start, steps, gap)) for start in range(0, steps - gap * (times - 1), 7))
    by_level = times * sum(min(times, -(-(2**level) // gap)) for level in range(steps.bit_length()))
    assert even <= squared_tree_sensitivity(*uses) == squared < by_level / 1.2


@pytest.mark.parametrize("uses", [(20_000, 10**6, 4), (2**14, 10**6, 1)], ids=str)
def test_many_uses_have_a_bound_that_is_near(uses: tuple[int, int, int]) -> None:
    steps, _, gap = uses
    even = squares_of_even(steps, range(0, steps, gap))
    assert even <= squared_tree_sensitivity(*uses) <= 1.05 * even


def squares_of_even(steps: int, uses: range) -> int:
    places = np.array(uses)
    return sum(
        int((np.bincount(places[places >> level < steps >> level] >> level) ** 2).sum())
        for level in range(steps.bit_length())
    )
