from itertools import product

import numpy as np
import pytest

from deniable.privacy import AddRemove, Relation, Replace
from deniable.statistics.products import JointTable, Products, Separate
from deniable.statistics.shares import UNIT

KINDS = [JointTable, Separate]


def moments(design: Products, block: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    sums = np.array(design.sums(block), dtype=np.float64) / UNIT
    return float(design.maps.size @ sums), design.maps.values @ sums, design.maps.products @ sums


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 2, 3, 4])
@pytest.mark.parametrize(("relation", "rows"), [(AddRemove, 1), (Replace, 1), (Replace, 2)])
def test_sums_hold_the_moments(kind: type[Products], columns: int, relation: Relation, rows: int) -> None:
    block = np.random.default_rng(1).integers(0, UNIT + 1, (columns, 300)).astype(np.float64)
    centred = block / UNIT - 0.5
    design = kind(columns=columns, relation=relation, rows=rows)
    count, values, products = moments(design, block)
    assert count == pytest.approx(300) or (kind is Separate and relation is Replace and rows == 1 and count == 0)
    assert values == pytest.approx(centred.sum(axis=1), abs=1e-5)
    assert products == pytest.approx((centred @ centred.T)[np.triu_indices(columns)], abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("relation", [AddRemove, Replace], ids=str)
def test_no_row_moves_the_sums_further(kind: type[Products], columns: int, relation: Relation) -> None:
    """Brute force over rows at the ends, one step beside them, in the middle and elsewhere."""
    design = kind(columns=columns, relation=relation, rows=1)
    places = [0, 1, UNIT // 3, UNIT // 2, UNIT - 1, UNIT][:: 1 if columns < 3 else 2]
    rows = [design.sums(np.array([place]).T.astype(np.float64)) for place in product(places, repeat=columns)]
    bound = design.sensitivity
    pairs = product(rows, rows) if relation is Replace else [(row, [0] * len(row)) for row in rows]
    for first, second in pairs:
        change = [abs(a - b) for a, b in zip(first, second, strict=True)]
        assert sum(change) <= bound.l1
        assert sum(c * c for c in change) <= bound.l2_squared
        assert max(change) <= bound.linf


def test_a_table_is_better_for_few_columns_and_laplace_noise() -> None:
    """Errors at the whole price, for l1 and for l2 noise: docs/theory/statistics/moments.md has these numbers."""
    for columns, by_l1, by_l2 in ((2, JointTable, Separate), (3, JointTable, Separate), (5, JointTable, Separate)):
        table, separate = (kind(columns=columns, relation=AddRemove, rows=1) for kind in (JointTable, Separate))
        l1 = [design.error * float(design.sensitivity.l1) for design in (table, separate)]
        l2 = [design.error * float(design.sensitivity.l2) for design in (table, separate)]
        assert (l1[0] < l1[1]) == (by_l1 is JointTable)
        assert (l2[0] < l2[1]) == (by_l2 is JointTable)
