"""Tables of fewer columns are sums of cells."""

import numpy as np
import pytest

from deniable.errors import InvalidParameterError
from deniable.synthesis.hierarchy.cells import CountedCells
from tests.synthesis.hierarchy.trees import CELLS, cells_of


def test_margins_add_up_and_averages_are_projections() -> None:
    cells = cells_of(2, 3, 4)
    values = np.random.default_rng(0).normal(size=(5, cells.size))
    for table in cells.residuals():
        margin = cells.margin(values, table)
        outside = tuple(1 + index for index in range(3) if index not in table)
        assert np.allclose(margin, values.reshape(5, 2, 3, 4).sum(axis=outside).reshape(5, -1))
        once = cells.averaged(values, table)
        assert np.allclose(cells.averaged(once, table), once)
        assert np.allclose(cells.margin(once, table), margin)


def test_cells_are_grouped_by_coarser_tables_and_back() -> None:
    cells = cells_of(2, 3, 4)
    values = np.arange(24).reshape(1, -1)
    for coarser in ((), (0,), (1,), (2,), (0, 2), (1, 2)):
        grouped = cells.grouped(values, (0, 1, 2), coarser)
        assert np.array_equal(grouped.sum(axis=2), cells.margin(values, coarser))
        assert np.array_equal(cells.ungrouped(grouped, (0, 1, 2), coarser), values)
    pair = cells.margin(values, (0, 2))
    assert np.array_equal(cells.grouped(pair, (0, 2), (2,)).sum(axis=2), cells.margin(values, (2,)))


def test_residuals_fill_the_space() -> None:
    assert sum(cells_of(2, 3, 4).residuals().values()) == 24


def test_queries_are_read_and_written() -> None:
    assert [CELLS.table(query) for query in ("total", "cells", "sex", "sex * age")] == [(), (0, 1), (1,), (0, 1)]
    assert [CELLS.said(table) for table in ((), (1,), (0, 1))] == ["total", "sex", "cells"]
    for query in ("height", "age * age", "", "age, sex"):
        with pytest.raises(InvalidParameterError, match="age, sex"):
            CELLS.table(query)
    for name in ("count", "value", "total"):
        with pytest.raises(InvalidParameterError, match="answer's own columns"):
            CountedCells((name,), ((1, 2),))
    for names in (("a", "a"), tuple("abcdefghijklm")):
        with pytest.raises(InvalidParameterError, match="12 columns"):
            CountedCells(names, ((1, 2),) * len(names))


def test_keys_of_cells_are_in_their_order() -> None:
    assert CELLS.keys_of((0, 1)) == {"age": [0, 0, 1, 1, 2, 2], "sex": ["f", "m"] * 3}
    assert CELLS.keys_of(()) == {}
