"""Declared units form a tree, whatever their order."""

from typing import Any

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.synthesis.hierarchy.geography import Geography
from tests.synthesis.hierarchy.trees import TREE, random_tree


def test_children_of_a_unit_stand_side_by_side() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        tree = random_tree(random, random.integers(1, 5))
        for level in range(1, len(tree.sizes)):
            parents, names, above = tree.parents[level - 1], tree.names_of(level), tree.names_of(level - 1)
            assert np.all(np.diff(parents) >= 0)
            assert [above[parent] for parent in parents] == [name[:-1] for name in names]
        assert [tree.paths[index] for index in tree.leaf_order] == tree.names_of(len(tree.levels))


def test_sums_are_those_of_the_children() -> None:
    values = np.arange(10).reshape(5, 2)
    order = [TREE.names_of(2).index(path) for path in [("n", 1), ("n", 2)]]
    assert TREE.sums(2, values)[TREE.names_of(1).index(("n",))].tolist() == values[order].sum(axis=0).tolist()


def test_a_name_under_two_parents_is_two_units() -> None:
    tree = Geography(("state", "county"), [("n", "lake"), ("s", "lake")])
    assert tree.sizes == (1, 2, 2)


@pytest.mark.parametrize(
    ("levels", "paths", "text"),
    [
        ((), [()], "different names"),
        (("a", "A"), [(1, 2)], "different names"),
        (("all",), [(1,)], "none of them 'all'"),
        (("count",), [(1,)], "answer's own columns"),
        (("a",), [], "at least one declared unit"),
        (("a", "b"), [(1, 2), (1,)], "one key for each of a, b"),
        (("a", "b"), [(1, None)], "none may be missing"),
        (("a", "b"), [(1, 2), (1, 2)], "declared twice"),
    ],
)
def test_broken_trees_are_refused(levels: Any, paths: Any, text: str) -> None:
    with pytest.raises(InvalidParameterError, match=text):
        Geography(levels, paths)


def test_unknown_levels_are_named() -> None:
    with pytest.raises(InvalidParameterError, match="all, state, county"):
        TREE.index_of("tract")
