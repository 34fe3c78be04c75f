"""Bytes of reports."""

import numpy as np
import pytest

from deniable.local.codes import column_sums, of_bytes, to_bytes


@pytest.mark.parametrize("width", [1, 2, 3, 8])
def test_integers_come_back(width: int) -> None:
    codes = np.array([0, 1, 200, 2 ** (8 * width - 1) - 1])[: 3 if width == 1 else 4]
    assert (of_bytes(to_bytes(codes, width)) == codes).all()


@pytest.mark.parametrize("columns", [1, 7, 8, 64, 65, 200])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 100, 4097])
def test_columns_add_up(rows: int, columns: int) -> None:
    bits = np.random.default_rng(rows).integers(0, 2, (rows, columns)).astype(np.uint8)
    assert (column_sums(np.packbits(bits, axis=1, bitorder="little"), columns) == bits.sum(axis=0)).all()
