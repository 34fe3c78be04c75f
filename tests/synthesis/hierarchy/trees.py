"""Trees, cells and plans that the tests of hierarchies share."""

from fractions import Fraction
from typing import Any

import numpy as np

from deniable.mechanisms.price import Price
from deniable.noise.lattice import Lattice
from deniable.privacy import AddRemove, Relation, Sensitivity
from deniable.privacy.sensitivity import of_spread_sum
from deniable.synthesis.hierarchy.cells import CountedCells
from deniable.synthesis.hierarchy.geography import Geography
from deniable.synthesis.hierarchy.plan import HierarchyPlan

TREE = Geography(("state", "county"), [("n", 1), ("s", 1), ("n", 2), ("s", 2), ("s", 3)])
CELLS = CountedCells(("age", "sex"), ((0, 1, 2), ("f", "m")))


def random_tree(random: np.random.Generator, levels: int, children: int = 3) -> Geography:
    """A tree whose units have up to `children` children, with its leaves in any order."""
    paths: list[tuple[int, ...]] = [()]
    for _ in range(levels):
        paths = [(*path, child) for path in paths for child in range(random.integers(1, children + 1))]
    order = random.permutation(len(paths)).tolist()
    return Geography(tuple(f"level {index}" for index in range(levels)), [paths[index] for index in order])


def cells_of(*shape: int) -> CountedCells:
    """Columns with these numbers of keys."""
    return CountedCells(tuple(f"c{index}" for index in range(len(shape))), tuple(tuple(range(size)) for size in shape))


def plan_of(
    geography: Geography = TREE,
    cells: CountedCells = CELLS,
    *,
    queries: Any = None,
    levels: Any = None,
    weights: Any = None,
    relation: Relation = AddRemove,
    rows: int = 1,
    **price: Any,
) -> HierarchyPlan:
    """A plan for units of privacy with `rows` rows, at a price; rho 1 if none is given."""

    def sensitivity_of(count: int) -> Sensitivity:
        return of_spread_sum(lower=0, upper=1, total_rows=rows, relation=relation, cells=count)

    named = price or {"rho": 1}
    of_queries = queries or {"total": 1, "cells": 1}
    of_levels = dict.fromkeys(geography.all_levels, 1) if levels is None else levels
    of_both = {
        level: {query: Fraction(weight) * Fraction(share) for query, weight in of_queries.items()}
        for level, share in of_levels.items()
    }
    return HierarchyPlan.of(
        geography,
        cells,
        weights=weights or of_both,
        price=Price.of(named.get("epsilon"), named.get("delta", 0), named.get("rho")),
        sensitivity_of=sensitivity_of,
        lattice=Lattice(exponent=0),
    )
