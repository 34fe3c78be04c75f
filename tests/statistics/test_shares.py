from itertools import product

import numpy as np
import pytest

from deniable.noise.bits import DeterministicBits
from deniable.privacy import AddRemove, Replace
from deniable.statistics.average import exact_sums
from deniable.statistics.shares import UNIT, bernstein, rows_that_count, shares

BITS = DeterministicBits(1)


def test_shares_are_integers_from_end_to_end() -> None:
    values = np.array([-np.inf, -5.0, 2.0, 2.5, 3.0, 4.0, 1e308])
    (block,) = shares(values, [(2.0, 4.0)], relation=AddRemove)
    assert block.tolist() == [[0, 0, 0, UNIT / 4, UNIT / 2, UNIT, UNIT]]


@pytest.mark.parametrize("ends", [(0.0, 1e-290), (-5e299, 5e299), (1e16, 1e16 + 2), (-0.1, 0.3)])
def test_no_bounds_lead_beyond_the_unit(ends: tuple[float, float]) -> None:
    values = np.concatenate([np.linspace(*ends, 1001), np.nextafter(ends, np.inf), np.nextafter(ends, -np.inf)])
    (block,) = shares(values, [ends], relation=AddRemove)
    assert block.min() == 0
    assert block.max() == UNIT
    assert np.array_equal(block, np.rint(block))


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_is_as_quiet_as_any() -> None:
    signalling = np.array([0x7FF0000000000001], dtype=np.uint64).view(np.float64)
    (block,) = shares(signalling, [(0, 1)], relation=AddRemove)
    assert block.shape == (1, 0)


def test_missing_values_are_left_out_or_in_the_middle() -> None:
    table = np.array([[0.0, np.nan], [1.0, 1.0], [np.nan, np.nan]])
    ends = [(0.0, 1.0), (0.0, 2.0)]
    assert np.concatenate(list(shares(table, ends, relation=AddRemove)), axis=1).tolist() == [[UNIT], [UNIT / 2]]
    (block,) = shares(table, ends, relation=Replace)
    assert block.tolist() == [[0, UNIT, UNIT / 2], [UNIT / 2] * 3]


def test_blocks_add_up_exactly() -> None:
    """Beyond one block, beyond 2^53 steps, in any order."""
    values = np.random.default_rng(1).uniform(-1, 3, 100_003)
    count, (total,) = exact_sums(shares(values, [(0.0, 2.0)], relation=AddRemove), size_is_public=True)
    exact = np.rint(np.clip(values, 0, 2) / 2 * UNIT).astype(np.int64)
    assert (count, total) == (100_003, sum(exact.tolist()))
    backwards = exact_sums(shares(values[::-1], [(0.0, 2.0)], relation=AddRemove), size_is_public=False)
    assert backwards == (count, [total, count * UNIT - total])


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_weights_of_a_row_are_natural_numbers_that_sum_to_the_unit(columns: int) -> None:
    """At the ends, one step beside them, and at 2,000 random places."""
    edge = np.array([0, 1, 2, 3, UNIT // 2, UNIT - 2, UNIT - 1, UNIT], dtype=np.float64)
    random = np.random.default_rng(1).integers(0, UNIT, (columns, 2000)).astype(np.float64)
    block = np.concatenate([np.array(list(product(edge, repeat=columns))).T, random], axis=1)
    cells = bernstein(block)
    assert cells.shape == (3**columns, block.shape[1])
    assert cells.min() >= 0
    assert np.array_equal(cells, np.rint(cells))
    assert np.all(cells.sum(axis=0) == UNIT)


def test_weights_hold_the_moments() -> None:
    first, second = np.random.default_rng(1).integers(0, UNIT, (2, 500)) / UNIT
    cells = bernstein(np.stack([first, second]) * UNIT).reshape(3, 3, -1) / UNIT  # (places of first, of second, rows)
    place, square = np.array([0, 0.5, 1]), np.array([0, 0, 1])
    for left, right, truth in (
        (np.ones(3), np.ones(3), np.ones(500)),
        (place, np.ones(3), first),
        (np.ones(3), place, second),
        (place, place, first * second),
        (square, np.ones(3), first**2),
        (np.ones(3), square, second**2),
    ):
        assert np.einsum("ijr,i,j->r", cells, left, right) == pytest.approx(truth, abs=1e-8)


def test_rows_of_a_unit_are_bounded() -> None:
    values = np.array([1.0, np.nan, 2.0, 3.0])
    assert rows_that_count(values, None, rows=1, relation=AddRemove, bits=BITS) is values
    for relation, kept in ((AddRemove, [1.0, 2.0]), (Replace, [1.0, 2.0, np.nan])):
        found = rows_that_count(values, ["a", "b", "c", None], rows=1, relation=relation, bits=BITS)
        assert np.array_equal(np.sort(found), kept, equal_nan=True)
    table = np.array([[1.0, np.nan], [1.0, 2.0]])
    assert len(rows_that_count(table, ["a", "a"], rows=2, relation=AddRemove, bits=BITS)) == 1
    assert len(rows_that_count(np.empty((0, 2)), [], rows=2, relation=Replace, bits=BITS)) == 0
