from itertools import product

import numpy as np
import pytest

from deniable.mechanisms.vectors import clipping
from deniable.mechanisms.vectors.clipping import CHUNK, chunks, clipped, transformed

GENERATOR = np.random.default_rng(1)


def test_clipped_rows_stay_in_the_ball_and_rows_inside_stay_as_they_are() -> None:
    rows = GENERATOR.normal(size=(2000, 5)) * np.exp(GENERATOR.uniform(-40, 200, size=(2000, 1)))
    rows[0], rows[1] = 0, [1e100, -1e100, 1e100, 1e100, 1e100]
    for steps in (7, 2**16, 2**28):
        found = clipped(rows, radius=3.0, steps=steps)
        squares = [sum(int(entry) ** 2 for entry in row) for row in found]
        assert max(squares) <= steps**2
        inside = np.sqrt((rows**2).sum(axis=1)) < 3
        assert np.abs(found[inside] * (3.0 / steps) - rows[inside]).max() <= 3.0 / steps
        outside = found[~inside] * (3.0 / steps)
        norms = np.linalg.norm(rows[~inside], axis=1, keepdims=True)
        assert np.abs(outside - 3 * rows[~inside] / norms).max() <= 1.01 * 3.0 / steps


def test_a_norm_is_added_up_in_one_order_however_many_rows_there_are() -> None:
    wide = GENERATOR.normal(size=(6, 700)) * np.exp(GENERATOR.uniform(-40, 200, size=(6, 700)))
    alone = [clipping.squared_norms(row[np.newaxis])[0] for row in wide]
    assert alone == clipping.squared_norms(np.tile(wide, (200, 1)))[:6].tolist()  # 1,200 rows: column by column


def test_rows_on_the_sphere_are_not_rounded_out_of_it() -> None:
    """All integer directions: rounding to the nearest integer would leave the ball for most of them."""
    rows = np.array(list(product(range(-4, 5), repeat=3)), dtype=float)
    rows = rows[np.any(rows != 0, axis=1)]
    found = clipped(rows, radius=1e-3, steps=50)
    assert (found**2).sum(axis=1).max() <= 2500
    nearest = np.rint(50 * rows / np.linalg.norm(rows, axis=1, keepdims=True))
    assert (nearest**2).sum(axis=1).max() > 2500


@pytest.mark.filterwarnings("error")
def test_no_float_leaves_the_ball() -> None:
    odd = np.array(list(product([np.nan, np.inf, -np.inf, 1e308, -1e200, 5e-324, -0.0, 1.0], repeat=2)))
    found = clipped(odd, radius=1.0, steps=2**20)
    assert max(sum(int(entry) ** 2 for entry in row) for row in found) <= 2**40
    assert found[0].tolist() == [0, 0]


def test_squared_norms_that_int64_cannot_hold_are_seen(monkeypatch) -> None:
    """With norms that err by 2^-10, 32 columns of 2^30 have a sum of squares of 2^65, which wraps around to 0."""
    rows = np.ones((1, 32))
    monkeypatch.setattr(clipping, "squared_norms", lambda rows: np.full(len(rows), 2.0**-10))
    assert ((np.full((1, 32), 2**30) ** 2).sum(axis=1) == 0).all()
    assert not clipped(rows, radius=1e-3, steps=2**30).any()


def test_floats_that_err_cost_a_row_and_not_the_bound(monkeypatch) -> None:
    """The norm is checked in integers: a fault planted in the float norms makes rows 0 and lets none out."""
    rows = GENERATOR.normal(size=(200, 4))
    honest = clipped(rows, radius=1e-3, steps=2**20)
    monkeypatch.setattr(clipping, "squared_norms", lambda rows: (rows**2).sum(axis=1) * (1 - 1e-4))
    planted = clipped(rows, radius=1e-3, steps=2**20)
    assert honest.any(axis=1).all()
    assert not planted.any()


def test_a_row_is_the_same_integers_wherever_it_stands() -> None:
    """Matrix products of numpy round differently at the edge of a block; what one row gives must not."""
    rows = GENERATOR.normal(size=(3001, 7))
    transform = GENERATOR.normal(size=(7, 7))
    whole = clipped(transformed(rows, transform), radius=2.0, steps=2**15)
    for start in (1, 2, 3, 1000, 2999):
        assert (clipped(transformed(rows[start:], transform), radius=2.0, steps=2**15) == whole[start:]).all()


def test_chunks_are_the_rows_in_order() -> None:
    for count in (0, 1, CHUNK, 2 * CHUNK + 1):
        rows = np.arange(count, dtype=np.float64)[:, np.newaxis]
        assert np.concatenate([rows[:0], *chunks(rows)]).tolist() == rows.tolist()


def test_what_is_no_number_is_no_step() -> None:
    for l1 in (True, False):
        assert clipped(np.array([[np.nan], [2.0]]), radius=1.0, steps=5, l1=l1)[0].tolist() == [0]
